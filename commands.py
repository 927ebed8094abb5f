"""The commands beside `serve`: export and import conversations, check and back up the database, erase for good.

Commands that only read work beside a running server. Commands that write need the database alone.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import BinaryIO, TextIO

import factory
from agent.context.prices import Prices
from agent.settings import ModelCatalog
from checkpoints import Database, Runs, StateError, Store, pluralize
from checkpoints.audit_entry import THE_COMMAND_LINE
from checkpoints.audit_log import AuditLog
from checkpoints.interchange import reading, text_exports, transfer
from checkpoints.interchange.archive import Archive, is_archive
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.redaction import Redaction
from checkpoints.interchange.transfer import Export
from checkpoints.interchange.waymark import Document
from checkpoints.limits import MAX_DOCUMENT_BYTES
from checkpoints.progress import Progress, Report, report_within
from checkpoints.storage.audit_rows import Client, note_client
from checkpoints.upkeep import erasure, reindexing, verification
from checkpoints.upkeep.backup import write_backup
from checkpoints.usage import read_usage_of_all
from command_line import ENDINGS, Arguments
from components.views.usage_table import describe_usage
from config import Settings, SettingsError
from graph_files import list_graphs
from server.terminal import ProgressLine, escape_controls

_AUDIT_PORTION = 1_000  # entries of one read
EXIT_OK, EXIT_DAMAGED, EXIT_REFUSED, EXIT_INTERRUPTED = 0, 1, 2, 130  # exit codes


class CommandRefusedError(StateError):
    """A command cannot be carried out; the text is one sentence with the reason."""


def run_demonstration(arguments: Arguments, models: ModelCatalog) -> int:
    """Run one of the demonstrations in this terminal."""
    from agent.terminal_demo import DEMONSTRATIONS  # noqa: PLC0415  (the agent, which no other command needs)
    from agent.tracing.environment import switch_off_library_tracing  # noqa: PLC0415

    switch_off_library_tracing()
    try:
        return EXIT_OK if DEMONSTRATIONS[arguments.which](models, _prompt_line, print_line) else EXIT_REFUSED
    except KeyboardInterrupt:
        return EXIT_OK


def _prompt_line() -> str | None:
    """Return a typed line; None at the end of the input."""
    try:
        return input("you: ")
    except EOFError:
        return None


def run_command(arguments: Arguments, settings: Settings) -> int:
    """Run a command and return its exit code. A refusal is one sentence on the error output."""
    verbs: dict[str, Callable[[Arguments, str], int]] = {
        "export": _run_export,
        "import": partial(_run_import, settings=settings),
        "verify": _run_verify,
        "reindex": _run_reindex,
        "backup": _run_backup,
        "audit": _run_audit,
        "erase": _run_erase,
        "usage": lambda _, url: _print_usage(url, factory.build_prices(settings)),
    }
    try:
        return verbs[arguments.command](arguments, settings.connection_url)
    except (StateError, SettingsError) as error:
        return print_refusal(str(error))
    except OSError as error:
        return print_refusal(f"{error.filename or 'The output'}: {error.strerror}.")
    except KeyboardInterrupt:
        print_line("Interrupted.", sys.stderr)
        return EXIT_INTERRUPTED


def print_line(text: object, output: TextIO | None = None) -> None:
    """Print a line. Titles, names and keys come from files, and a demonstration's lines from a model."""
    print(escape_controls(str(text)), file=output or sys.stdout, flush=True)


def print_refusal(sentence: str) -> int:
    print_line(sentence, sys.stderr)
    return EXIT_REFUSED


def _print_usage(url: str, prices: Prices) -> int:
    with closing(Database.open_read_only(url)) as database:
        print_line(json.dumps(describe_usage(read_usage_of_all(Store(database)), prices), indent=2))
    return EXIT_OK


