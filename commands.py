"""The command line beside `serve`: take conversations out and in, look after the database, erase for good.

What only reads works beside a running server. What writes needs the database alone, and says so.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agent.choice import Offer
from agent.demonstrations import DEMONSTRATIONS
from checkpoints import Database, Runs, StateError, Store, document, erasure, readable, transfer, verification
from checkpoints.backup import backup
from checkpoints.redaction import Redaction
from config import Settings

FINE, DAMAGED, REFUSED = 0, 1, 2  # exit codes
Asked = argparse.Namespace


class Refused(StateError):
    """What was asked cannot be done; the text is one sentence that says why."""


def parse(arguments: list[str]) -> Asked:
    """What is asked; `command` is "serve" where nothing is named. A mistake ends the process with code 2."""
    parser = argparse.ArgumentParser(
        prog="app.py",
        description="Waymark: conversations in which time can be moved through.",
        epilog="Settings are read from the environment and from .env, as for the server.",
    )
    commands = parser.add_subparsers(dest="command", metavar="command")
    commands.add_parser("serve", help="serve the page (the default)")
    _export_parser(commands.add_parser("export", help="write a conversation, or all, as text; also while serving"))
    reading = commands.add_parser("import", help="make a conversation from an exported file")
    reading.add_argument("file", type=Path)
    reading.add_argument("--into", metavar="THREAD", help="add it to this conversation instead of making a new one")
    commands.add_parser("verify", help="check every message, chain, head and count; also while serving")
    saving = commands.add_parser("backup", help="write a whole copy of the database; also while serving")
    saving.add_argument("file", type=Path)
    showing = commands.add_parser("demo", help="see time travel in this terminal; with a real model, where a key is set")
    showing.add_argument("which", choices=sorted(DEMONSTRATIONS), help="goto: talk to it; compaction: watch")
    _erase_parser(commands.add_parser("erase", help="destroy for good: a conversation, or what nothing reaches"))
    parser.set_defaults(command="serve")
    return parser.parse_args(arguments)


def _export_parser(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("thread", nargs="?", metavar="THREAD", help="the end of the conversation's address, after /t/")
    which.add_argument("--all", action="store_true", help="every conversation, each into a file of its own")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE|FOLDER", help="where to; one goes to the output without")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="to read; cannot be imported")
    form.add_argument("--jsonl", action="store_true", help="one line in OpenAI's form for fine-tuning")
    parser.add_argument("--redact-tool-results", action="store_true", help="leave out what tools answered")
    parser.add_argument("--leave-out-files", action="store_true", help="leave out what users attached")
    parser.add_argument("--redact", action="append", default=[], metavar="WORD", help="leave this out; * is any letters")


def _erase_parser(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("thread", nargs="?", metavar="THREAD", help="a conversation, also one that is deleted")
    which.add_argument("--unreachable", action="store_true", help="what no branch, no checkpoint and no undo can reach")
    parser.add_argument("--forget-undo", action="store_true", help="and what only undo could reach, deleted ones among it")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def demonstrate(asked: Asked, models: Offer) -> int:
    """One of the demonstrations, in this terminal."""
    try:
        return FINE if DEMONSTRATIONS[asked.which](models, _line, partial(print, flush=True)) else REFUSED
    except KeyboardInterrupt:
        return FINE


def _line() -> str | None:
    """What is typed; None at the end of the input."""
    try:
        return input("you: ")
    except EOFError:
        return None


def carry_out(asked: Asked, settings: Settings) -> int:
    """Do it; the exit code. What is refused is said on the error output in one sentence."""
    verbs: dict[str, Callable[[Asked, str], int]] = {
        "export": _export,
        "import": _import,
        "verify": _verify,
        "backup": _backup,
        "erase": _erase,
    }
    try:
        return verbs[asked.command](asked, settings.database)
    except StateError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{error.filename or 'The output'}: {error.strerror}.")


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return REFUSED


def _export(asked: Asked, url: str) -> int:
    if asked.all and asked.output is None:
        raise Refused("Say with -o into which folder all conversations go.")
    database = Database.reader(url)
    try:
        return (_export_all if asked.all else _export_one)(Store(database), asked)
    finally:
        database.close()


def _export_one(store: Store, asked: Asked) -> int:
    text = _text(store, asked.thread, asked)
    if asked.output is None:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    else:
        _write(asked.output, text)
    return FINE


def _export_all(store: Store, asked: Asked) -> int:
    """One that is refused does not keep back the others."""
    asked.output.mkdir(parents=True, exist_ok=True, mode=0o700)
    ending = "md" if asked.markdown else "jsonl" if asked.jsonl else "json"
    outcome = FINE
    for thread in store.threads(limit=sys.maxsize):
        try:
            words = re.sub(r"\W+", "-", thread.title).strip("-")[:40]
            _write(asked.output / f"{words}-{thread.id}.{ending}", _text(store, thread.id, asked))
        except StateError as error:
            outcome = _refuse(f"{thread.title} ({thread.id}): {error}")
    return outcome


def _text(store: Store, thread_id: str, asked: Asked) -> str:
    form = readable.markdown if asked.markdown else readable.jsonl if asked.jsonl else transfer.export
    is_redacted = asked.redact_tool_results or asked.redact or asked.leave_out_files
    parts = (asked.redact_tool_results, tuple(asked.redact), asked.leave_out_files)
    redaction = Redaction(*parts) if is_redacted else None
    text = form(store, thread_id, redaction)
    if form is transfer.export and len(text.encode()) > document.MAX_BYTES:
        limit = document.MAX_BYTES // 1_000_000
        print(f"The export of {thread_id} is over the {limit} MB that an import takes.", file=sys.stderr)
    return text


def _write(path: Path, text: str) -> None:
    """A new file that only its owner reads."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise Refused(f"{path} is there already; nothing was overwritten.") from error
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _import(asked: Asked, url: str) -> int:
    with open(asked.file, "rb") as file:
        found = document.read_all(file.read(document.MAX_BYTES + 1))
    database = Database.connect(url)
    try:
        database.claim()
        store = Store(database)
        for doc in found:
            made = transfer.merge(store, asked.into, doc) if asked.into else transfer.import_thread(store, doc)
            thread = store.thread(asked.into or made.result)
            print(f"{'It was here already' if made.repeated else 'Imported'}: {thread.title} ({thread.id})")
    finally:
        database.close()
    return FINE


