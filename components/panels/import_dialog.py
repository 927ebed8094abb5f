"""Import, with a preview of the file before anything changes."""

import io
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, ModalFooter

from checkpoints import Receipt, StateError
from checkpoints.interchange import reading, transfer
from checkpoints.interchange.archive import Archive, is_archive
from checkpoints.interchange.waymark import Document
from checkpoints.values.limits import MAX_SELECTED_THREADS
from checkpoints.values.progress import Progress, Report, report_within
from checkpoints.values.sentence import sentence
from components import dialog, page_state
from components.actions import NamedUpload
from components.panel import Panel
from components.panels import import_preview
from components.people import READER, get_acting_role
from components.properties import Properties
from components.services import Services
from components.transfers.long_requests import RequestCancelledError, get_progress_callback
from components.transfers.uploads import UploadGoneError
from components.views.operations import describe_left_out_tags
from components.widgets import build_menu_item
from words import N_, _, ngettext, say

NEW_TEXT = N_("As a new conversation")
SEVERAL_NEW_TEXT = N_("As new conversations")
NOTHING_NEW_TEXT = N_("This conversation already contains the whole file. Nothing was changed.")


class Ids(StrEnum):
    # The page chooses a file, or takes one that is dropped here (assets/modules/page/upload.mjs).
    UPLOAD = "upload"
    # The chosen file is `{id, name}`, with the id of its upload.
    FILE = "import-file"
    DIALOG = "import-dialog"
    BODY = "import-body"
    CANCEL = "import-dialog-cancel"
    MERGE = "import-merge"
    CONFIRM = "import-confirm"


def buttons() -> list[Component]:
    return [build_menu_item("upload", _("Import"), Ids.UPLOAD, title=_("Import a conversation"))]


def dialogs() -> list[Component]:
    footer = [
        dialog.build_closing_button(Ids.DIALOG, _("Cancel")),
        Button(_("Merge into this conversation"), id=Ids.MERGE, color="secondary", outline=True),
        Button(_(NEW_TEXT), id=Ids.CONFIRM, color="primary"),
    ]
    body = dialog.build_long_body(html.Div(id=Ids.BODY), dialog.build_problem(Ids.DIALOG))
    parts = [body, ModalFooter(footer)]
    modal = dialog.build_modal(Ids.DIALOG, _("Import"), parts, scrollable=True)
    return [modal, dcc.Store(id=Ids.FILE)]


def register(app: Dash, services: Services) -> None:
    _register_preview(app, services)
    _register_closing(app, services)
    _register_import(app, services)
    _register_merge(app, services)