def _run_export(arguments: Arguments, url: str) -> int:
    if arguments.all and arguments.output is None:
        raise CommandRefusedError("--all needs a folder: add -o FOLDER.")
    database = Database.open_read_only(url)
    try:
        with ProgressLine(sys.stderr) as line:
            return (_export_all_threads if arguments.all else _export_thread)(Store(database), arguments, line)
    finally:
        database.close()


def _export_thread(store: Store, arguments: Arguments, line: ProgressLine) -> int:
    made = _render_export(store, arguments.thread, arguments, line.show)
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
    """Export every conversation; a refused one does not stop the others."""
    arguments.output.mkdir(parents=True, exist_ok=True, mode=0o700)
    ending = ENDINGS[arguments.format]
    outcome = EXIT_OK
    threads = store.list_threads_of_all()
    for done, thread in enumerate(threads):
        report = report_within(line.show, Progress("Exporting", done, len(threads), "conversations"))
        try:
            words = re.sub(r"\W+", "-", thread.title).strip("-")[:40]
            made = _render_export(store, thread.id, arguments, report)
            if made.exceeded_limit:
                line.clear()
            _warn_of_limit(thread.id, made)
            _write_new_file(arguments.output / f"{words}-{thread.id}.{ending}", made.text)
        except StateError as error:
            line.clear()
            outcome = print_refusal(f"{thread.title} ({thread.id}): {error}")
    return outcome


def _render_export(store: Store, thread_id: str, arguments: Arguments, report: Report) -> Export:
    is_redacted = arguments.redact_tool_results or arguments.redact or arguments.leave_out_files
    parts = (arguments.redact_tool_results, tuple(arguments.redact), arguments.leave_out_files)
    options = ExportOptions(Redaction(*parts) if is_redacted else None, report)
    if arguments.format == "waymark":
        return transfer.write_export(store, thread_id, options)
    if arguments.format == "html":
        from components.html_export import export_html  # noqa: PLC0415  (the page, which no other command needs)

        return Export(export_html(store, thread_id, options))
    write = text_exports.export_markdown if arguments.format == "markdown" else text_exports.export_jsonl
    return Export(write(store, thread_id, options))


def _warn_of_limit(thread_id: str, made: Export) -> None:
    if made.exceeded_limit:
        print_line(f"The export of {thread_id} cannot be imported again. {made.exceeded_limit}", sys.stderr)


