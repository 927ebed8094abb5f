"""Blocking work on threads. It always runs to its end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BlockingPool:
    """A pool of threads for the blocking work of runs. Its creator shuts it down."""

    pool: ThreadPoolExecutor

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work to its end, even when the caller is cancelled meanwhile."""
        # The copied context carries the owner who acts.
        in_context = partial(copy_context().run, _call_work, partial(work, *args, **kwargs))
        future = asyncio.get_running_loop().run_in_executor(self.pool, in_context)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})
            # Nothing else reads the exception, and the event loop would report it as lost.
            future.exception()
            raise


def _call_work(work: Callable[[], T]) -> T:
    try:
        return work()
    except StopIteration as error:
        # A future does not accept StopIteration: its caller would wait for ever.
        raise RuntimeError("blocking work raised StopIteration") from error
