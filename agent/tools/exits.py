"""Exits of tools: `sys.exit()` in a tool makes the tool fail, and does not end the server.

The event loop ends at a `SystemExit` or a `KeyboardInterrupt` of any task, before the awaiting task sees an error.
LangChain runs a tool in its own task, and a tool may start more tasks. So these tasks are guarded where the loop makes
them.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any

_LOOP_EXITS = (SystemExit, KeyboardInterrupt)
# The loop closes a coroutine by `close`, so a step raises GeneratorExit only by itself.
_TASK_EXITS = (*_LOOP_EXITS, GeneratorExit)

# True in tasks that a tool started.
_is_tool = ContextVar("is_tool", default=False)


class ToolExitError(RuntimeError):
    """A tool raised an error that would end its event loop, or that no future accepts."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"the tool raised {type(error).__name__}: {error}")


@contextmanager
def guard_tasks() -> Iterator[None]:
    """Turn exits into errors in this block, and in all tasks that it starts, even if they outlast it."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop.get_task_factory(), _TaskFactory):
        loop.set_task_factory(_TaskFactory(loop.get_task_factory()))
    before = _is_tool.set(True)
    try:
        with _turn_exits_into_errors(_LOOP_EXITS):
            yield
    finally:
        _is_tool.reset(before)


@contextmanager
def _turn_exits_into_errors(exits: tuple[type[BaseException], ...]) -> Iterator[None]:
    try:
        yield
    except exits as error:
        raise ToolExitError(error) from error


class _TaskFactory:
    """Makes the tasks of a loop with its earlier factory. Tasks of tools are guarded."""

    def __init__(self, make_task: Callable[..., Any] | None) -> None:
        self._make_task = make_task or _make_task

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        context: Context | None = options.get("context")
        is_tool = _is_tool.get() if context is None else context.get(_is_tool, False)
        return self._make_task(loop, _GuardedWork(work) if is_tool else work, **options)


def _make_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
    return asyncio.Task(work, loop=loop, **options)


class _GuardedWork(Coroutine[Any, Any, Any]):
    """A coroutine whose exits are errors. Unlike an `async` function around it, it leaves no coroutine unawaited."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work

    def send(self, value: Any) -> Any:
        with _turn_exits_into_errors(_TASK_EXITS):
            return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        with _turn_exits_into_errors(_TASK_EXITS):
            return self._work.throw(*error)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._work.__await__())
