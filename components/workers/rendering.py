"""Formatting with a budget: cheap texts in this process, all others in processes that can be killed.

A thread would not do. A regular expression holds Python's lock while it runs, and so blocks the event loop.
"""

import asyncio
import json
import logging
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from hashlib import sha256
from threading import Lock
from typing import Any

from components.views.markdown import (
    MAX_FORMATTED_CHARS,
    MAX_HTML_BYTES,
    Definitions,
    Look,
    is_cheap,
    render_markdown,
    to_plain_html,
)
from components.views.word_differences import Mark, MarkedTexts, mark_cheap_differences
from components.workers.worker_process import WorkerProcess
from words import get_language

# Each has about 25 MiB. The second is started when the first is at work.
MAX_WORKERS = 2
# All texts of one view may take this much of a worker's processor time. The last text to begin has so long in any case.
MAX_PAGE_SECONDS = 0.35
# A stopped worker, or many texts that wait for a worker, may take so long by the clock.
MAX_WAIT_SECONDS = 10.0
# The limit counts all cached HTML.
MAX_CACHED_CHARS = 16_000_000

_COMMAND = (sys.executable, "-m", "components.workers.render_worker")
_log = logging.getLogger(__name__)


class _Workers:
    """At most MAX_WORKERS processes, started when they are needed, each used by a single thread at a time."""

    def __init__(self, command: Sequence[str], max_wait_seconds: float) -> None:
        self._command, self._max_wait_seconds = command, max_wait_seconds
        self._threads = ThreadPoolExecutor(MAX_WORKERS, thread_name_prefix="rendering")
        self._lock = Lock()
        self._idle: list[WorkerProcess] = []
        self._busy: list[WorkerProcess] = []
        self._closed = False

    def submit(self, request: bytes) -> Future[bytes | None]:
        """Send a text to a worker.

        The answer is None if the worker gave up. Raises `TimeoutError` if the text is not the cause.
        """
        try:
            return self._threads.submit(self._ask, request)
        except RuntimeError as error:
            # The executor is closed.
            raise TimeoutError from error

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for worker in (*self._idle, *self._busy):
                worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._idle:
            worker.close()

    def _ask(self, request: bytes) -> bytes | None:
        worker = self._take()
        try:
            answer = worker.ask(request, self._max_wait_seconds, MAX_HTML_BYTES)
        except (EOFError, OSError) as error:
            code = worker.close()
            with self._lock:
                self._busy.remove(worker)
            if self._closed or isinstance(error, TimeoutError):
                raise TimeoutError from error
            if code not in (-signal.SIGPROF, -signal.SIGKILL):
                _log.warning("a process that formats texts ended with %s", code)
            return None
        with self._lock:
            self._busy.remove(worker)
            self._idle.append(worker)
        return answer

    def _take(self) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise TimeoutError
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    break
                worker.close()
            else:
                worker = WorkerProcess(self._command)
            self._busy.append(worker)
            return worker


