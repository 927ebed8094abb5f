"""The event loop of the user graphs, on a thread of its own: blocking code does not keep the page waiting."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

from agent.run.outcome import locate_error
from checkpoints import make_context

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]
MAX_CLOSE_SECONDS = 1.0  # that a loop has to end with the server
MAX_ANSWER_SECONDS = 2.0  # of a loop; one that takes longer is blocked
_log = logging.getLogger(__name__)


class GraphLoop:
    """Runs the work of all graphs on one loop, as LangGraph's own server does.

    A client belongs to the loop of its connections, and graphs share clients, also where a library keeps one for all.

    A loop that is blocked, or whose work does not stop, is left to itself, and the next run gets a new one.
    """

    def __init__(self) -> None:
        self._thread: _LoopThread | None = None

    async def run_work(self, work: Work[T]) -> T:
        """Return the result of a coroutine. When the caller is cancelled, it is cancelled and waited for."""
        thread = await self._take_thread()
        result: Future[T] = Future()
        thread.start_work(work, result)
        waiting = asyncio.wrap_future(result)
        # Read at the end, also where nobody waits any more: the event loop would report an error as lost.
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not waiting.done():
                thread.cancel_work(result)
                await self._wait_for_end(waiting, thread)
            raise

    async def _take_thread(self) -> "_LoopThread":
        thread = self._thread
        is_free = thread is not None and await thread.answers()
        if self._thread is None or (self._thread is thread and not is_free):
            self._thread = _LoopThread()
        return self._thread

    async def _wait_for_end(self, waiting: "asyncio.Future[Any]", thread: "_LoopThread") -> None:
        try:
            await asyncio.wait({waiting})
        except asyncio.CancelledError:  # a second time: the run is let go of
            if self._thread is thread:
                self._thread = None
            raise

    def close(self) -> None:
        """End the loop, unless its work blocks it."""
        if self._thread is not None:
            self._thread.close()


class _LoopThread:
    """A thread with an event loop, and the results that others wait for."""

    def __init__(self) -> None:
        self._is_over = self._is_closing = False
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        self._loop.set_exception_handler(_log_lost_error)
        self._lock = Lock()
        self._tasks: dict[Future[Any], asyncio.Task[Any] | None] = {}  # None: not started yet
        self._thread = Thread(target=self._run, name="user graphs", daemon=True)
        self._thread.start()

    async def answers(self) -> bool:
        """Return whether the loop answers in time: nothing blocks it."""
        answer: Future[None] = Future()
        with self._lock:
            if self._is_over:
                return False
            self._loop.call_soon_threadsafe(answer.set_result, None)
        done, _ = await asyncio.wait({asyncio.wrap_future(answer)}, timeout=MAX_ANSWER_SECONDS)
        return bool(done)

    def start_work(self, work: Work[T], result: Future[T]) -> None:
        with self._lock:
            self._tasks[result] = None
            self._loop.call_soon_threadsafe(self._create_task, work, result, context=make_context())

    def cancel_work(self, result: Future[Any]) -> None:
        with self._lock:
            if not self._is_over:
                self._loop.call_soon_threadsafe(self._cancel_task, result)

    def close(self) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_closing = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(MAX_CLOSE_SECONDS)

    def _create_task(self, work: Work[T], result: Future[T]) -> None:
        task = self._tasks[result] = self._loop.create_task(work())
        task.add_done_callback(partial(self._pass_on, result))

    def _cancel_task(self, result: Future[Any]) -> None:
        if (task := self._tasks.get(result)) is not None:
            task.cancel()

    def _pass_on(self, result: Future[Any], task: "asyncio.Task[Any]") -> None:
        if self._tasks.pop(result, None) is None:
            return  # the loop has ended
        if task.cancelled():
            result.set_exception(asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            result.set_exception(error)
        else:
            result.set_result(task.result())

    def _run(self) -> None:
        while not self._is_closing:
            # `sys.exit` in a task is passed on to whoever waits for the task, and then leaves the loop: the others go on.
            with suppress(BaseException):
                self._loop.run_forever()
        with self._lock:
            self._is_over = True
            left, self._tasks = self._tasks, {}
        for result in left:
            result.set_exception(asyncio.CancelledError())
        with suppress(BaseException):  # work that swallows its cancellation, or ends the loop once more
            self._end_tasks()
        self._loop.close()

    def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())


def _log_lost_error(_: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Log where a task failed that nothing waits for. Its text may quote a conversation, as asyncio's own message may."""
    error = context.get("exception")
    if error is None:
        _log.warning("the event loop of the graphs reported a problem without an error")
    else:
        _log.warning("a task of a graph that nothing waited for failed: %s", locate_error(error))


class _DaemonThreads(ThreadPoolExecutor):
    """A thread for each piece of work. A node that blocks for ever takes no place from others, and the process can end."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001  (it belongs to whoever waits)
                future.set_exception(error)

        Thread(target=work, name="user graph node", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing."""
