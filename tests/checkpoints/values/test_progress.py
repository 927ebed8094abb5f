"""Long operations report how far they are: every report is true, and a report that refuses ends the operation whole."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from checkpoints import Database, Store
from checkpoints.interchange import reading, text_exports, transfer
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.redaction import Redaction
from checkpoints.rows import search_index
from checkpoints.upkeep import backup, erasure, reindexing, verification
from checkpoints.values.progress import MAX_REPORTS, Progress, Report, StepCounter, count_steps, report_within
from tests.checkpoints.conversations import dump, new, talked, texts

LINES = [f"line {index}" for index in range(300)]


@pytest.fixture
def reports() -> list[Progress]:
    return []


class RefusedError(Exception):
    """A report is refused."""


def talk_long(store: Store) -> str:
    """Return a conversation with all lines."""
    store.append(thread_id := store.create_thread().id, new(*LINES))
    return thread_id


def refuse_half(progress: Progress) -> None:
    """Refuse a report from the middle of a phase."""
    if progress.total and progress.done * 2 > progress.total:
        raise RefusedError


@pytest.mark.parametrize("total", [1, 7, 99, 100, 101, 12_345])
def test_a_phase_reports_seldom_and_in_order_and_ends_at_its_total(total: int, reports: list[Progress]) -> None:
    assert list(count_steps(range(total), reports.append, "Checking", "messages")) == list(range(total))
    counts = [each.done for each in reports]
    assert counts == sorted(set(counts))
    assert (counts[0], counts[-1]) == (0, total)
    assert len(counts) <= MAX_REPORTS + 1


def test_a_phase_without_steps_reports_nothing(reports: list[Progress]) -> None:
    assert list(count_steps([], reports.append, "Checking", "messages")) == []
    assert reports == []


def test_more_steps_than_were_expected_are_not_more_than_the_total(reports: list[Progress]) -> None:
    counter = StepCounter(reports.append, "Erasing", 2, "messages")
    for _ in range(4):
        counter.add()
    assert [each.done for each in reports] == [0, 1, 2]


def test_progress_is_a_sentence_with_the_step_within(reports: list[Progress]) -> None:
    inner = report_within(reports.append, Progress("Importing", 1, 3, "conversations"))
    inner(Progress("Writing", 1_200, 4_000, "messages"))
    assert str(reports[0]) == "Importing: 1 of 3 conversations (Writing: 1,200 of 4,000 messages)"
    assert str(Progress("Rewriting the file")) == "Rewriting the file…"


def import_file(store: Store, thread_id: str, report: Report) -> None:
    [doc] = reading.read_documents(transfer.export(store, thread_id), report)
    transfer.import_thread(store, doc, report=report)


def merge_file(store: Store, thread_id: str, report: Report) -> None:
    [doc] = reading.read_documents(transfer.export(store, thread_id), report)
    transfer.merge_document(store, talked(store, "other"), doc, report=report)


def write_copy(store: Store, _: str, report: Report) -> None:
    backup.write_backup(store.database, Path("copy.db"), report)


OPERATIONS: dict[str, tuple[Callable[[Store, str, Report], object], set[str]]] = {
    "import": (import_file, {"Checking", "Preparing", "Writing"}),
    "merge": (merge_file, {"Checking", "Preparing", "Writing"}),
    "export": (lambda s, t, report: transfer.export(s, t, report=report), {"Reading"}),
    "redact": (lambda s, t, report: transfer.export(s, t, Redaction(False, ("line",)), report), {"Reading", "Redacting"}),
    "markdown": (lambda s, t, report: text_exports.export_markdown(s, t, ExportOptions(report=report)), {"Reading"}),
    "jsonl": (lambda s, t, report: text_exports.export_jsonl(s, t, ExportOptions(report=report)), {"Reading"}),
    "backup": (write_copy, {"Copying"}),
    "erase": (lambda s, t, report: erasure.erase(s.database, t, report=report), {"Counting", "Erasing"}),
    "erase lost": (lambda s, _, report: erasure.erase(s.database, keep_undo=False, report=report), {"Counting", "Erasing"}),
    "verify": (lambda s, _, report: verification.verify(s.database, report), {"Checking", "Comparing the index"}),
    "reindex": (lambda s, _, report: reindexing.rebuild_index(s.database, report), {"Indexing"}),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_phase_of_an_operation_grows_up_to_its_total(
    name: str, file_store: Store, reports: list[Progress], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act, phases = OPERATIONS[name]
    monkeypatch.chdir(tmp_path)
    file_store.clear(talk_long(file_store))
    act(file_store, talk_long(file_store), reports.append)
    counted = {phase: list(found) for phase, found in groupby(reports, lambda each: each.phase)}
    assert {phase for phase, found in counted.items() if found[0].total is not None} == phases
    for phase in phases:
        counts = [each.done for each in counted[phase]]
        assert counts == sorted(counts)
        assert counts[-1] == counted[phase][0].total


def test_a_reindexing_says_first_that_it_empties_the_index(file_store: Store, reports: list[Progress]) -> None:
    reindexing.rebuild_index(file_store.database, reports.append)
    assert str(reports[0]) == "Emptying the index…"


@pytest.mark.parametrize("name", ["import", "merge", "erase", "erase lost", "backup"])
def test_an_operation_whose_report_refuses_changes_nothing(
    name: str, file_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file_store.clear(talk_long(file_store))
    thread_id = talk_long(file_store)
    before, act = dump(file_store), {**OPERATIONS, "merge": (merge_into_first, set())}[name][0]
    with pytest.raises(RefusedError):
        act(file_store, thread_id, refuse_half)
    assert dump(file_store) == before
    assert not list(tmp_path.glob("copy.db*"))


def test_an_erasure_is_refused_until_its_last_report(file_store: Store) -> None:
    thread_id = talk_long(file_store)
    before = dump(file_store)

    def refuse_uncounted(progress: Progress) -> None:
        if progress.total is None:
            raise RefusedError

    with pytest.raises(RefusedError):
        erasure.erase(file_store.database, thread_id, report=refuse_uncounted)
    assert dump(file_store) == before


def merge_into_first(store: Store, thread_id: str, report: Report) -> None:
    [doc] = reading.read_documents(transfer.export(store, thread_id))
    transfer.merge_document(
        store, next(each.id for each in store.list_threads() if each.id != thread_id), doc, report=report
    )


def test_a_backup_is_of_one_moment_and_begins_once_however_much_is_written_meanwhile(
    file_store: Store, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_MIN_PORTION_PAGES", 1)
    thread_id = talk_long(file_store)
    expected, counts, reader = dump(file_store), [-1], Database.open_read_only(f"sqlite:///{file}")

    def write_meanwhile(progress: Progress) -> None:
        if progress.phase == "Copying":
            assert progress.done > counts[-1]  # else it began again, and would for ever
            counts.append(progress.done)
            file_store.append(thread_id, new("x" * 20_000))

    backup.write_backup(reader, tmp_path / "copy.db", write_meanwhile)
    reader.close()
    assert len(counts) > 5
    copy = Database.open_read_only(f"sqlite:///{tmp_path / 'copy.db'}")
    assert dump(Store(copy)) == expected
    copy.close()


def test_an_erasure_in_portions_takes_every_message(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_MAX_PORTION_ENTRIES", 7)
    kept, gone = talked(file_store, "kept"), talk_long(file_store)
    assert erasure.erase(file_store.database, gone).messages == len(LINES)
    assert texts(file_store, kept) == ["kept"]
    assert verification.verify(file_store.database).counts.messages == 1
