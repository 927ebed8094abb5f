"""Import, with a preview of the file before anything changes."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, ModalBody, ModalFooter

from checkpoints import Receipt, StateError, pluralize
from checkpoints.interchange import transfer
from checkpoints.interchange.waymark import Document
from checkpoints.limits import MAX_DOCUMENT_BYTES
from checkpoints.progress import Progress, Report, report_within
from components import dialog, page_state
from components.long_requests import RequestCancelledError, get_report
from components.panel import Panel
from components.panels import import_preview
from components.services import Services
from components.uploads import MAX_KEPT_SECONDS, ParsedUpload, hash_upload
from components.views import operations
from components.widgets import Icon

MAX_UPLOAD_BYTES = MAX_DOCUMENT_BYTES + 1_000_000  # more than the reader takes, so that the reader reports the error


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
    uploads = ParsedUpload()
    _register_preview(app, services, uploads)
    _register_closing(app, services, uploads)
    _register_import(app, services, uploads)
    _register_merge(app, services, uploads)


def _register_preview(app: Dash, services: Services, uploads: ParsedUpload) -> None:
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
        try:
            docs = await services.run_blocking(uploads.read_documents, contents, get_report())
            thread_id = await _find_merge_thread(services, docs, page_state.parse_thread_id(pathname))
            previews = [
                await services.read_snapshot(transfer.preview_import, services.store, doc, thread_id) for doc in docs
            ]
        except StateError as error:
            # Clearing the contents lets the user choose the same file again after correcting it.
            return page_state.report_problem(f"{name} was not imported. {str(error).rstrip('.')}."), stay, stay, stay, None
        key = await services.run_blocking(hash_upload, contents)
        asyncio.get_running_loop().call_later(MAX_KEPT_SECONDS, uploads.forget, key)
        body = import_preview.build_import_preview(name, docs, previews, open_here=thread_id is not None)
        return stay, True, body, {} if thread_id else {"display": "none"}, stay


async def _find_merge_thread(services: Services, docs: Sequence[Document], thread_id: str | None) -> str | None:
    """Return the open conversation, if the file can be merged into it."""
    if len(docs) != 1 or thread_id is None:
        return None
    return thread_id if await services.read_snapshot(services.store.thread_exists, thread_id) else None


def _register_closing(app: Dash, services: Services, uploads: ParsedUpload) -> None:
    dialog.close_on(app, Ids.DIALOG, Input(Ids.CANCEL, "n_clicks"))

    @app.callback(
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
        Input(Ids.DIALOG, "is_open"),
        State(Ids.UPLOAD, "contents"),
        prevent_initial_call=True,
    )
    async def forget_file(is_open: bool, contents: str | None) -> Any:
        """However the dialog was closed, also by Escape: the same file can be chosen again."""
        if not is_open and contents is not None:
            uploads.forget(await services.run_blocking(hash_upload, contents))
        return no_update if is_open else None


def _register_import(app: Dash, services: Services, uploads: ParsedUpload) -> None:
    @app.callback(
        *_list_import_outputs(), Input(Ids.CONFIRM, "n_clicks"), State(Ids.UPLOAD, "contents"), prevent_initial_call=True
    )
    async def confirm_import(_: int, contents: str | None) -> tuple[Any, ...]:
        if contents is None:  # a second click on the same button
            return no_update, False, no_update
        made: list[Receipt] = []
        try:
            docs = await services.run_blocking(uploads.take_documents, contents, get_report())
            for doc in docs:
                report = _choose_report(len(made), len(docs))
                made.append(await services.run_blocking(transfer.import_thread, services.store, doc, report=report))
        except StateError as error:
            return page_state.report_problem(_describe_refusal(error, len(made))), False, None
        return page_state.build_update(go=page_state.thread_address(made[0].result)), False, None


def _choose_report(done: int, total: int) -> Report:
    """Return the report for one of the conversations in a file; of several, the progress counts conversations."""
    if total == 1:
        return get_report()
    return report_within(get_report(), Progress("Importing", done, total, "conversations"))


def _describe_refusal(error: StateError, imported: int) -> str:
    """Describe an import that ended early. Each conversation of a file is imported by itself."""
    text = "The import was cancelled." if isinstance(error, RequestCancelledError) else str(error)
    if imported:
        return (
            f"{text} {pluralize(imported, 'conversation')} in the file {'was' if imported == 1 else 'were'} imported before."
        )
    return f"{text} Nothing was imported." if isinstance(error, RequestCancelledError) else text


def _register_merge(app: Dash, services: Services, uploads: ParsedUpload) -> None:
    @app.callback(
        *_list_import_outputs(),
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
            report = get_report()
            [doc] = await services.run_blocking(uploads.take_documents, contents, report)
            merge = partial(transfer.merge_document, services.store)
            done = await services.apply_change(merge, thread_id, doc, report=report)
        except StateError as error:
            return page_state.report_problem(_describe_refusal(error, 0)), False, None
        return page_state.build_update(toast=_build_merge_toast(thread_id, done)), False, None


def _list_import_outputs() -> tuple[Output, ...]:
    """Return the outputs of both ways to import: the page's update, and the dialog that closes without its file."""
    return (
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.UPLOAD, "contents", allow_duplicate=True),
    )


def _build_merge_toast(thread_id: str, receipt: Receipt) -> page_state.ToastMessage:
    if receipt.repeated:
        return {"text": "This conversation already contains the whole file. Nothing was changed.", "undo": None}
    return {
        "text": f"Merged {operations.describe_import(receipt.operation.detail)}.",
        "undo": {"thread": thread_id, "version": receipt.version},
    }


PANEL = Panel(register=register, dialogs=dialogs, buttons=buttons)
