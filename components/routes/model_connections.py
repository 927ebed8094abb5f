"""The form that connects a model, and its submission. A key goes in and never comes out."""

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from checkpoints.values.audit_entry import AuditKind
from components import auditing
from components.model_connector import ConnectionForm, ConnectionRefusedError
from components.services import Services
from components.shapes import parse_body
from words import say


class _Body(TypedDict):
    provider: str
    values: dict[str, str]


def add_route(server: FastAPI, services: Services) -> None:
    connector = services.connector
    if connector is None:
        return

    @server.get("/api/model-connections")
    async def list_forms() -> Response:
        forms = await services.run_blocking(connector.list_forms)
        return JSONResponse({"providers": list(map(_describe_form, forms))})

    @server.post("/api/model-connections")
    async def connect(request: Request) -> Response:
        """Answer with the model after it has replied, or with the reason why it did not."""
        fields = parse_body(_Body, await request.body())
        try:
            model = await connector.connect(fields["provider"], fields["values"])
        except ConnectionRefusedError as refusal:
            return JSONResponse({"problem": say(refusal)})
        await auditing.record(services, AuditKind.MODEL, {"provider": fields["provider"], "model": model})
        return JSONResponse({"model": model})


def _describe_form(form: ConnectionForm) -> dict[str, object]:
    return {
        "id": form.id,
        "label": say(form.label),
        "fields": [{**field, "label": say(field["label"])} for field in form.fields],
    }
