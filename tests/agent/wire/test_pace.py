"""The pace of flushes and frames, beside that of reading the models."""

from contextlib import ExitStack

import pytest

from agent.models.pacing import FIRST_READS, StreamPacer
from agent.wire.pace import choose_flush_seconds


@pytest.mark.parametrize("count", [1, 2, 5, 12, 25, 40, 50, 200])
def test_text_that_was_read_goes_out_at_once(count: int) -> None:
    """The pause since the flush before has ended: else the text would wait for a moment between two reads."""
    pacer = StreamPacer()
    with ExitStack() as streams:
        for _ in range(count):
            streams.enter_context(pacer.count_stream())
        assert choose_flush_seconds(count) < pacer.find_pause(FIRST_READS + 1)
