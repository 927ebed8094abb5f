"""The audit log in portions, for admins and for the only person of a server. Everybody else gets a 404."""

from typing import Any

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from checkpoints.people.audit_log import AuditLog
from checkpoints.values.audit_entry import AuditKind
from checkpoints.values.limits import MAX_NUMBER
from components.people import ADMIN, get_acting_role
from components.services import Services
from components.shapes import MalformedRequestError
from components.views.audit_sentences import KIND_LABELS, describe_entry, describe_person
from words import _

PORTION_ENTRIES = 100


def may_read_audit(services: Services) -> bool:
    return get_acting_role() == ADMIN or not services.store.database.separates_owners


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/audit")
    async def list_entries(request: Request) -> Response:
        """Answer with the newest entries. Parameters: `before=NUMBER&person=NAME&kind=KIND`."""
        if not may_read_audit(services):
            return PlainTextResponse(_("Not found.\n"), 404)
        return JSONResponse(await services.run_blocking(_read_portion, services, request.query_params))


def _read_portion(services: Services, query: QueryParams) -> dict[str, Any]:
    log, kind = AuditLog(services.store, services.audit_days), query.get("kind")
    before, person = _parse_number(query.get("before")), query.get("person") or None
    if kind and kind not in KIND_LABELS:
        raise MalformedRequestError("kind")
    found = log.list_entries(PORTION_ENTRIES + 1, before=before, person=person, kind=AuditKind(kind) if kind else None)
    return {
        "entries": [describe_entry(each) for each in found[:PORTION_ENTRIES]],
        "has_more": len(found) > PORTION_ENTRIES,
        "people": [{"value": name, "label": describe_person(name)} for name in log.list_people()],
        "kinds": [{"value": each, "label": _(label)} for each, label in KIND_LABELS.items()],
        "days": services.audit_days,
    }


def _parse_number(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= MAX_NUMBER):
        raise MalformedRequestError("before")
    return int(text)