def _write_new_file(path: Path, text: str) -> None:
    """Write a new file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise CommandRefusedError(f"{path} is there already; nothing was overwritten.") from error
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _run_import(arguments: Arguments, url: str, *, settings: Settings) -> int:
    graphs = [each.name for each in list_graphs(settings, {})]
    if arguments.graph is not None and arguments.graph not in graphs:
        raise CommandRefusedError(f"The settings have no graph {arguments.graph!r}. {_describe_graphs(graphs)}")
    with ExitStack() as stack:
        line = stack.enter_context(ProgressLine(sys.stderr))
        count, documents = _read_import(stack.enter_context(open(arguments.file, "rb")), line)
        line.clear()
        database = stack.enter_context(closing(Database.open_url(url)))
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
    """Return the number of conversations in a file, and their documents: those of an archive are read one by one."""
    beginning = file.read(4)
    file.seek(0)
    if is_archive(beginning):
        archive = Archive(file, max_bytes=sys.maxsize)
        return len(archive), archive.iterate_documents()
    found = reading.read_documents(file.read(MAX_DOCUMENT_BYTES + 1), line.show)
    return len(found), found


def _choose_graph(doc: Document, graph: str | None) -> Document:
    """Return a document whose conversation this graph has answered; without one, the document as it is."""
    if graph is None:
        return doc
    thread = doc.thread.model_copy(update={"settings": {**doc.thread.settings, "graph": graph}})
    return doc.model_copy(update={"thread": thread})


def _describe_graphs(graphs: Sequence[str]) -> str:
    return f"Choose one of: {', '.join(graphs)}." if graphs else "They have none: name one in GRAPH or waymark.toml."


def _import_document(store: Store, doc: Document, into: str | None, graphs: Sequence[str], report: Report) -> str:
    """Import a document. Return the line that names its conversation."""
    if into:
        made = transfer.merge_document(store, into, doc, report=report)
    else:
        made = transfer.import_thread(store, doc, graphs=graphs, report=report)
    thread = store.get_thread(into or made.result)
    return f"{'It was here already' if made.repeated else 'Imported'}: {thread.title} ({thread.id})"


def _run_verify(_: Arguments, url: str) -> int:
    with closing(Database.open_read_only(url)) as database, ProgressLine(sys.stderr) as line:
        report = verification.verify(database, line.show)
    for damage in report.damages:
        print_line(damage)
    print_line(report)
    return EXIT_DAMAGED if report.damages else EXIT_OK


def _run_reindex(_: Arguments, url: str) -> int:
    with _open_alone(url) as database, ProgressLine(sys.stderr) as line:
        entries = reindexing.rebuild_index(database, line.show)
    print_line(f"Indexed: {pluralize(entries, 'message or checkpoint', 'messages and checkpoints')}.")
    return EXIT_OK


def _run_backup(arguments: Arguments, url: str) -> int:
    with closing(Database.open_read_only(url)) as database, ProgressLine(sys.stderr) as line:
        write_backup(database, arguments.file, line.show)
    print_line(f"{arguments.file}: {arguments.file.stat().st_size:,} bytes, complete and verified.")
    return EXIT_OK


def _run_audit(_: Arguments, url: str) -> int:
    with closing(Database.open_read_only(url)) as database:
        log, before = AuditLog(Store(database)), None
        while entries := log.list_entries(_AUDIT_PORTION, before=before):
            before = entries[-1].number
            for each in entries:
                print_line(json.dumps({**asdict(each), "time": each.time.isoformat()}))
    return EXIT_OK


def _run_erase(arguments: Arguments, url: str) -> int:
    if arguments.thread and arguments.forget_undo:
        raise CommandRefusedError(
            "A conversation is erased with its undo in any case: --forget-undo goes with --unreachable."
        )
    if arguments.dry_run:
        with closing(Database.open_read_only(url)) as database:
            goes = _plan_erasure(database, arguments)
        print_line(f"This would erase {goes}. Nothing was erased." if goes else "There is nothing to erase.")
        return EXIT_OK
    with _open_alone(url) as database:
        Runs(Store(database)).interrupt_orphans()  # nobody drives them: the database is ours alone
        goes = _plan_erasure(database, arguments)
        if not goes:
            print_line("There is nothing to erase.")
            return EXIT_OK
        print_line(f"This will erase {goes}. It cannot be undone. Backups and exports made earlier are not touched.")
        if not (arguments.yes or _confirm_erase()):
            print_line("Nothing was erased.")
            return EXIT_OK
        with ProgressLine(sys.stderr) as line, note_client(Client(THE_COMMAND_LINE)):
            erasure.erase(database, arguments.thread, keep_undo=not arguments.forget_undo, report=line.show)
        kept = " PostgreSQL frees the space, and what stood there, with its next VACUUM."
        print_line(f"Erased.{kept if database.kind == 'postgresql' else ''}")
        return EXIT_OK


def _plan_erasure(database: Database, arguments: Arguments) -> erasure.ErasePlan:
    with ProgressLine(sys.stderr) as line:
        return erasure.plan_erasure(database, arguments.thread, keep_undo=not arguments.forget_undo, report=line.show)


@contextmanager
def _open_alone(url: str) -> Iterator[Database]:
    """Open a database that is there, and keep servers out of it."""
    Database.open_read_only(url).close()  # refuses a missing database instead of creating one
    database = Database.open_url(url)
    try:
        database.claim()
        yield database
    finally:
        database.close()


def _confirm_erase() -> bool:
    if not sys.stdin.isatty():
        raise CommandRefusedError("Nothing was erased: there is no terminal to confirm in. Add --yes.")
    try:
        return input("Erase? [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        return False
