"""The event loop of a user graph, on a thread of its own: blocking code keeps neither the page nor other graphs waiting."""

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
_log = logging.getLogger(__name__)


class ThreadExitError(Exception):
    """The work wanted to end the process with this error, as `sys.exit` does."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class GraphLoop:
    """Runs the work of one graph on one loop, where its clients keep their connections.

    A loop whose work does not stop is left to itself, and the next run gets a new one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: _LoopThread | None = None

    async def run_work(self, work: Work[T]) -> T:
        """Return the result of a coroutine. When the caller is cancelled, it is cancelled and waited for."""
        if self._thread is None or self._thread.is_over:
            self._thread = _LoopThread(self._name)
        thread = self._thread
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

    def __init__(self, name: str) -> None:
        self.is_over = False
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        self._loop.set_exception_handler(partial(_log_lost_error, name))
        self._lock = Lock()
        self._tasks: dict[Future[Any], asyncio.Task[Any] | None] = {}  # None: not started yet
        self._thread = Thread(target=self._run, name=f"user graph {name}", daemon=True)
        self._thread.start()

    def start_work(self, work: Work[T], result: Future[T]) -> None:
        with self._lock:
            self._tasks[result] = None
            self._loop.call_soon_threadsafe(self._create_task, work, result, context=make_context())

    def cancel_work(self, result: Future[Any]) -> None:
        with self._lock:
            if not self.is_over:
                self._loop.call_soon_threadsafe(self._cancel_task, result)

    def close(self) -> None:
        with self._lock:
            if self.is_over:
                return
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
        reason: BaseException = asyncio.CancelledError()
        try:
            self._loop.run_forever()
        except BaseException as error:  # noqa: BLE001  (the server would take it as meant for itself)
            reason = ThreadExitError(error)
        with self._lock:
            self.is_over = True
            left, self._tasks = self._tasks, {}
        for result in left:
            result.set_exception(reason)
        with suppress(BaseException):  # work that swallows its cancellation, or ends the loop once more
            self._end_tasks()
        self._loop.close()

    def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())


def _log_lost_error(name: str, _: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Log where a task failed that nothing waits for. Its text may quote a conversation, as asyncio's own message may."""
    error = context.get("exception")
    if error is None:
        _log.warning("graph %s: its event loop reported a problem without an error", name)
    else:
        _log.warning("graph %s: a task that nothing waited for failed: %s", name, locate_error(error))


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
