"""The commands that export conversations to files and import them."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import BinaryIO

from application.commands.arguments import ENDINGS, Arguments
from application.commands.output import EXIT_OK, CommandRefusedError, print_line, print_refusal
from application.settings import Settings
from checkpoints import Database, StateError, Store
from checkpoints.interchange import reading, text_exports, transfer
from checkpoints.interchange.archive import Archive, is_archive
from checkpoints.interchange.export_options import ExportOptions, build_file_name
from checkpoints.interchange.redaction import Redaction
from checkpoints.interchange.transfer import Export
from checkpoints.interchange.waymark import Document
from checkpoints.values.limits import MAX_DOCUMENT_BYTES
from checkpoints.values.progress import Progress, Report, report_within
from server.terminal import ProgressLine, escape_controls


def export_threads(arguments: Arguments, settings: Settings) -> int:
    if arguments.all and arguments.output is None:
        raise CommandRefusedError("--all needs a folder: add -o FOLDER.")
    database = Database.open_read_only(settings.connection_url)
    try:
        with ProgressLine(sys.stderr) as line:
            return (_export_all_threads if arguments.all else _export_thread)(Store(database), arguments, line)
    finally:
        database.close()


def _export_thread(store: Store, arguments: Arguments, line: ProgressLine) -> int:
    made = _render_export(store, arguments.thread, arguments.format, _read_options(arguments, line.show))
    line.clear()
    _warn_of_limit(arguments.thread, made)
    text = made.text
    if arguments.output is None:
        shown = escape_controls(text) if sys.stdout.isatty() else text
        sys.stdout.write(shown if shown.endswith("\n") else f"{shown}\n")
    else:
        _write_new_file(arguments.output, text)
    return EXIT_OK


def _export_all_threads(store: Store, arguments: Arguments, line: ProgressLine) -> int:
    """Export every conversation. A refused conversation does not stop the others."""
    arguments.output.mkdir(parents=True, exist_ok=True, mode=0o700)
    ending = ENDINGS[arguments.format]
    outcome = EXIT_OK
    threads = store.list_threads_of_all()
    for done, thread in enumerate(threads):
        report = report_within(line.show, Progress("Exporting", done, len(threads), "conversations"))
        try:
            options = _read_options(arguments, report)
            made = _render_export(store, thread.id, arguments.format, options)
            if made.exceeded_limit:
                line.clear()
            _warn_of_limit(thread.id, made)
            name = build_file_name(options.redact_title(thread.title), ending, thread.id)
            # The name is UTF-8, because the locale's encoding may lack its letters.
            _write_new_file(os.path.join(os.fsencode(arguments.output), name.encode()), made.text)
        except StateError as error:
            line.clear()
            outcome = print_refusal(f"{thread.title} ({thread.id}): {error}")
    return outcome


def _read_options(arguments: Arguments, report: Report) -> ExportOptions:
    is_redacted = arguments.redact_tool_results or arguments.redact or arguments.leave_out_files
    parts = (arguments.redact_tool_results, tuple(arguments.redact), arguments.leave_out_files)
    return ExportOptions(Redaction(*parts) if is_redacted else None, report)


def _render_export(store: Store, thread_id: str, format_name: str, options: ExportOptions) -> Export:
    if format_name == "waymark":
        return transfer.write_export(store, thread_id, options)
    if format_name == "html":
        from components.transfers.html_export import export_html  # noqa: PLC0415  (the page, which no other command needs)

        return Export(export_html(store, thread_id, options))
    write = text_exports.export_markdown if format_name == "markdown" else text_exports.export_jsonl
    return Export(write(store, thread_id, options))


def _warn_of_limit(thread_id: str, made: Export) -> None:
    if made.exceeded_limit:
        print_line(f"The export of {thread_id} cannot be imported again. {made.exceeded_limit}", sys.stderr)


def _write_new_file(path: Path | bytes, text: str) -> None:
    """Write a new file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise CommandRefusedError(f"{os.fsdecode(path)} is there already; nothing was overwritten.") from error
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def import_threads(arguments: Arguments, settings: Settings, graphs: Sequence[str]) -> int:
    """Import a file. `graphs` are the names of the graphs that may answer a conversation."""
    if arguments.graph is not None and arguments.graph not in graphs:
        raise CommandRefusedError(f"The settings have no graph {arguments.graph!r}. {_describe_graphs(graphs)}")
    with ExitStack() as stack:
        line = stack.enter_context(ProgressLine(sys.stderr))
        count, documents = _read_import(stack.enter_context(open(arguments.file, "rb")), line)
        line.clear()
        database = stack.enter_context(closing(Database.open_url(settings.connection_url)))
        database.claim()
        for done, doc in enumerate(_choose_graph(each, arguments.graph) for each in documents):
            outer = Progress("Importing", done, count, "conversations")
            report = report_within(line.show, outer) if count > 1 else line.show
            text = _import_document(Store(database), doc, arguments.into, graphs, report)
            line.clear()
            print_line(text)
            for warning in transfer.list_warnings(doc, graphs):
                print_line(warning, sys.stderr)
    return EXIT_OK


def _read_import(file: BinaryIO, line: ProgressLine) -> tuple[int, Iterable[Document]]:
    """Return the number of conversations in a file, and their documents. Documents of an archive are read in turn."""
    beginning = file.read(4)
    file.seek(0)
    if is_archive(beginning):
        archive = Archive(file, max_bytes=sys.maxsize)
        return len(archive), archive.iterate_documents()
    found = reading.read_documents(file.read(MAX_DOCUMENT_BYTES + 1), line.show)
    return len(found), found


def _choose_graph(doc: Document, graph: str | None) -> Document:
    """Return a document whose conversation is marked as answered by this graph. Without a graph, it is unchanged."""
    if graph is None:
        return doc
    thread = doc.thread.model_copy(update={"settings": {**doc.thread.settings, "graph": graph}})
    return doc.model_copy(update={"thread": thread})


def _describe_graphs(graphs: Sequence[str]) -> str:
    return f"Choose one of: {', '.join(graphs)}." if graphs else "They have none: name one in GRAPH or waymark.toml."


def _import_document(store: Store, doc: Document, into: str | None, graphs: Sequence[str], report: Report) -> str:
    """Import a document. Return the line about its conversation."""
    if into:
        made = transfer.merge_document(store, into, doc, report=report)
    else:
        made = transfer.import_thread(store, doc, graphs=graphs, report=report)
    thread = store.get_thread(into or made.result)
    return f"{'It was here already' if made.repeated else 'Imported'}: {thread.title} ({thread.id})"