class _Cache:
    """HTML by the hash of its language and text, the most recently used last. None marks a text that took too long."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, str | None] = OrderedDict()
        self._chars = 0
        self._lock = Lock()

    def find(self, key: bytes) -> tuple[bool, str | None]:
        """Return whether the text is cached, and its HTML."""
        with self._lock:
            if key not in self._entries:
                return False, None
            self._entries.move_to_end(key)
            return True, self._entries[key]

    def keep(self, key: bytes, html: str | None) -> None:
        with self._lock:
            if key in self._entries:
                self._chars -= _size(self._entries.pop(key))
            self._entries[key] = html
            self._chars += _size(html)
            while self._chars > MAX_CACHED_CHARS:
                _, oldest = self._entries.popitem(last=False)
                self._chars -= _size(oldest)


def _size(html: str | None) -> int:
    # The entry itself takes some room, too.
    return 200 + len(html or "")


class Renderer:
    """Markdown to safe HTML for an app. A text that takes too long is shown unformatted, and remembered."""

    def __init__(self, command: Sequence[str] = _COMMAND, *, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._workers = _Workers(command, max_wait_seconds)
        self._max_wait_seconds = max_wait_seconds
        self._cache = _Cache()

    def page(self) -> Callable[[str], str]:
        """Return a function that formats the texts of a view, with MAX_PAGE_SECONDS for all of them. It blocks.

        The cache keeps every begun text, formatted or not, so repeated views get through all their texts.
        """
        seconds_left = MAX_PAGE_SECONDS

        def to_html_in_time(text: str) -> str:
            nonlocal seconds_left
            html, cost_seconds = self._to_html(text, is_in_time=seconds_left > 0)
            seconds_left -= cost_seconds
            return html

        return to_html_in_time

    def comparison(self) -> Mark:
        """Return a blocking function that marks differences in the texts of a view, with MAX_PAGE_SECONDS for all."""
        seconds_left = MAX_PAGE_SECONDS

        def mark_in_time(one: str, other: str) -> MarkedTexts:
            nonlocal seconds_left
            started = time.thread_time()
            marked = mark_cheap_differences(one, other)
            seconds_left -= time.thread_time() - started
            if marked.kind in ("same", "words", "rewritten") or seconds_left <= 0:
                return marked
            try:
                answer = self._ask_worker([one, other], None)
            except (TimeoutError, CancelledError):
                return marked
            cost_seconds, *dear = answer or (MAX_PAGE_SECONDS,)
            seconds_left -= cost_seconds
            return MarkedTexts(*dear) if dear else marked

        return mark_in_time

    def document(self, max_seconds: float) -> Callable[[str], str]:
        """Return a function that formats the texts of a document, without caching them. Only the processes format."""
        seconds_left = max_seconds

        def to_html_outside(text: str) -> str:
            nonlocal seconds_left
            if seconds_left <= 0 or len(text) > MAX_FORMATTED_CHARS:
                return to_plain_html(text)
            try:
                html, cost_seconds = self._ask(text)
            except (TimeoutError, CancelledError):
                html, cost_seconds = None, MAX_PAGE_SECONDS
            seconds_left -= cost_seconds
            return to_plain_html(text) if html is None else html

        return to_html_outside

    async def look(self, text: str, definitions: Definitions) -> tuple[Look, float] | None:
        """Format a growing text. Return the seconds it took as well; None if it took too long."""
        try:
            future = asyncio.wrap_future(self._submit(text, definitions))
            answer = await asyncio.wait_for(future, self._max_wait_seconds)
        except TimeoutError:
            return None
        if answer is None:
            return None
        found = json.loads(answer)
        return (Look(*found[1:]), found[0]) if found else None

    def close(self) -> None:
        """End the processes. From now on only cheap texts are formatted."""
        self._workers.close()

    def _to_html(self, text: str, *, is_in_time: bool) -> tuple[str, float]:
        """Return the HTML of `text`, and the seconds it took. Without time left, only a cheap text is begun."""
        if len(text) > MAX_FORMATTED_CHARS:
            return to_plain_html(text), 0.0
        key = sha256(f"{get_language()} {text}".encode("utf-8", "surrogatepass")).digest()
        is_known, html = self._cache.find(key)
        if is_known:
            return to_plain_html(text) if html is None else html, 0.0
        if is_cheap(text):
            started = time.thread_time()
            html, cost_seconds = render_markdown(text), time.thread_time() - started
        elif not is_in_time:
            return to_plain_html(text), 0.0
        else:
            try:
                html, cost_seconds = self._ask(text)
            except (TimeoutError, CancelledError):
                return to_plain_html(text), 0.0
        self._cache.keep(key, html)
        return to_plain_html(text) if html is None else html, cost_seconds

    def _ask(self, text: str) -> tuple[str | None, float]:
        answer = self._ask_worker(text, None)
        if answer is None:
            return None, MAX_PAGE_SECONDS
        cost_seconds, *look = answer
        return Look(*look).tail, cost_seconds

    def _ask_worker(self, subject: str | list[str], definitions: Definitions | None) -> list[Any] | None:
        """Return a worker's answer; None if it gave up. Raises `TimeoutError` and `CancelledError`."""
        future = self._submit(subject, definitions)
        try:
            answer = future.result(self._max_wait_seconds)
        finally:
            # The text may still be waiting for a worker.
            future.cancel()
        found: list[Any] | None = None if answer is None else json.loads(answer)
        return found

    def _submit(self, subject: str | list[str], definitions: Definitions | None) -> Future[bytes | None]:
        return self._workers.submit(json.dumps([MAX_PAGE_SECONDS, subject, definitions, get_language()]).encode())
