"""Invokes tools. A hanging tool, on a thread or on the loop, keeps no other work waiting.

Each plain function has its own thread, since hanging tools would use up a pool's threads.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool

from agent.tools.exits import ToolExitError, guard_tasks
from agent.tools.remote_tool import RemoteTool

T = TypeVar("T")
# The loop itself keeps no reference to a task.
_abandoned = set[asyncio.Task[Any]]()
_log = logging.getLogger(__name__)


async def run_within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of work. Raises `TimeoutError` after so many seconds, even if the work ignores its cancellation."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    if task.done():
        return task.result()
    _abandoned.add(task)
    task.add_done_callback(_forget)
    task.cancel()
    raise TimeoutError


def _forget(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        # Nothing else reads the exception, and the event loop would report it as lost.
        task.exception()
        _log.warning("a tool that was stopped has ended later")


async def invoke_tool(tool: BaseTool, arguments: dict[str, Any]) -> str:
    """Invoke a tool and return its result as text.

    A plain function runs on a thread, which is abandoned on cancellation. So does code that turns another result into
    text, since it belongs to the tool.
    """
    given = _wrap_arguments(tool, arguments)
    if _is_plain(tool):
        return await run_on_own_thread(lambda: _write_result(tool.invoke(given)))
    with guard_tasks():
        result = await tool.ainvoke(given)
    return result if type(result) is str else await run_on_own_thread(lambda: _write_result(result))


def _wrap_arguments(tool: BaseTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments in a form that LangChain takes unchanged.

    LangChain reads `{"type": "tool_call", "args": …}` as a call around other arguments, which nobody approved.
    """
    if arguments.get("type") != "tool_call" or isinstance(tool, RemoteTool):
        return arguments
    return {"type": "tool_call", "id": "", "name": tool.name, "args": arguments}


def _write_result(result: Any) -> str:
    return str(result.content if isinstance(result, ToolMessage) else result)


async def run_on_own_thread(work: Callable[[], T]) -> T:
    """Return the result of blocking work. On cancellation its thread continues, and its result is dropped."""
    loop, context = asyncio.get_running_loop(), copy_context()
    result: asyncio.Future[T] = loop.create_future()

    def settle(set_outcome: Callable[[], None]) -> None:
        if not result.done():
            set_outcome()

    def run() -> None:
        try:
            set_outcome = partial(result.set_result, context.run(work))
        except (StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            # A future accepts no StopIteration, and the others would end the loop or the task that reads it.
            exited = ToolExitError(error)
            exited.__cause__ = error
            set_outcome = partial(result.set_exception, exited)
        except BaseException as error:  # noqa: BLE001  it belongs to the waiting call
            set_outcome = partial(result.set_exception, error)
        # If the loop is closed, nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, set_outcome)

    Thread(target=run, name="tool", daemon=True).start()
    return await result


def _is_plain(tool: BaseTool) -> bool:
    if isinstance(tool, StructuredTool | Tool):
        return tool.coroutine is None
    return type(tool)._arun is BaseTool._arun and type(tool).ainvoke is BaseTool.ainvoke
