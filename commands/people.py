"""The commands about people: links for them, and the return of an erased person."""

import secrets
from contextlib import closing

from checkpoints import Store
from checkpoints.values.audit_entry import THE_COMMAND_LINE
from commands.arguments import Arguments
from commands.output import EXIT_OK, print_line, print_refusal
from config import Settings
from startup.page_server import format_host


def print_invitation(arguments: Arguments, settings: Settings) -> int:
    """Print a link for a new person, or for a new password. It works beside a running server."""
    if settings.auth != "password":
        return print_refusal("Links are for AUTH=password: no other way in has people of its own.")
    from checkpoints.people.account_rows import InvalidAccountError, Role  # noqa: PLC0415
    from checkpoints.people.accounts import Accounts  # noqa: PLC0415
    from checkpoints.storage.beside import open_beside  # noqa: PLC0415

    token = secrets.token_urlsafe(32)
    with closing(open_beside(settings.connection_url)) as database:
        try:
            Accounts(Store(database)).invite(
                token, Role(arguments.role), made_by=THE_COMMAND_LINE, days=arguments.days, person=arguments.person
            )
        except InvalidAccountError as error:
            return print_refusal(str(error))
    address = settings.public_url or f"http://{format_host(settings.host)}:{settings.port}"
    print_line(f"{address}/join?token={token}")
    return EXIT_OK


def readmit_person(arguments: Arguments, settings: Settings) -> int:
    """Let an erased person sign in at the provider again. It works beside a running server."""
    from checkpoints.people.identities import Identities  # noqa: PLC0415
    from checkpoints.storage.beside import open_beside  # noqa: PLC0415

    with closing(open_beside(settings.connection_url)) as database:
        if not Identities(Store(database)).readmit(arguments.code):
            return print_refusal("Nobody who was erased has this code.")
    print_line("They may sign in again, as a new person.")
    return EXIT_OK
