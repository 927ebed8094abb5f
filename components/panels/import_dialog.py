"""Import, with a preview of the file before anything changes."""

import base64
import binascii
from enum import StrEnum
from functools import partial
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, ModalBody, ModalFooter

from checkpoints import InvalidDocumentError, Receipt, StateError
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.interchange.waymark import Document
from components import dialog, page_state
from components.panel import Panel
from components.panels import import_preview
from components.services import Services
from components.views import operations
from components.widgets import Icon

MAX_UPLOAD_BYTES = waymark.MAX_DOCUMENT_BYTES + 1_000_000  # more than the reader takes, so that the reader reports the error


class Ids(StrEnum):
    UPLOAD = "upload"
    DIALOG = "import-dialog"
    BODY = "import-body"
    CANCEL = "import-cancel"
    MERGE = "import-merge"
    CONFIRM = "import-confirm"


def buttons() -> list[Component]:
    name: Any = {"aria-label": "Import"}
    choose = html.Button(Icon(name="upload"), className="btn", title="Import a conversation", **name)
    return [dcc.Upload(choose, id=Ids.UPLOAD, max_size=MAX_UPLOAD_BYTES, accept=".json,application/json")]


def dialogs() -> list[Component]:
    footer = [
        Button("Cancel", id=Ids.CANCEL, color="secondary", outline=True),
        Button("Merge into this conversation", id=Ids.MERGE, color="secondary", outline=True),
        Button("As a new conversation", id=Ids.CONFIRM, color="primary"),
    ]
    return [dialog.build_modal(Ids.DIALOG, "Import", [ModalBody(id=Ids.BODY), ModalFooter(footer)], scrollable=True)]


def register(app: Dash, services: Services) -> None:
    _register_preview(app, services)
    _register_import(app, services)


def _register_preview(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.BODY, "children"),
        Output(Ids.MERGE, "style"),
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.UPLOAD, "contents"),
        State(Ids.UPLOAD, "filename"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def preview_file(contents: str | None, name: str, pathname: str) -> tuple[Any, ...]:
        stay = no_update
        if contents is None:
            return stay, stay, stay, stay, stay
        thread_id = page_state.parse_thread_id(pathname)
        try:
            docs = await services.run_blocking(_read_upload, contents)
            thread_id = (
                thread_id
                if len(docs) == 1 and thread_id and await services.read_snapshot(services.store.thread_exists, thread_id)
                else None
            )
            previews = [
                await services.read_snapshot(transfer.preview_import, services.store, doc, thread_id) for doc in docs
            ]
        except StateError as error:
            # Clearing the contents lets the user choose the same file again after correcting it.
            return page_state.report_problem(f"{name} was not imported. {str(error).rstrip('.')}."), stay, stay, stay, None
        body = import_preview.build_import_preview(name, docs, previews, open_here=thread_id is not None)
        return stay, True, body, {} if thread_id else {"display": "none"}, stay

    dialog.close_on(app, Ids.DIALOG, Input(Ids.CANCEL, "n_clicks"))

    @app.callback(
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.DIALOG, "is_open"),
        prevent_initial_call=True,
    )
    async def forget_file(is_open: bool) -> Any:
        """However the dialog was closed, also by Escape: the same file can be chosen again."""
        return no_update if is_open else None


def _register_import(app: Dash, services: Services) -> None:
    store = services.store
    outputs = (
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
    )

    @app.callback(*outputs, Input(Ids.CONFIRM, "n_clicks"), State(Ids.UPLOAD, "contents"), prevent_initial_call=True)
    async def confirm_import(_: int, contents: str | None) -> tuple[Any, ...]:
        if contents is None:  # a second click on the same button
            return no_update, False, no_update
        try:
            docs = await services.run_blocking(_read_upload, contents)
            made = [await services.run_blocking(transfer.import_thread, store, doc) for doc in docs]
        except StateError as error:
            return page_state.report_problem(str(error)), False, None
        return page_state.build_update(go=page_state.thread_address(made[0].result)), False, None

    @app.callback(
        *outputs,
        Input(Ids.MERGE, "n_clicks"),
        State(Ids.UPLOAD, "contents"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def confirm_merge(_: int, contents: str | None, pathname: str) -> tuple[Any, ...]:
        thread_id = page_state.parse_thread_id(pathname)
        if contents is None or thread_id is None:
            return no_update, False, no_update
        try:
            [doc] = await services.run_blocking(_read_upload, contents)
            done = await services.apply_change(partial(transfer.merge_document, store), thread_id, doc)
        except StateError as error:
            return page_state.report_problem(str(error)), False, None
        return page_state.build_update(toast=_build_merge_toast(thread_id, done)), False, None


def _build_merge_toast(thread_id: str, receipt: Receipt) -> page_state.ToastMessage:
    if receipt.repeated:
        return {"text": "This conversation already contains the whole file. Nothing was changed.", "undo": None}
    return {
        "text": f"Merged {operations.describe_import(receipt.operation.detail)}.",
        "undo": {"thread": thread_id, "version": receipt.version},
    }


def _read_upload(contents: str) -> list[Document]:
    try:
        raw = base64.b64decode(contents.partition(",")[2], validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidDocumentError("The upload was incomplete.") from error
    return reading.read_documents(raw)


PANEL = Panel(register=register, dialogs=dialogs, buttons=buttons)
