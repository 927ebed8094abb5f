"""A redaction takes its time beside the server, can be ended at any moment, and is the one that the command line makes."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoints import Store
from checkpoints.interchange import transfer
from checkpoints.interchange.document_redaction import MAX_REDACTED_PLACES, Redact, redact_document
from checkpoints.interchange.redaction import Redaction
from checkpoints.values.errors import ExportTooLargeError
from checkpoints.values.progress import Progress, Report, ignore_progress
from checkpoints.values.sentence import Sentence
from components.routes.export_download import EXPORT_FORMATS
from components.services import READING_THREADS
from components.transfers.long_requests import LongRequest, RequestCancelledError
from components.workers import redacted_exports
from components.workers.redacted_exports import MAX_AT_ONCE, RedactedExports, RedactionTooCostlyError, TooManyExportsError
from tests.checkpoints.conversations import talked
from tests.running_app import opened

WORDS = Redaction(patterns=("jane", "sk-*"))
HEAVY_WORDS = tuple(f"a*{number}" for number in range(100))  # minutes of a processor for HEAVY_TEXT
HEAVY_TEXT = ("a" + "".join(map(str, range(100))) + " ") * 40_000


@pytest.fixture
def exports() -> Iterator[RedactedExports]:
    made = RedactedExports()
    yield made
    made.close()


def build_document(store: Store, *said: str) -> Any:
    return transfer.export_document(store, talked(store, *said))


def redact(exports: RedactedExports, redaction: Redaction, document: Any, report: Report = ignore_progress) -> Any:
    return asyncio.run(exports.make(lambda redact: redact(redaction, document, report), report))


def test_the_process_redacts_as_the_command_line_does(
    store: Store, exports: RedactedExports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redacted_exports, "MAX_SMALL_CHARS", 0)
    monkeypatch.setattr(redacted_exports, "MAX_BATCH_CHARS", 600)
    document, reports = build_document(store, *(f"Jane {number} has sk-ü{number}" for number in range(10))), list[Progress]()
    assert redact(exports, WORDS, document, reports.append) == redact_document(WORDS, document)
    assert len({report.done for report in reports}) > 2


def test_a_small_document_starts_no_process(store: Store) -> None:
    exports, document = RedactedExports(("false",)), build_document(store, "I am Jane", "hi")
    assert "Jane" not in json.dumps(redact(exports, WORDS, document))
    exports.close()


def test_a_redaction_that_takes_too_long_is_refused_in_a_sentence(store: Store) -> None:
    exports = RedactedExports(max_seconds=0.2)
    with pytest.raises(RedactionTooCostlyError, match=r"Use fewer or longer words\."):
        redact(exports, Redaction(patterns=HEAVY_WORDS), build_document(store, HEAVY_TEXT, "b"))
    exports.close()


@pytest.mark.slow
def test_a_redaction_that_takes_too_much_memory_is_refused_in_a_sentence(store: Store) -> None:
    worker = (
        "import sys, components.workers.redaction_worker as w; w.MAX_MEMORY_BYTES = 120_000_000; w.main(int(sys.argv[1]))"
    )
    exports = RedactedExports((sys.executable, "-c", worker))
    with pytest.raises(RedactionTooCostlyError, match="too much time or memory"):
        redact(exports, WORDS, build_document(store, "jane " * 4_000_000, "b"))
    small = build_document(store, "jane " * 40_000, "b")
    assert redact(exports, WORDS, small) == redact_document(WORDS, small)
    exports.close()


@pytest.mark.slow
def test_words_that_stand_everywhere_are_refused_by_the_process_as_well(store: Store, exports: RedactedExports) -> None:
    with pytest.raises(ExportTooLargeError, match="stand in over 1,000,000 places") as refusal:
        redact(exports, Redaction(patterns=("a",)), build_document(store, "a " * (MAX_REDACTED_PLACES + 1), "b"))
    text = str(refusal.value)
    assert isinstance(text, Sentence)
    assert text.values == {"limit": MAX_REDACTED_PLACES}


def test_a_redaction_is_cancelled_within_a_message(store: Store, exports: RedactedExports) -> None:
    request, reports = LongRequest(), list[Progress]()

    def report(progress: Progress) -> None:
        request.report(progress)
        reports.append(progress)
        request.is_cancelled = len(reports) > 3  # the setup, the messages, and then while the first is searched

    with pytest.raises(RequestCancelledError):
        redact(exports, Redaction(patterns=HEAVY_WORDS), build_document(store, HEAVY_TEXT, "b"), report)
    assert {report.done for report in reports} == {0}


def test_others_wait_and_say_so_and_too_many_are_refused(exports: RedactedExports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redacted_exports, "MAX_WAITING", 2)
    free, begun, reports = threading.Event(), list[str](), list[Progress]()

    def write(_: Redact) -> None:
        begun.append("begun")
        assert free.wait(60)

    async def story() -> None:
        cancelled = LongRequest(is_cancelled=True)
        is_waiting = asyncio.Event()

        def report(progress: Progress) -> None:
            reports.append(progress)
            is_waiting.set()

        running = [asyncio.create_task(exports.make(write, report)) for _ in range(MAX_AT_ONCE + 1)]
        await is_waiting.wait()
        with pytest.raises(RequestCancelledError):
            await exports.make(write, cancelled.report)
        running.append(asyncio.create_task(exports.make(write, reports.append)))
        await asyncio.sleep(0)
        with pytest.raises(TooManyExportsError):
            await exports.make(write, reports.append)
        assert len(begun) <= MAX_AT_ONCE
        free.set()
        await asyncio.gather(*running)

    asyncio.run(story())
    assert len(begun) == MAX_AT_ONCE + 2
    assert {str(report) for report in reports} == {"Waiting for other exports…"}


def test_no_redacted_export_takes_a_thread_that_views_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free, begun = threading.Event(), threading.Event()

    def write(*_: Any) -> transfer.Export:
        begun.set()
        assert free.wait(60)
        return transfer.Export("made")

    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            threads = [talked(app.services.store, "a", "b") for _ in range(READING_THREADS + 1)]
            kept = EXPORT_FORMATS["waymark"]
            monkeypatch.setitem(EXPORT_FORMATS, "waymark", type(kept)(kept.label, write, kept.media_type, kept.suffix))
            exports = [
                asyncio.create_task(browser.post(f"/api/threads/{thread}/export", data={"redact": "a"}))
                for thread in threads
            ]
            await asyncio.to_thread(begun.wait, 30)
            assert await app.services.read_snapshot(lambda _: "seen", threads[0]) == "seen"
            free.set()
            assert {answer.text for answer in await asyncio.gather(*exports)} == {"made"}

    asyncio.run(story())
