"""Background work after runs. Nothing waits for it, and each thread has at most one such task of a kind."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from checkpoints import Run


class RunFollower(Protocol):
    """Looks at the messages of runs. It is called after a run's end is published."""

    def consider(self, run: Run) -> None: ...

    async def close(self) -> None: ...


class BackgroundTasks:
    """The tasks of a follower, by thread."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, thread_id: str, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a task, unless the thread's task is unfinished."""
        if thread_id not in self._tasks:
            task = asyncio.create_task(work(), name=name)
            self._tasks[thread_id] = task
            task.add_done_callback(lambda _: self._tasks.pop(thread_id))

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
