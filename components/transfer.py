"""Export as a download, import with a look at what is in the file before anything is done with it."""

import base64
import binascii
from enum import StrEnum
from functools import partial
from typing import Any
from urllib.parse import quote

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Checkbox, Label, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle, Select
from dash_bootstrap_components import Textarea as Field
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from checkpoints import (
    InvalidDocumentError,
    Receipt,
    StateError,
    Store,
    StoreUnavailableError,
    ThreadNotFoundError,
    document,
    readable,
    transfer,
)
from checkpoints.document import Document
from checkpoints.redaction import Redaction
from components import head, preview
from components.services import Services
from components.widgets import Icon

UPLOAD_BYTES = document.MAX_BYTES + 1_000_000  # a little more than is read, so that the reader says what is wrong
_FORMATS = {  # value of the form: name, writer, type, ending of the file's name
    "waymark": ("Waymark JSON", transfer.export, "application/json", "waymark.json"),
    "markdown": ("Markdown", readable.markdown, "text/markdown", "md"),
    "jsonl": ("JSONL, as OpenAI takes it", readable.jsonl, "application/jsonl", "jsonl"),
}


class Ids(StrEnum):
    EXPORT = "export"
    EXPORTING = "export-dialog"
    FORM = "export-form"
    FORMAT = "export-format"
    RESULTS = "export-tool-results"
    FILES = "export-files"
    WORDS = "export-words"
    EXPORT_CANCEL = "export-cancel"
    DOWNLOAD = "export-confirm"
    UPLOAD = "upload"
    DIALOG = "import-dialog"
    BODY = "import-body"
    CANCEL = "import-cancel"
    MERGE = "import-merge"
    CONFIRM = "import-confirm"


def buttons() -> list[Component]:
    export = html.Button(
        Icon(name="download"),
        id=Ids.EXPORT,
        className="btn",
        title="Export this conversation",
        **_named("Export"),
        hidden=True,
    )
    choose = html.Button(Icon(name="upload"), className="btn", title="Import a conversation", **_named("Import"))
    return [export, dcc.Upload(choose, id=Ids.UPLOAD, max_size=UPLOAD_BYTES, accept=".json,application/json")]


def _named(name: str) -> Any:
    return {"aria-label": name}


def dialogs() -> list[Component]:
    return [_export_dialog(), _import_dialog()]


def _export_dialog() -> Component:
    """A form that the browser itself sends: what it asks for is always what it shows."""
    body = [
        Label("Format", html_for=Ids.FORMAT),
        Select(
            id=Ids.FORMAT,
            name="format",
            value="waymark",
            options=[{"label": kind[0], "value": value} for value, kind in _FORMATS.items()],
        ),
        html.P("Waymark JSON holds every branch and checkpoint, and can be imported again.", className="quiet"),
        html.P("Alternatives that no branch or checkpoint holds are left out.", className="quiet"),
        Checkbox(id=Ids.RESULTS, name="leave_out", label="Leave out tool results", value=False),
        Checkbox(id=Ids.FILES, name="leave_out_files", label="Leave out attached files", value=False),
        Label(["Words to redact ", html.Span("optional, one on a line", className="quiet")], html_for=Ids.WORDS),
        Field(id=Ids.WORDS, name="redact", rows=2, placeholder="sk-*"),
        html.P("* stands for the rest of a word.", className="quiet"),
    ]
    footer = [
        Button("Cancel", id=Ids.EXPORT_CANCEL, color="secondary", outline=True, type="button"),
        Button("Export", id=Ids.DOWNLOAD, color="primary", type="submit"),
    ]
    title = ModalTitle("Export", id="export-title")
    form = html.Form([ModalBody(body), ModalFooter(footer)], id=Ids.FORM, method="get", autoComplete="off")
    parts = [ModalHeader(title, close_button=False), form]
    dialog: Component = Modal(parts, id=Ids.EXPORTING, is_open=False, centered=True, labelledby="export-title")
    return dialog


def _import_dialog() -> Component:
    footer = [
        Button("Cancel", id=Ids.CANCEL, color="secondary", outline=True),
        Button("Merge into this one", id=Ids.MERGE, color="secondary", outline=True),
        Button("As a new conversation", id=Ids.CONFIRM, color="primary"),
    ]
    title = ModalTitle("Import", id="import-title")
    parts = [ModalHeader(title, close_button=False), ModalBody(id=Ids.BODY), ModalFooter(footer)]
    dialog: Component = Modal(parts, id=Ids.DIALOG, is_open=False, centered=True, scrollable=True, labelledby="import-title")
    return dialog


SHOWN = ((Ids.FORM, "action"), (Ids.EXPORT, "hidden"))


def show(_: Services, at: head.Place) -> tuple[str, bool]:
    return f"/api/threads/{quote(at.thread_id or '')}/export", at.thread_id is None


def register(app: Dash, services: Services) -> None:
    _register_export(app)
    _register_look(app, services)
    _register_import(app, services)


def _register_export(app: Dash) -> None:
    @app.callback(
        Output(Ids.EXPORTING, "is_open", allow_duplicate=True), Input(Ids.EXPORT, "n_clicks"), prevent_initial_call=True
    )
    async def ask(_: int) -> bool:
        return True

    _closing(app, Ids.EXPORTING, Input(Ids.EXPORT_CANCEL, "n_clicks"), Input(Ids.DOWNLOAD, "n_clicks"))


