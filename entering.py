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
from command_line import EXIT_OK, Arguments, print_line, print_refusal
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


def build_people(settings: Settings, address: str, services: Services) -> "People | None":
    """Return the way in of people; only then are the libraries for it imported."""
    if settings.auth not in ("password", "oidc"):
        return None
    from people.admin import People  # noqa: PLC0415

    build = _build_oidc_door if settings.auth == "oidc" else _build_password_door
    return People(build(settings, address, services), services)


def _build_password_door(settings: Settings, address: str, services: Services) -> "PasswordDoor":
    from checkpoints.accounts import Accounts  # noqa: PLC0415
    from checkpoints.sign_in_counters import SignInCounters  # noqa: PLC0415
    from people.door import PasswordDoor  # noqa: PLC0415
    from people.pages import Pages  # noqa: PLC0415
    from people.passwords import Passwords  # noqa: PLC0415
    from people.sessions import PersonSessions  # noqa: PLC0415
    from people.tries import TryLimits  # noqa: PLC0415

    files = load_page_files().root
    return PasswordDoor(
        PersonSessions(services.store),
        Accounts(services.store),
        TryLimits(SignInCounters(services.store)),
        Passwords(),
        Pages(files),
        services.run_blocking,
        address=address,
        public_url=settings.public_url,
        script=f"{files}/sign-in.js",
        proxies=settings.proxy_networks or (),
    )


def _build_oidc_door(settings: Settings, address: str, services: Services) -> "OidcDoor":
    from checkpoints.accounts import Accounts  # noqa: PLC0415
    from checkpoints.identities import Identities  # noqa: PLC0415
    from checkpoints.sign_in_counters import SignInCounters  # noqa: PLC0415
    from people.oidc_door import CALLBACK_PATH, OidcDoor  # noqa: PLC0415
    from people.oidc_pages import OidcPages  # noqa: PLC0415
    from people.provider import Client, Provider  # noqa: PLC0415
    from people.provider_claims import GroupRoles  # noqa: PLC0415
    from people.sessions import PersonSessions, limit_sessions  # noqa: PLC0415
    from people.tries import TryLimits  # noqa: PLC0415

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
    files = load_page_files().root
    return OidcDoor(
        PersonSessions(services.store, limit_sessions(settings.oidc_session_hours * 3600)),
        Accounts(services.store),
        Identities(services.store),
        TryLimits(SignInCounters(services.store)),
        Provider(settings.oidc_issuer, client),
        OidcPages(files),
        services.run_blocking,
        roles=GroupRoles(*(frozenset(each or ()) for each in groups)),
        groups_claims=claims,
        address=address,
        public_url=settings.public_url,
        script=f"{files}/sign-in.js",
        proxies=settings.proxy_networks or (),
    )


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
