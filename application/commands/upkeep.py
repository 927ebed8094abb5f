"""The commands that check, index, back up and erase the database, and print its log and its usage.

Commands that only read work beside a running server. Commands that write need the database alone.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict

from application.commands.arguments import Arguments
from application.commands.output import EXIT_DAMAGED, EXIT_OK, CommandRefusedError, print_line, print_text
from application.composition.factory import build_prices
from application.settings import Settings
from checkpoints import Database, Runs, Store, pluralize
from checkpoints.people.audit_log import AuditLog
from checkpoints.people.usage import read_usage_of_all
from checkpoints.rows.audit_rows import Client, note_client
from checkpoints.upkeep import erasure, reindexing, verification
from checkpoints.upkeep.backup import write_backup
from checkpoints.upkeep.erase_plan import ErasePlan
from checkpoints.upkeep.person_erasure import PersonErasure, erase_person, plan_person_erasure
from checkpoints.values.audit_entry import THE_COMMAND_LINE
from components.views.usage_table import PersonUsage, sum_usage
from server.terminal import ProgressLine

# The log is printed in reads of this many entries.
_AUDIT_PORTION = 1_000


def print_usage(_: Arguments, settings: Settings) -> int:
    with closing(Database.open_read_only(settings.connection_url)) as database:
        people = sum_usage(read_usage_of_all(Store(database)), build_prices(settings))
    print_text(json.dumps([*map(_describe_usage, people)], indent=2))
    return EXIT_OK


def _describe_usage(person: PersonUsage) -> dict[str, object]:
    periods = [{"days": days, **asdict(usage)} for days, usage in person.periods.items()]
    return {"name": person.name, "conversations": person.conversations, "storage": person.storage, "periods": periods}


def verify(_: Arguments, settings: Settings) -> int:
    with closing(Database.open_read_only(settings.connection_url)) as database, ProgressLine(sys.stderr) as line:
        report = verification.verify(database, line.show)
    for damage in report.damages:
        print_line(damage)
    print_line(report)
    return EXIT_DAMAGED if report.damages else EXIT_OK


def reindex(_: Arguments, settings: Settings) -> int:
    with _open_alone(settings.connection_url) as database, ProgressLine(sys.stderr) as line:
        entries = reindexing.rebuild_index(database, line.show)
    print_line(f"Indexed: {pluralize(entries, 'message or checkpoint', 'messages and checkpoints')}.")
    return EXIT_OK


def back_up(arguments: Arguments, settings: Settings) -> int:
    with closing(Database.open_read_only(settings.connection_url)) as database, ProgressLine(sys.stderr) as line:
        write_backup(database, arguments.file, line.show)
    print_line(f"{arguments.file}: {arguments.file.stat().st_size:,} bytes, complete and verified.")
    return EXIT_OK


def print_audit_log(_: Arguments, settings: Settings) -> int:
    with closing(Database.open_read_only(settings.connection_url)) as database:
        log, before = AuditLog(Store(database)), None
        while entries := log.list_entries(_AUDIT_PORTION, before=before):
            before = entries[-1].number
            for each in entries:
                print_line(json.dumps({**asdict(each), "time": each.time.isoformat()}))
    return EXIT_OK


def erase(arguments: Arguments, settings: Settings) -> int:
    if not arguments.unreachable and arguments.forget_undo:
        raise CommandRefusedError(
            "A conversation is erased with its undo in any case: --forget-undo goes with --unreachable."
        )
    if arguments.dry_run:
        with closing(Database.open_read_only(settings.connection_url)) as database:
            goes = _plan_erasure(database, arguments)
        print_line(f"This would erase {goes}. Nothing was erased." if goes else "There is nothing to erase.")
        return EXIT_OK
    with _open_alone(settings.connection_url) as database:
        # No other process drives them, because the database is this process's alone.
        Runs(Store(database)).interrupt_orphans()
        goes = _plan_erasure(database, arguments)
        if not goes:
            print_line("There is nothing to erase.")
            return EXIT_OK
        print_line(f"This will erase {goes}. It cannot be undone. Backups and exports made earlier are not touched.")
        if not (arguments.yes or _confirm_erase()):
            print_line("Nothing was erased.")
            return EXIT_OK
        with ProgressLine(sys.stderr) as line, note_client(Client(THE_COMMAND_LINE)):
            if arguments.person is not None:
                erase_person(database, arguments.person)
            else:
                erasure.erase(database, arguments.thread, keep_undo=not arguments.forget_undo, report=line.show)
        kept = " PostgreSQL frees the space, and what stood there, with its next VACUUM."
        print_line(f"Erased.{kept if database.kind == 'postgresql' else ''}")
        return EXIT_OK


def _plan_erasure(database: Database, arguments: Arguments) -> ErasePlan | str:
    if arguments.person is not None:
        return _describe_person_erasure(plan_person_erasure(database, arguments.person))
    with ProgressLine(sys.stderr) as line:
        return erasure.plan_erasure(database, arguments.thread, keep_undo=not arguments.forget_undo, report=line.show)


def _describe_person_erasure(erasure: PersonErasure) -> str:
    counts = [
        f"{pluralize(len(erasure.threads.threads), 'conversation')} with {pluralize(erasure.threads.messages, 'message')}"
    ]
    counts += [pluralize(erasure.prompts, "prompt"), pluralize(erasure.tags, "tag")]
    return f"{erasure.name}: {', '.join(counts)}"


@contextmanager
def _open_alone(url: str) -> Iterator[Database]:
    """Open an existing database, and keep servers out of it."""
    # This refuses a missing database instead of creating it.
    Database.open_read_only(url).close()
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