def _verify(_: Asked, url: str) -> int:
    database = Database.reader(url)
    try:
        report = verification.verify(database)
    finally:
        database.close()
    for damage in report.damages:
        print(damage)
    print(report)
    return DAMAGED if report.damages else FINE


def _backup(asked: Asked, url: str) -> int:
    database = Database.reader(url)
    try:
        backup(database, asked.file)
    finally:
        database.close()
    print(f"{asked.file}: {asked.file.stat().st_size:,} bytes, complete and whole.")
    return FINE


def _erase(asked: Asked, url: str) -> int:
    if asked.thread and asked.forget_undo:
        raise Refused("A conversation is erased with its undo in any case: --forget-undo goes with --unreachable.")
    Database.reader(url).close()  # what is not there is not made only to erase in it
    database = Database.connect(url)
    try:
        database.claim()
        Runs(Store(database)).interrupt_left()  # nobody drives them: the database is ours alone
        goes = erasure.plan(database, asked.thread, keep_undo=not asked.forget_undo)
        if not goes:
            print("There is nothing to erase.")
            return FINE
        print(f"Erased will be: {goes}. That cannot be undone. Backups and exports made earlier are not touched.")
        if not (asked.yes or _agreed()):
            print("Nothing was erased.")
            return FINE
        erasure.erase(database, asked.thread, keep_undo=not asked.forget_undo)
        kept = " PostgreSQL frees the space, and what stood there, with its next VACUUM."
        print(f"Erased.{kept if database.kind == 'postgresql' else ''}")
        return FINE
    finally:
        database.close()


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise Refused("Nothing was erased: nobody can be asked here, so say --yes.")
    try:
        return input("Erase? [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        return False
