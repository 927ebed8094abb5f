"""Running a guest on a thread and an event loop of its own: code that blocks keeps neither the page nor others waiting."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Started = tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any] | None"]


class ThreadExitError(Exception):
    """The work wanted to end the process with this error, as `sys.exit` does."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


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

        Thread(target=work, name="guest node", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing."""


async def run_on_own_thread(work: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
    """Run a coroutine on a new thread, and return its result.

    When the caller is cancelled, the work is cancelled and waited for. A second time, it is left to itself.
    """
    result: Future[T] = Future()
    started: Future[_Started] = Future()

    async def main() -> T:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=_make_loop) as runner:
                found = runner.run(main())
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  (it belongs to whoever waits)
            result.set_exception(error)
        except BaseException as error:  # noqa: BLE001  (the server would take it as meant for itself)
            result.set_exception(ThreadExitError(error))
        else:
            result.set_result(found)

    Thread(target=run, name=name, daemon=True).start()
    waiting = asyncio.wrap_future(result)
    # Read at the end, also where nobody waits any more: the event loop would report an error as lost.
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        if not waiting.done():
            _cancel_task(*await asyncio.wrap_future(started))
            await asyncio.wait({waiting})
        raise


def _cancel_task(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any] | None") -> None:
    if task is not None and not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)


def _make_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_DaemonThreads())
    return loop
