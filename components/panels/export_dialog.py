"""Export: what to leave out is asked first, then the conversation comes as a download."""

from enum import StrEnum
from typing import Any
from urllib.parse import quote

from dash import Dash, Input, Output, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Checkbox, Label, ModalBody, ModalFooter, Select
from dash_bootstrap_components import Textarea as Field
from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from checkpoints import Store
from checkpoints.interchange import text_exports, transfer
from checkpoints.interchange.redaction import Redaction
from components import dialog, page_state
from components.services import Services
from components.widgets import Icon

EXPORT_FORMATS = {  # value of the form: name, writer, type, ending of the file's name
    "waymark": ("Waymark JSON", transfer.export, "application/json", "waymark.json"),
    "markdown": ("Markdown", text_exports.export_markdown, "text/markdown", "md"),
    "jsonl": ("JSONL, as OpenAI takes it", text_exports.export_jsonl, "application/jsonl", "jsonl"),
}


class Ids(StrEnum):
    BUTTON = "export"
    DIALOG = "export-dialog"
    FORM = "export-form"
    FORMAT = "export-format"
    LEAVE_OUT_RESULTS = "export-tool-results"
    LEAVE_OUT_FILES = "export-files"
    REDACTED_WORDS = "export-words"
    CANCEL = "export-cancel"
    CONFIRM = "export-confirm"


def buttons() -> list[Component]:
    name: Any = {"aria-label": "Export"}
    sign = Icon(name="download")
    return [html.Button(sign, id=Ids.BUTTON, className="btn", title="Export this conversation", hidden=True, **name)]


def dialogs() -> list[Component]:
    """A form that the browser reads (exporting.mjs): what it asks for is always what it shows."""
    body = [
        Label("Format", html_for=Ids.FORMAT),
        Select(
            id=Ids.FORMAT,
            name="format",
            value="waymark",
            options=[{"label": kind[0], "value": value} for value, kind in EXPORT_FORMATS.items()],
        ),
        html.P("Waymark JSON holds every branch and checkpoint, and can be imported again.", className="quiet"),
        html.P(
            "Alternatives that no branch or listed checkpoint holds are left out, with what was saved on them.",
            className="quiet",
        ),
        Checkbox(id=Ids.LEAVE_OUT_RESULTS, name="leave_out", label="Leave out tool results", value=False),
        Checkbox(id=Ids.LEAVE_OUT_FILES, name="leave_out_files", label="Leave out attached files", value=False),
        Label(["Words to redact ", html.Span("optional, one on a line", className="quiet")], html_for=Ids.REDACTED_WORDS),
        Field(id=Ids.REDACTED_WORDS, name="redact", rows=2, placeholder="sk-*"),
        html.P("* stands for the rest of a word.", className="quiet"),
    ]
    footer = [
        Button("Cancel", id=Ids.CANCEL, color="secondary", outline=True, type="button"),
        Button("Export", id=Ids.CONFIRM, color="primary", type="submit"),
    ]
    form = html.Form([ModalBody(body), ModalFooter(footer)], id=Ids.FORM, method="post", autoComplete="off")
    return [dialog.build_modal(Ids.DIALOG, "Export", [form])]


SHOWN = ((Ids.FORM, "action"), (Ids.BUTTON, "hidden"))


def show(_: Services, location: page_state.PageLocation) -> tuple[str, bool]:
    return f"/api/threads/{quote(location.thread_id or '')}/export", location.thread_id is None


def register(app: Dash, _: Services) -> None:
    @app.callback(
        Output(Ids.DIALOG, "is_open", allow_duplicate=True), Input(Ids.BUTTON, "n_clicks"), prevent_initial_call=True
    )
    async def open_dialog(_: int) -> bool:
        return True

    dialog.close_on(app, Ids.DIALOG, Input(Ids.CANCEL, "n_clicks"), Input(Ids.CONFIRM, "n_clicks"))


def add_route(server: FastAPI, services: Services) -> None:
    """The download: `format=waymark|markdown|jsonl&leave_out=…&leave_out_files=…&redact=…`, words one on a line.

    The page posts it: what is to be redacted belongs into no address.
    """

    @server.api_route("/api/threads/{thread_id}/export", methods=["GET", "POST"])
    async def download_export(thread_id: str, request: Request) -> Response:
        asked = QueryParams(await request.body() if request.method == "POST" else request.query_params)
        if (kind := EXPORT_FORMATS.get(asked.get("format", "waymark"))) is None:
            return PlainTextResponse("There is no such format.", 400)
        _, write, media_type, ending = kind
        words = tuple(line.strip() for text in asked.getlist("redact") for line in text.splitlines() if line.strip())
        results, attached = "leave_out" in asked, "leave_out_files" in asked
        redaction = Redaction(results, words, attached) if words or results or attached else None
        text = await services.read_snapshot(write, services.store, thread_id, redaction)
        title = await services.read_snapshot(_read_title, services.store, thread_id)
        named = _build_file_name(redaction, title)
        name = f"attachment; filename=\"conversation.{ending}\"; filename*=UTF-8''{quote(f'{named}.{ending}', safe='')}"
        return Response(text, media_type=media_type, headers={"Content-Disposition": name})


def _read_title(store: Store, thread_id: str) -> str:
    return store.get_thread(thread_id).title


def _build_file_name(redaction: Redaction | None, title: str) -> str:
    """The title as part of a file's name, which must not say what the file does not."""
    said = redaction.redact_text(title, replacement="redacted") if redaction else title
    return "".join(c if c.isalnum() or c in " -_" else "-" for c in said)[:100].strip() or "conversation"