def _register_preview(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.BODY, "children"),
        Output(f"{Ids.DIALOG}-problem", "hidden"),
        Output(Ids.MERGE, "style"),
        Output(Ids.CONFIRM, "children"),
        Input(Ids.FILE, "data"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def preview_file(file: NamedUpload | None, pathname: str | None) -> tuple[Any, ...]:
        stay = no_update
        if file is None:
            return stay, stay, stay, stay, stay, stay
        try:
            source = await _open_source(services, file)
            thread_id = await _find_merge_thread(services, source.kept, page_state.parse_thread_id(pathname))
            previews = [
                await services.read_snapshot(
                    transfer.preview_import, services.store, doc, thread_id, services.runner.graphs.names
                )
                async for doc in _iterate_documents(services, source, N_("Checking"))
            ]
        except StateError as error:
            await services.uploads.forget(file["id"])
            text = _("{file} was not imported. {reason}.", file=file["name"], reason=say(error).rstrip("."))
            return page_state.report_problem(text), stay, stay, stay, stay, stay
        show = import_preview.build_import_preview
        body = await services.run_blocking(show, file["name"], source.kept, previews, open_here=thread_id is not None)
        merging = {} if thread_id else {"display": "none"}
        return stay, True, body, True, merging, _(NEW_TEXT if len(previews) == 1 else SEVERAL_NEW_TEXT)


@dataclass(frozen=True, slots=True)
class _Source:
    """The documents of the chosen file. Documents of an archive are read in turn, and none is kept."""

    kept: Sequence[Document]
    archive: Archive | None

    def __len__(self) -> int:
        return len(self.archive or self.kept)


async def _open_source(services: Services, file: NamedUpload) -> _Source:
    """Raises `UploadGoneError` and `InvalidDocumentError`."""
    upload = await services.uploads.find(file["id"])
    if upload is None or not is_archive(upload.data):
        return _Source(await _read_documents(services, file), None)
    return _Source((), await services.run_blocking(_open_archive, upload.data))


def _open_archive(data: bytearray) -> Archive:
    return Archive(io.BytesIO(bytes(data)))


async def _iterate_documents(services: Services, source: _Source, phase: str) -> AsyncIterator[Document]:
    """Yield the documents. For an archive, each counts as a step, and the user can cancel between steps."""
    for doc in source.kept:
        yield doc
    if source.archive is None:
        return
    report, documents = get_progress_callback(), source.archive.iterate_documents()
    done = 0
    while (unpacked := await services.run_blocking(_read_next, documents)) is not None:
        report(Progress(phase, done, len(source), "conversations"))
        done += 1
        yield unpacked


def _read_next(documents: Iterator[Document]) -> Document | None:
    return next(documents, None)


async def _read_documents(services: Services, file: NamedUpload) -> list[Document]:
    """Parse the documents of the chosen file, once. Raises `UploadGoneError` and `InvalidDocumentError`."""
    upload = await services.uploads.find(file["id"])
    if upload is None:
        raise UploadGoneError(sentence("The file was not kept on the server: choose it again."))
    if upload.documents is None:
        documents = await services.run_blocking(_parse_documents, upload.data, get_progress_callback())
        services.uploads.keep_documents(file["id"], documents)
        return documents
    return upload.documents


def _parse_documents(data: bytearray, report: Report) -> list[Document]:
    return reading.read_documents(bytes(data), report)


async def _find_merge_thread(services: Services, docs: Sequence[Document], thread_id: str | None) -> str | None:
    """Return the open conversation if the file can be merged into it."""
    if len(docs) != 1 or thread_id is None:
        return None
    return thread_id if await services.read_snapshot(services.store.thread_exists, thread_id) else None


def _register_closing(app: Dash, services: Services) -> None:
    dialog.register_dialog(app, Ids.DIALOG)

    @app.callback(Output(Ids.FILE, "data"), Input(Ids.DIALOG, "is_open"), State(Ids.FILE, "data"), prevent_initial_call=True)
    async def forget_file(is_open: bool, file: NamedUpload | None) -> Any:
        """Drop the upload, however the dialog was closed, Escape included."""
        if not is_open and file is not None:
            await services.uploads.forget(file["id"])
        return no_update if is_open else None


def _register_import(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(Ids.CONFIRM, "n_clicks"),
        State(Ids.FILE, "data"),
        prevent_initial_call=True,
    )
    async def confirm_import(__: int, file: NamedUpload | None) -> tuple[Any, ...]:
        if file is None:
            # This was a second click on the same button.
            return no_update, False
        made: list[Receipt] = []
        try:
            source = await _open_source(services, file)
            async for doc in _iterate_documents(services, source, N_("Importing")):
                report = _choose_report(len(made), len(source))
                graphs = services.runner.graphs.names
                receipt = await services.run_blocking(
                    transfer.import_thread, services.store, doc, graphs=graphs, report=report
                )
                made.append(receipt)
        except StateError as error:
            return page_state.report_problem(_describe_refusal(error, len(made))), False
        return _show_imported(made), False


def _show_imported(made: Sequence[Receipt]) -> page_state.PageUpdate:
    """Go to the first conversation, whose banner says what was imported.

    For several, a toast says how many there are instead, and offers Undo for all new conversations.
    """
    go = page_state.thread_address(made[0].result)
    if len(made) == 1:
        return page_state.build_update(go=go)
    new: list[page_state.ChangedThread] = [
        {"thread": each.result, "version": each.version} for each in made if not each.repeated
    ]
    can_undo = 0 < len(new) <= MAX_SELECTED_THREADS
    undo: page_state.UndoTarget | None = {**new[0], "others": new[1:]} if can_undo else None
    left_out = describe_left_out_tags(list(dict.fromkeys(name for each in made for name in each.operation.detail.removed)))
    text = " ".join(filter(None, (_describe_numbers(len(new), len(made) - len(new)), left_out)))
    return page_state.build_update(go=go, closed=str(made[0].version), toast={"text": text, "undo": undo})


def _describe_numbers(new: int, known: int) -> str:
    if known:
        return ngettext(
            "{count:,} conversation imported, {known:,} here already.",
            "{count:,} conversations imported, {known:,} here already.",
            new,
            known=known,
        )
    return ngettext("{count:,} conversation imported.", "{count:,} conversations imported.", new)


def _choose_report(done: int, total: int) -> Report:
    """Return the progress callback for a conversation of a file. For several, progress counts conversations."""
    if total == 1:
        return get_progress_callback()
    return report_within(get_progress_callback(), Progress(N_("Importing"), done, total, "conversations"))


def _describe_refusal(error: StateError, imported: int) -> str:
    """Describe an import that ended early. Each conversation of a file is imported separately."""
    text = _("The import was cancelled.") if isinstance(error, RequestCancelledError) else say(error)
    if imported:
        before = ngettext(
            "{count:,} conversation in the file was imported before.",
            "{count:,} conversations in the file were imported before.",
            imported,
        )
        return f"{text} {before}"
    return _("{text} Nothing was imported.", text=text) if isinstance(error, RequestCancelledError) else text


def _register_merge(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(Ids.MERGE, "n_clicks"),
        State(Ids.FILE, "data"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def confirm_merge(__: int, file: NamedUpload | None, pathname: str | None) -> tuple[Any, ...]:
        thread_id = page_state.parse_thread_id(pathname)
        if file is None or thread_id is None:
            return no_update, False
        try:
            [doc] = await _read_documents(services, file)
            merge = partial(transfer.merge_document, services.store)
            done = await services.apply_change(merge, thread_id, doc, report=get_progress_callback())
        except StateError as error:
            return page_state.report_problem(_describe_refusal(error, 0)), False
        if done.repeated:
            return page_state.report_problem(_(NOTHING_NEW_TEXT)), False
        # The banner says what was added, and offers Undo.
        return page_state.build_update(), False


def show(_services: Services, _location: page_state.PageLocation) -> Properties:
    return {Ids.UPLOAD: {"hidden": get_acting_role() == READER}}


PANEL = Panel(register=register, dialogs=dialogs, app_buttons=buttons, show=show)
