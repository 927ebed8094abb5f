"""Entries of the audit log for actions without a transaction of their own, and the layer that notes a request's origin."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from checkpoints import LOCAL_OWNER, StateError
from checkpoints.people.audit_log import AuditLog
from checkpoints.rows.audit_rows import Client, note_client
from checkpoints.values.audit_entry import AuditKind
from components.services import Services
from components.sign_in import note_request

_log = logging.getLogger("waymark.audit")


async def record(services: Services, kind: AuditKind, detail: Mapping[str, Any], **who: str) -> None:
    """Write an entry. A full, read-only or busy database must not keep anybody from signing in or exporting: log it only."""
    try:
        await services.run_blocking(AuditLog(services.store, services.audit_days).record, kind, detail, **who)
    except StateError as error:
        _log.warning("%s could not be written: %s", kind, error)


class ClientLayer:
    """The ASGI layer that notes a request, and its person and address for its audit entries."""

    def __init__(self, app: ASGIApp, read_address: Callable[[Scope], str], *, has_people: bool) -> None:
        self._app = app
        self._read_address = read_address
        self._default = "" if has_people else LOCAL_OWNER

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        person = scope.get("state", {}).get("person", self._default)
        with note_client(Client(person, self._read_address(scope))), note_request(scope):
            await self._app(scope, receive, send)
