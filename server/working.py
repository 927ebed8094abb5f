"""The process that works and serves no page: it runs until a signal ends it."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

from server import garbage


async def run_until_signal(start: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]]) -> None:
    """Run `start`, wait for a signal to end, and `close`. A signal during the start ends it soon after."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await start()
        garbage.postpone_full_passes()
        collecting = asyncio.create_task(garbage.collect_when_idle())
        await ended.wait()
        for number in (signal.SIGINT, signal.SIGTERM):  # a second one ends the process at once
            asyncio.get_running_loop().remove_signal_handler(number)
        collecting.cancel()
    finally:
        await close()
