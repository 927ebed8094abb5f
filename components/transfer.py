"""Export as a download, import with a look at what is in the file before anything is done with it."""

import base64
import binascii
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle
from fastapi import FastAPI
from starlette.responses import Response

from checkpoints import InvalidDocumentError, StateError, Store, ThreadNotFoundError, counted, document, transfer
from checkpoints.document import Document, MessagePart
from components import head
from components.services import Services
from components.widgets import Icon

UPLOAD_BYTES = document.MAX_BYTES + 1_000_000  # a little more than is read, so that the reader says what is wrong
_PREVIEWED = 3  # messages from each end


class Ids(StrEnum):
    EXPORT = "export"
    UPLOAD = "upload"
    DIALOG = "import-dialog"
    BODY = "import-body"
    CANCEL = "import-cancel"
    CONFIRM = "import-confirm"


def buttons() -> list[Component]:
    return [
        html.A(
            Icon(name="download"),
            id=Ids.EXPORT,
            className="btn",
            title="Export this conversation",
            **_named("Export"),
            hidden=True,
        ),
        dcc.Upload(
            html.Button(Icon(name="upload"), className="btn", title="Import a conversation", **_named("Import")),
            id=Ids.UPLOAD,
            max_size=UPLOAD_BYTES,
            accept=".json,application/json",
        ),
    ]


def _named(name: str) -> Any:
    return {"aria-label": name}


def dialogs() -> list[Component]:
    footer = [
        Button("Cancel", id=Ids.CANCEL, color="secondary", outline=True),
        Button("Import as a new conversation", id=Ids.CONFIRM, color="primary"),
    ]
    title = ModalTitle("Import", id="import-title")
    parts = [ModalHeader(title, close_button=False), ModalBody(id=Ids.BODY), ModalFooter(footer)]
    return [Modal(parts, id=Ids.DIALOG, is_open=False, centered=True, scrollable=True, labelledby="import-title")]


def preview(name: str, doc: Document, existing: str | None) -> list[Component]:
    """What is in the file, shown as text and nothing else."""
    path = doc.path()
    facts = [
        counted(len(path), "message"),
        counted(len(doc.checkpoints), "checkpoint"),
        counted(len(doc.branches), "branch").replace("branchs", "branches"),
    ]
    shown = [*path[:_PREVIEWED], None, *path[-_PREVIEWED:]] if len(path) > 2 * _PREVIEWED else list(path)
    notes = [html.P(f"This file is here already, as “{existing}”: that conversation will be opened.")] if existing else []
    if any(part.message["type"] == "system" for part in doc.messages):
        notes.append(html.P("It holds system messages. They are kept as notes and never become instructions."))
    return [
        html.P([html.Strong(doc.thread.title), f" · {' · '.join(facts)}"]),
        html.Ol([_line(part) for part in shown], className="preview"),
        html.Ul([html.Li(c.name) for c in doc.checkpoints[:10]], className="preview-checkpoints"),
        *notes,
        html.P(f"From {name}. Nothing that is here now will be changed.", className="quiet"),
    ]


def _line(part: MessagePart | None) -> Component:
    if part is None:
        return html.Li("…", className="quiet")
    content = part.message["data"].get("content", "")
    text = content if isinstance(content, str) else " ".join(p if isinstance(p, str) else p["text"] for p in content)
    return html.Li([html.B(part.message["type"]), " ", text[:140] or "(no text)"])


def register(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(
        Output(Ids.EXPORT, "href"), Output(Ids.EXPORT, "hidden"), Input(head.Ids.URL, "pathname"), prevent_initial_call=True
    )
    async def link(pathname: str | None) -> tuple[str, bool]:
        thread_id = head.thread_at(pathname)
        return f"/api/threads/{quote(thread_id or '')}/export", thread_id is None

    @app.callback(
        head.output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.BODY, "children"),
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.UPLOAD, "contents"),
        State(Ids.UPLOAD, "filename"),
        prevent_initial_call=True,
    )
    async def look(contents: str | None, name: str) -> tuple[Any, ...]:
        if contents is None:
            return no_update, no_update, no_update, no_update
        try:
            doc = await services.work(_read, contents)
            existing = await services.read(store.thread_from, doc.sha256)
            body = preview(name, doc, existing.title if existing else None)
        except InvalidDocumentError as error:
            # Forgetting the contents lets the same file be chosen again after it was mended.
            return head.problem(f"{name} was not imported. {str(error).rstrip('.')}."), no_update, no_update, None
        return no_update, True, body, no_update

    @app.callback(
        head.output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.CONFIRM, "n_clicks"),
        State(Ids.UPLOAD, "contents"),
        prevent_initial_call=True,
    )
    async def import_(_: int, contents: str | None) -> tuple[Any, ...]:
        if contents is None:  # a second click on the same button
            return no_update, False, no_update
        try:
            doc = await services.work(_read, contents)
            done = await services.work(transfer.import_thread, store, doc)
        except StateError as error:
            return head.problem(str(error)), False, None
        return head.moved(go=head.address(done.result)), False, None

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "close"),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(Ids.CANCEL, "n_clicks"),
        Input(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.DIALOG, "is_open"),
        prevent_initial_call=True,
    )
    async def forget(is_open: bool) -> Any:
        """However the dialog was closed, also by Escape: the same file can be chosen again."""
        return no_update if is_open else None


def _read(contents: str) -> Document:
    try:
        raw = base64.b64decode(contents.partition(",")[2], validate=True)
    except binascii.Error as error:
        raise InvalidDocumentError("The file did not arrive whole.") from error
    return document.read(raw)


def add_route(server: FastAPI, services: Services) -> None:
    """The download."""

    @server.get("/api/threads/{thread_id}/export")
    async def export(thread_id: str) -> Response:
        try:
            text = await services.read(transfer.export, services.store, thread_id)
            title = await services.read(_title, services.store, thread_id)
        except ThreadNotFoundError:
            return Response("There is no such conversation.", status_code=404, media_type="text/plain")
        name = f"attachment; filename=\"waymark.json\"; filename*=UTF-8''{quote(f'{title}.waymark.json', safe='')}"
        return Response(text, media_type="application/json", headers={"Content-Disposition": name})


def _title(store: Store, thread_id: str) -> str:
    """The title as part of a file's name."""
    return "".join(c if c.isalnum() or c in " -_" else "-" for c in store.thread(thread_id).title).strip() or "conversation"