def _closing(app: Dash, dialog: str, *inputs: Input) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "close"),
        Output(dialog, "is_open", allow_duplicate=True),
        *inputs,
        Input(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )


def _register_look(app: Dash, services: Services) -> None:
    @app.callback(
        head.output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.BODY, "children"),
        Output(Ids.MERGE, "style"),
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.UPLOAD, "contents"),
        State(Ids.UPLOAD, "filename"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def look(contents: str | None, name: str, pathname: str) -> tuple[Any, ...]:
        stay = no_update
        if contents is None:
            return stay, stay, stay, stay, stay
        thread_id = head.thread_at(pathname)
        try:
            docs = await services.work(_read, contents)
            thread_id = (
                thread_id if len(docs) == 1 and thread_id and await services.read(services.store.has, thread_id) else None
            )
            previews = [await services.read(transfer.preview, services.store, doc, thread_id) for doc in docs]
        except StateError as error:
            # Forgetting the contents lets the same file be chosen again after it was mended.
            return head.problem(f"{name} was not imported. {str(error).rstrip('.')}."), stay, stay, stay, None
        body = preview.question(name, docs, previews, open_here=thread_id is not None)
        return stay, True, body, {} if thread_id else {"display": "none"}, stay

    _closing(app, Ids.DIALOG, Input(Ids.CANCEL, "n_clicks"))

    @app.callback(
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.DIALOG, "is_open"),
        prevent_initial_call=True,
    )
    async def forget(is_open: bool) -> Any:
        """However the dialog was closed, also by Escape: the same file can be chosen again."""
        return no_update if is_open else None


def _register_import(app: Dash, services: Services) -> None:
    store = services.store
    outputs = (
        head.output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
    )

    @app.callback(*outputs, Input(Ids.CONFIRM, "n_clicks"), State(Ids.UPLOAD, "contents"), prevent_initial_call=True)
    async def import_(_: int, contents: str | None) -> tuple[Any, ...]:
        if contents is None:  # a second click on the same button
            return no_update, False, no_update
        try:
            docs = await services.work(_read, contents)
            made = [await services.work(transfer.import_thread, store, doc) for doc in docs]
        except StateError as error:
            return head.problem(str(error)), False, None
        return head.moved(go=head.address(made[0].result)), False, None

    @app.callback(
        *outputs,
        Input(Ids.MERGE, "n_clicks"),
        State(Ids.UPLOAD, "contents"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def merge(_: int, contents: str | None, pathname: str) -> tuple[Any, ...]:
        thread_id = head.thread_at(pathname)
        if contents is None or thread_id is None:
            return no_update, False, no_update
        try:
            [doc] = await services.work(_read, contents)
            done = await services.change(partial(transfer.merge, store), thread_id, doc)
        except StateError as error:
            return head.problem(str(error)), False, None
        return head.moved(toast=_told(thread_id, done)), False, None


def _told(thread_id: str, done: Receipt) -> head.Toast:
    if done.repeated:
        return {"text": "All of it is in this conversation already. Nothing was changed.", "undo": None}
    return {"text": f"Merged {done.operation.note}.", "undo": {"thread": thread_id, "version": done.version}}


def _read(contents: str) -> list[Document]:
    try:
        raw = base64.b64decode(contents.partition(",")[2], validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidDocumentError("The file did not arrive whole.") from error
    return document.read_all(raw)


def add_route(server: FastAPI, services: Services) -> None:
    """The download: `?format=waymark|markdown|jsonl&leave_out=…&leave_out_files=…&redact=…`, words one on a line."""

    @server.get("/api/threads/{thread_id}/export")
    async def export(thread_id: str, request: Request) -> Response:
        asked = request.query_params
        if (kind := _FORMATS.get(asked.get("format", "waymark"))) is None:
            return _refused("There is no such format.", 400)
        _, write, media_type, ending = kind
        words = tuple(line.strip() for text in asked.getlist("redact") for line in text.splitlines() if line.strip())
        try:
            results, attached = "leave_out" in asked, "leave_out_files" in asked
            redaction = Redaction(results, words, attached) if words or results or attached else None
            text = await services.read(write, services.store, thread_id, redaction)
            title = await services.read(_title, services.store, thread_id)
        except ThreadNotFoundError:
            return _refused("There is no such conversation.", 404)
        except StoreUnavailableError as error:
            return _refused(str(error), 503)
        except StateError as error:
            return _refused(str(error), 400)
        named = _title_of(redaction, title)
        name = f"attachment; filename=\"conversation.{ending}\"; filename*=UTF-8''{quote(f'{named}.{ending}', safe='')}"
        return Response(text, media_type=media_type, headers={"Content-Disposition": name})


def _refused(text: str, status: int) -> Response:
    return Response(text, status_code=status, media_type="text/plain")


def _title(store: Store, thread_id: str) -> str:
    return store.thread(thread_id).title


def _title_of(redaction: Redaction | None, title: str) -> str:
    """The title as part of a file's name, which must not say what the file does not."""
    said = redaction.text(title, put="redacted") if redaction else title
    return "".join(c if c.isalnum() or c in " -_" else "-" for c in said)[:100].strip() or "conversation"
