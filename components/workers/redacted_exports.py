"""Redacted exports, beside the threads that read for views. At most MAX_AT_ONCE run, and the others wait.

A large conversation is redacted in a process. The process is killed when the user cancels, or when it takes too long.
"""

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Any, TypeVar

from checkpoints.interchange.document_redaction import Redact, redact_document
from checkpoints.interchange.redaction import Redaction
from checkpoints.values.errors import ExportTooLargeError, StateError
from checkpoints.values.model import Json
from checkpoints.values.progress import Progress, Report
from checkpoints.values.sentence import Sentence, sentence
from components.workers.worker_process import WorkerProcess
from words import N_

MAX_AT_ONCE = 2
MAX_WAITING = 20
# One export may take this much of a worker's processor time.
MAX_REDACTION_SECONDS = 60.0
# One batch may take so long by the clock: a worker yields to everything else.
MAX_WAIT_SECONDS = 300.0
# The limit applies to a document's JSON. A smaller document is redacted in its thread, faster than a process starts.
MAX_SMALL_CHARS = 100_000
# The limit applies to a batch's JSON. A single message may be longer.
MAX_BATCH_CHARS = 500_000

_COMMAND = (sys.executable, "-m", "components.workers.redaction_worker")
_WAITING = Progress(N_("Waiting for other exports"))
_POLL_SECONDS = 0.25
_log = logging.getLogger(__name__)
T = TypeVar("T")


class TooManyExportsError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence("Many exports are being redacted already. Please try again when they are done."))


class RedactionTooCostlyError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence("Redacting this conversation takes too much time or memory. Use fewer or longer words."))


class RedactedExports:
    """The redacted exports of an app, running or waiting."""

    def __init__(self, command: Sequence[str] = _COMMAND, *, max_seconds: float = MAX_REDACTION_SECONDS) -> None:
        self._command, self._max_seconds = command, max_seconds
        self._pool = ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="waymark-export")
        self._turn = asyncio.Semaphore(MAX_AT_ONCE)
        self._count = 0
        self._lock = Lock()
        self._workers: set[WorkerProcess] = set()
        self._closed = False

    async def make(self, write: Callable[[Redact], T], report: Report) -> T:
        """Run `write` on a thread when its turn comes, with the redacting function. Raises `TooManyExportsError`."""
        if self._count >= MAX_AT_ONCE + MAX_WAITING:
            raise TooManyExportsError
        self._count += 1
        try:
            await self._wait_for_turn(report)
            try:
                return await asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, write, self._redact)
            finally:
                self._turn.release()
        finally:
            self._count -= 1

    def close(self) -> None:
        """End the processes. Their exports are refused."""
        with self._lock:
            self._closed = True
            for worker in self._workers:
                worker.kill()
        self._pool.shutdown(cancel_futures=True)

    async def _wait_for_turn(self, report: Report) -> None:
        while self._turn.locked():
            report(_WAITING)
            try:
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._turn.acquire()
                    return
            except TimeoutError:
                continue
        await self._turn.acquire()

    def _redact(self, redaction: Redaction, document: Json, report: Report) -> Json:
        """Redact a document. Raises `RedactionTooCostlyError`, `ExportTooLargeError` and the errors of `report`."""
        if _is_small(document):
            return redact_document(redaction, document, report)
        worker = self._start()
        try:
            return self._redact_in_process(worker, redaction, document, report)
        except (EOFError, OSError) as error:
            code = worker.close()
            if code not in (-signal.SIGPROF, -signal.SIGKILL):
                _log.warning("a process that redacts an export ended with %s", code)
            raise RedactionTooCostlyError from error
        finally:
            worker.close()
            with self._lock:
                self._workers.discard(worker)

    def _start(self) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise TooManyExportsError
            worker = WorkerProcess(self._command)
            self._workers.add(worker)
            return worker

    def _redact_in_process(self, worker: WorkerProcess, redaction: Redaction, document: Json, report: Report) -> Json:
        done, total = 0, len(document["messages"])

        def ask(request: Any) -> Any:
            progress = Progress(N_("Redacting"), done, total, "messages")
            report(progress)
            answer = worker.ask(_encode(request), MAX_WAIT_SECONDS, watch=lambda: report(progress))
            return json.loads(answer)

        def redact(kind: str, content: Any) -> Any:
            answer = ask([kind, content])
            if "refused" in answer:
                raise ExportTooLargeError(Sentence(*answer["refused"]))
            return answer["redacted"]

        ask([self._max_seconds, redaction.tool_results, redaction.patterns, redaction.files])
        messages: list[Json] = []
        for batch in _split_batches(document["messages"]):
            messages += redact("messages", batch)
            done = len(messages)
        return {**redact("frame", _without_messages(document)), "messages": messages}


def _without_messages(document: Json) -> Json:
    return {key: value for key, value in document.items() if key != "messages"}


def _is_small(document: Json) -> bool:
    chars = 0
    for part in (_without_messages(document), *document["messages"]):
        chars += len(_encode(part))
        if chars > MAX_SMALL_CHARS:
            return False
    return True


def _split_batches(messages: list[Json]) -> Iterator[list[Json]]:
    batch: list[Json] = []
    chars = 0
    for message in messages:
        length = len(_encode(message))
        if batch and chars + length > MAX_BATCH_CHARS:
            yield batch
            batch, chars = [], 0
        batch.append(message)
        chars += length
    if batch:
        yield batch


def _encode(value: Any) -> bytes:
    return json.dumps(value).encode()
