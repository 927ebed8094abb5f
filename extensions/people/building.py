"""Build the sign-in of the settings: with passwords, at a provider, or by a proxy."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from application.extension import PeopleSignIn, ServerPart
from application.settings import Settings
from checkpoints import LOCAL_OWNER
from checkpoints.rows.account_rows import Role
from checkpoints.values.audit_entry import THE_COMMAND_LINE
from components.services import Services
from extensions.people.forms import MAX_FORM_BYTES
from extensions.people.provider_claims import GroupRoles
from server.static_files import load_page_files
from server.trusted_proxy import TrustedProxy

if TYPE_CHECKING:
    from extensions.people.oidc_sign_in import OidcSignIn
    from extensions.people.password_sign_in import PasswordSignIn
    from extensions.people.person_sessions import PersonSessions
    from extensions.people.person_sign_in import SignInParts


def build_proxy(settings: Settings) -> TrustedProxy | None:
    """Return the proxy that signs people in, or None."""
    if settings.auth != "proxy":
        return None
    assert settings.proxy_secret
    networks, secret = settings.proxy_networks or (), settings.proxy_secret.get_secret_value()
    return TrustedProxy(
        networks,
        secret,
        settings.proxy_user_header,
        reserved_names=frozenset({LOCAL_OWNER, THE_COMMAND_LINE}),
        groups_header=settings.proxy_groups_header,
        choose_role=_build_proxy_roles(settings),
    )


def _build_proxy_roles(settings: Settings) -> Callable[[frozenset[str]], str] | None:
    """Return the function from groups to a role, by default member; None if there are no roles."""
    admins, readers = settings.proxy_admin_groups, settings.proxy_reader_groups
    if not admins and not readers:
        return None
    roles = GroupRoles(frozenset(admins or ()), frozenset(), frozenset(readers or ()))
    return lambda groups: roles.choose_role(groups) or Role.MEMBER


def build_sign_in(settings: Settings, address: str, services: Services) -> PeopleSignIn | None:
    """Return the sign-in with a password, or at a provider. Each imports its own library."""
    if settings.auth not in ("password", "oidc"):
        return None
    from extensions.people.admin import PeopleAdmin  # noqa: PLC0415

    if settings.auth == "password":
        from extensions.people import routes  # noqa: PLC0415  imports argon2

        people = PeopleAdmin(_build_password_sign_in(settings, address, services), services)
    else:
        from extensions.people import oidc_routes as routes  # type: ignore[no-redef]  # noqa: PLC0415  imports authlib

        people = PeopleAdmin(_build_oidc_sign_in(settings, address, services), services)
    limits = dict.fromkeys(routes.PUBLIC_PATHS, MAX_FORM_BYTES)
    part = ServerPart(
        add_routes=partial(routes.add_routes, people=people), public_paths=routes.PUBLIC_PATHS, max_body_bytes=limits
    )
    return PeopleSignIn(people.authentication, people, part)


def _build_password_sign_in(settings: Settings, address: str, services: Services) -> "PasswordSignIn":
    from extensions.people.pages import Pages  # noqa: PLC0415
    from extensions.people.password_sign_in import PasswordSignIn  # noqa: PLC0415
    from extensions.people.passwords import Passwords  # noqa: PLC0415
    from extensions.people.person_sessions import PersonSessions  # noqa: PLC0415

    parts = _make_parts(settings, address, services, PersonSessions(services.store))
    return PasswordSignIn(parts, Passwords(), Pages(load_page_files().root))


def _build_oidc_sign_in(settings: Settings, address: str, services: Services) -> "OidcSignIn":
    from extensions.people.identities import Identities  # noqa: PLC0415
    from extensions.people.oidc_sign_in import CALLBACK_PATH, OidcPages, OidcSignIn  # noqa: PLC0415
    from extensions.people.person_sessions import PersonSessions, limit_sessions  # noqa: PLC0415
    from extensions.people.provider import Client, Provider  # noqa: PLC0415

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
    from extensions.people.accounts import Accounts  # noqa: PLC0415
    from extensions.people.person_sign_in import SignInParts  # noqa: PLC0415
    from extensions.people.running_answers import stop_answers  # noqa: PLC0415
    from extensions.people.sign_in_counters import SignInCounters  # noqa: PLC0415
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
