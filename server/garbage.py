"""Python's garbage collector while the server serves. A full pass halts every thread, 200 ms beside a large file.

The passes over young objects go on, as short ones. The full pass waits until the server is idle: then it costs little, for
the files are gone, and nobody waits. A server that is never idle has one when its memory has grown by some 300 MB.
"""

import asyncio
import gc
import sys
import time

YOUNG_OBJECTS = 2_000  # new ones, until a pass over them
YOUNG_PASSES = 10  # until a pass over what they left, of some 15 ms
MIDDLE_PASSES = 1_000_000  # until a full pass, which comes long before
IDLE_SECONDS = 5.0
MAX_IDLE_SHARE = 0.02  # of a processor: a few streams at most
MAX_GROWN_BLOCKS = 3_000_000  # of memory, some 100 bytes each, without a full pass


def postpone_full_passes() -> None:
    """Leave the objects of today alone, which live to the end, and make full passes rare."""
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_PASSES, MIDDLE_PASSES)
    resume_passes()


def resume_passes() -> None:
    """Collect again, now that everything is imported (app.py switches the collector off), and leave its objects alone."""
    gc.freeze()
    gc.enable()


async def collect_when_idle() -> None:
    """Make a full pass each time that the server becomes idle after work, or its memory has grown by much, without end."""
    blocks = sys.getallocatedblocks()  # the fewest since the last full pass
    while True:
        start = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        has_work_left = gc.get_count()[2] > 0  # objects that outlived two passes since the last full one
        is_idle = time.process_time() - start < IDLE_SECONDS * MAX_IDLE_SHARE
        if has_work_left and (is_idle or sys.getallocatedblocks() - blocks > MAX_GROWN_BLOCKS):
            gc.collect()
            blocks = sys.getallocatedblocks()
        blocks = min(blocks, sys.getallocatedblocks())
