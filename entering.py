"""Who may enter: the ways in that the settings name, and links for people from the command line."""

import secrets
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import factory
from checkpoints import Store
from checkpoints.storage.postgresql import SIGN_IN_KEY
from command_line import Arguments
from commands import EXIT_OK, print_line, print_refusal
from components.services import Services
from config import Settings
from page_server import format_host
from server.session_door import SessionDoor
from server.sessions import Sessions
from server.sign_in import SignIn
from server.static_files import load_page_files

if TYPE_CHECKING:
    from checkpoints.accounts import Accounts
    from people.admin import People
    from people.door import PasswordDoor
    from people.oidc_door import OidcDoor


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
    """Return the way in of people; only then are the libraries for it imported.

    Raises `StoreInUseError` beside another server.
    """
    if settings.auth not in ("password", "oidc"):
        return None
    services.store.database.claim(SIGN_IN_KEY)
    from people.admin import People  # noqa: PLC0415

    build = _build_oidc_door if settings.auth == "oidc" else _build_password_door
    return People(build(settings, port, address, services), services)


def _build_password_door(settings: Settings, port: int, address: str, services: Services) -> "PasswordDoor":
    from checkpoints.accounts import Accounts  # noqa: PLC0415
    from people.door import PasswordDoor  # noqa: PLC0415
    from people.pages import Pages  # noqa: PLC0415
    from people.passwords import Passwords  # noqa: PLC0415

    files, accounts = load_page_files().root, Accounts(services.store)
    return PasswordDoor(
        _open_sessions(settings, port, accounts),
        accounts,
        Passwords(),
        Pages(files),
        services.run_blocking,
        address=address,
        public_url=settings.public_url,
        script=f"{files}/sign-in.js",
        proxies=settings.proxy_networks or (),
    )


def _build_oidc_door(settings: Settings, port: int, address: str, services: Services) -> "OidcDoor":
    from checkpoints.accounts import Accounts  # noqa: PLC0415
    from checkpoints.identities import Identities  # noqa: PLC0415
    from people.oidc_door import CALLBACK_PATH, OidcDoor  # noqa: PLC0415
    from people.oidc_pages import OidcPages  # noqa: PLC0415
    from people.provider import Client, Provider  # noqa: PLC0415
    from people.provider_claims import GroupRoles  # noqa: PLC0415

    assert settings.oidc_issuer
    assert settings.oidc_client_id
    secret, claims = settings.oidc_client_secret, settings.oidc_groups_claim or ("groups",)
    client = Client(
        settings.oidc_client_id,
        secret.get_secret_value() if secret else "",
        f"{settings.public_url or address}{CALLBACK_PATH}",
        settings.oidc_scopes,
        wanted_claims=(*claims, "name"),
    )
    groups = (settings.oidc_admin_groups, settings.oidc_member_groups, settings.oidc_reader_groups)
    files, accounts = load_page_files().root, Accounts(services.store)
    return OidcDoor(
        _open_sessions(settings, port, accounts),
        accounts,
        Identities(services.store),
        Provider(settings.oidc_issuer, client),
        OidcPages(files),
        services.run_blocking,
        roles=GroupRoles(*(frozenset(each or ()) for each in groups)),
        groups_claims=claims,
        session_seconds=settings.oidc_session_hours * 3600,
        address=address,
        public_url=settings.public_url,
        script=f"{files}/sign-in.js",
        proxies=settings.proxy_networks or (),
    )


def _open_sessions(settings: Settings, port: int, accounts: "Accounts") -> Sessions:
    """Open the sessions of people, without those of another way in, of another database, or of its earlier state."""
    sessions = factory.open_sessions(settings.data_dir, port, names_people=True)
    known = (each for each in accounts.list_accounts() if bool(each.password_hash) == (settings.auth == "password"))
    roles = {each.name: each.role for each in known}
    for session in sessions.list_open(None):
        if roles.get(session.person) != session.role:
            sessions.end(session.id)
    return sessions


def print_invitation(arguments: Arguments, settings: Settings) -> int:
    """Print a link for a new person, or for a new password. It works beside a server."""
    if settings.auth != "password":
        return print_refusal("Links are for AUTH=password: no other way in has people of its own.")
    from checkpoints.accounts import THE_COMMAND_LINE, Accounts, InvalidAccountError, Role  # noqa: PLC0415
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
    """Let somebody who was erased sign in at the provider again. It works beside a server."""
    from checkpoints.identities import Identities  # noqa: PLC0415
    from checkpoints.storage.beside import open_beside  # noqa: PLC0415

    with closing(open_beside(settings.connection_url)) as database:
        if not Identities(Store(database)).readmit(arguments.code):
            return print_refusal("Nobody who was erased has this code.")
    print_line("They may sign in again, as a new person.")
    return EXIT_OK


COMMANDS = {"invite": print_invitation, "readmit": readmit_person}
