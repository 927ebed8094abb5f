"""The commands about people: links for them, and the return of an erased person."""

import os
import secrets
from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path

from application.commands.arguments import decode_word
from application.commands.output import EXIT_OK, print_line, print_refusal
from application.composition.page_server import find_public_address
from application.extension import Command
from application.settings import Settings
from checkpoints import Store
from checkpoints.storage import postgresql, sqlite
from checkpoints.storage.database import MAX_LOCK_WAIT_SECONDS, SQLITE_PREFIX, Database
from checkpoints.values.audit_entry import THE_COMMAND_LINE

ROLE_NAMES = ("admin", "member", "reader")


def print_invitation(arguments: Namespace, settings: Settings) -> int:
    """Print a link for a new person, or for a new password. It works beside a running server."""
    if settings.auth != "password":
        return print_refusal("Links are for AUTH=password: no other way in has people of its own.")
    from checkpoints.rows.account_rows import InvalidAccountError, Role  # noqa: PLC0415
    from extensions.people.accounts import Accounts  # noqa: PLC0415
    from extensions.people.pages import JOIN_PATH  # noqa: PLC0415

    token = secrets.token_urlsafe(32)
    with closing(_open_beside(settings.connection_url)) as database:
        try:
            Accounts(Store(database)).invite(
                token, Role(arguments.role), made_by=THE_COMMAND_LINE, days=arguments.days, person=arguments.person
            )
        except InvalidAccountError as error:
            return print_refusal(str(error))
    print_line(f"{find_public_address(settings, settings.port)}{JOIN_PATH}?token={token}")
    return EXIT_OK


def readmit_person(arguments: Namespace, settings: Settings) -> int:
    """Let an erased person sign in at the provider again. It works beside a running server."""
    from extensions.people.identities import Identities  # noqa: PLC0415

    with closing(_open_beside(settings.connection_url)) as database:
        if not Identities(Store(database)).readmit(arguments.code):
            return print_refusal("Nobody who was erased has this code.")
    print_line("They may sign in again, as a new person.")
    return EXIT_OK


def _open_beside(url: str) -> Database:
    """Open an existing database with the newest schema beside its running server. Raises `StoreUnavailableError`.

    The server holds the file's lock and knows each conversation's acknowledged version. Only a small change that touches
    no conversation may be made here.
    """
    Database.open_read_only(url).close()
    if not url.startswith(SQLITE_PREFIX):
        return Database(postgresql.create_engine(url, MAX_LOCK_WAIT_SECONDS))
    path = Path(os.path.realpath(url.removeprefix(SQLITE_PREFIX)))
    return Database(sqlite.create_engine(sqlite.make_address(path, mode="rw"), MAX_LOCK_WAIT_SECONDS))


def _add_invite_arguments(parser: ArgumentParser) -> None:
    known = "a known person, who chooses a new password; else a new one"
    parser.add_argument("person", type=decode_word, nargs="?", metavar="NAME", help=known)
    parser.add_argument("--role", choices=ROLE_NAMES, default="member", help="of a new person; a reader changes nothing")
    parser.add_argument("--days", type=int, default=7, help="until the link ends")


def _add_readmit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="on the page that they see when they sign in")


COMMANDS = (
    Command(
        name="invite",
        help="make a link for a person (AUTH=password); also while serving",
        add_arguments=_add_invite_arguments,
        run=print_invitation,
    ),
    Command(
        name="readmit",
        help="let an erased person sign in again (AUTH=oidc); also while serving",
        add_arguments=_add_readmit_arguments,
        run=readmit_person,
    ),
)
