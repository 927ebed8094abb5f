"""Build the authentication of AUTH, and let it record sign-ins."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import Scope

from application.composition import factory
from application.settings import Settings
from checkpoints import LOCAL_OWNER
from checkpoints.rows.audit_rows import Client, note_client
from checkpoints.values.audit_entry import AuditKind
from components import auditing
from components.services import Services
from server.client_address import read_client_address
from server.session.link_sign_in import LinkSignIn
from server.session.session_authentication import SessionAuthentication
from server.static_files import load_page_files

if TYPE_CHECKING:
    from extensions.people.admin import PeopleAdmin
    from extensions.people.oidc_sign_in import OidcSignIn
    from extensions.people.password_sign_in import PasswordSignIn
    from extensions.people.person_sessions import PersonSessions
    from extensions.people.person_sign_in import SignInParts


def build_sign_in(
    settings: Settings, port: int, address: str, on_stale_link: Callable[[str], None]
) -> SessionAuthentication | None:
    """Return the sign-in of a single person, by a link; None for any other AUTH."""
    if settings.auth != "token":
        return None
    return LinkSignIn(
        factory.open_sessions(settings.data_dir, port),
        address=address,
        script=f"{load_page_files().root}/sign-in.js",
        on_stale_link=on_stale_link,
    )


def build_people(settings: Settings, address: str, services: Services) -> "PeopleAdmin | None":
    """Return the sign-in of people. Only this imports the libraries for it."""
    if settings.auth not in ("password", "oidc"):
        return None
    from extensions.people.admin import PeopleAdmin  # noqa: PLC0415

    build = _build_oidc_sign_in if settings.auth == "oidc" else _build_password_sign_in
    return PeopleAdmin(build(settings, address, services), services)


def _build_password_sign_in(settings: Settings, address: str, services: Services) -> "PasswordSignIn":
    from extensions.people.pages import Pages  # noqa: PLC0415
    from extensions.people.password_sign_in import PasswordSignIn  # noqa: PLC0415
    from extensions.people.passwords import Passwords  # noqa: PLC0415
    from extensions.people.person_sessions import PersonSessions  # noqa: PLC0415

    parts = _make_parts(settings, address, services, PersonSessions(services.store))
    return PasswordSignIn(parts, Passwords(), Pages(load_page_files().root))


def _build_oidc_sign_in(settings: Settings, address: str, services: Services) -> "OidcSignIn":
    from checkpoints.people.identities import Identities  # noqa: PLC0415
    from extensions.people.oidc_sign_in import CALLBACK_PATH, OidcPages, OidcSignIn  # noqa: PLC0415
    from extensions.people.person_sessions import PersonSessions, limit_sessions  # noqa: PLC0415
    from extensions.people.provider import Client, Provider  # noqa: PLC0415
    from extensions.people.provider_claims import GroupRoles  # noqa: PLC0415

    assert settings.oidc_issuer
    assert settings.oidc_client_id
    secret, claims = settings.oidc_client_secret, settings.oidc_groups_claim or ("groups",)
    client = Client(
        settings.oidc_client_id,
        secret.get_secret_value() if secret else "",
        f"{address}{CALLBACK_PATH}",
        settings.oidc_scopes,
        wanted_claims=(*claims, "name"),
    )
    groups = (settings.oidc_admin_groups, settings.oidc_member_groups, settings.oidc_reader_groups)
    sessions = PersonSessions(services.store, limit_sessions(settings.oidc_session_hours * 3600))
    return OidcSignIn(
        _make_parts(settings, address, services, sessions),
        Identities(services.store),
        Provider(settings.oidc_issuer, client),
        OidcPages(load_page_files().root),
        roles=GroupRoles(*(frozenset(each or ()) for each in groups)),
        groups_claims=claims,
    )


def _make_parts(settings: Settings, address: str, services: Services, sessions: "PersonSessions") -> "SignInParts":
    from checkpoints.people.accounts import Accounts  # noqa: PLC0415
    from checkpoints.people.sign_in_counters import SignInCounters  # noqa: PLC0415
    from extensions.people.person_sign_in import SignInParts  # noqa: PLC0415
    from extensions.people.running_answers import stop_answers  # noqa: PLC0415
    from extensions.people.sign_in_limits import SignInLimits  # noqa: PLC0415

    return SignInParts(
        sessions=sessions,
        accounts=Accounts(services.store),
        limits=SignInLimits(SignInCounters(services.store)),
        run_blocking=services.run_blocking,
        stop_answers=partial(stop_answers, services),
        address=address,
        script=f"{load_page_files().root}/sign-in.js",
        proxies=settings.proxy_networks or (),
    )


def record_sign_ins(authentication: SessionAuthentication | None, settings: Settings, services: Services) -> None:
    """Let a sign-in write its sign-ins, and the first refusals of each minute, to the audit log."""
    if authentication is None:
        return

    detail = {"provider": True} if settings.auth == "oidc" else {}

    async def record(kind: str, scope: Scope, person: str) -> None:
        name = person or ("" if services.store.database.separates_owners else LOCAL_OWNER)
        who = {"person": name} if kind == AuditKind.SIGN_IN else {"person": "", "about": name}
        with note_client(Client(address=read_client_address(scope, settings.proxy_networks or ()))):
            await auditing.record(services, AuditKind(kind), detail if kind == AuditKind.SIGN_IN_REFUSED else {}, **who)

    authentication.record = record
