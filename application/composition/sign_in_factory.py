"""Build the authentication of AUTH, and let it record sign-ins."""

from collections.abc import Callable

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
