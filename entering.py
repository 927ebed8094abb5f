"""Who may enter: the ways in that the settings name, and links for people from the command line."""

import secrets
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from starlette.types import Scope

import factory
from checkpoints import LOCAL_OWNER, Store
from checkpoints.audit_entry import THE_COMMAND_LINE, AuditKind
from checkpoints.storage.audit_rows import Client, note_client
from checkpoints.storage.postgresql import SIGN_IN_KEY
from command_line import Arguments
from commands import EXIT_OK, print_line, print_refusal
from components import auditing
from components.services import Services
from config import Settings
from page_server import format_host
from server.client_address import read_client_address
from server.session_door import SessionDoor
from server.sign_in import SignIn
from server.static_files import load_page_files

if TYPE_CHECKING:
    from people.admin import People


def build_sign_in(settings: Settings, port: int, address: str, on_stale_link: Callable[[str], None]) -> SessionDoor | None:
    """Return the way in of one person, by a link; None where others sign in, or nobody does."""
    if settings.auth != "token":
        return None
    return SignIn(
        factory.open_sessions(settings.data_dir, port),
        address=address,
        public_url=settings.public_url,
        script=f"{load_page_files().root}/sign-in.js",
        on_stale_link=on_stale_link,
    )


def build_people(settings: Settings, port: int, address: str, services: Services) -> "People | None":
    """Return the way in with a password; only then is argon2 imported. Raises `StoreInUseError` beside another server."""
    if settings.auth != "password":
        return None
    services.store.database.claim(SIGN_IN_KEY)
    from checkpoints.accounts import Accounts  # noqa: PLC0415
    from people.admin import People  # noqa: PLC0415
    from people.door import PasswordDoor  # noqa: PLC0415
    from people.pages import Pages  # noqa: PLC0415
    from people.passwords import Passwords  # noqa: PLC0415

    files, accounts = load_page_files().root, Accounts(services.store)
    sessions = factory.open_sessions(settings.data_dir, port, names_people=True)
    roles = {each.name: each.role for each in accounts.list_accounts()}
    for session in sessions.list_open(None):
        if roles.get(session.person) != session.role:  # of another database, or of an earlier state of this one
            sessions.end(session.id)
    door = PasswordDoor(
        sessions,
        accounts,
        Passwords(),
        Pages(files),
        services.run_blocking,
        address=address,
        public_url=settings.public_url,
        script=f"{files}/sign-in.js",
        proxies=settings.proxy_networks or (),
    )
    return People(door, services)


def record_sign_ins(door: SessionDoor | None, settings: Settings, services: Services) -> None:
    """Let a way in write its sign-ins, and the first refusals of each minute, to the audit log."""
    if door is None:
        return

    async def record(kind: str, scope: Scope, person: str) -> None:
        name = person or ("" if services.store.database.separates_owners else LOCAL_OWNER)
        who = {"person": name} if kind == AuditKind.SIGN_IN else {"person": "", "about": name}
        with note_client(Client(address=read_client_address(scope, settings.proxy_networks or ()))):
            await auditing.record(services, AuditKind(kind), {}, **who)

    door.record = record


def print_invitation(arguments: Arguments, settings: Settings) -> int:
    """Print a link for a new person, or for a new password. It works beside a server."""
    if settings.auth != "password":
        return print_refusal("Links are for AUTH=password: no other way in has people of its own.")
    from checkpoints.accounts import Accounts, InvalidAccountError, Role  # noqa: PLC0415
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
