"""The pace of the frames with text: that of all flushes, and slower for a text that is expensive to format."""

from agent.wire.pace import choose_flush_seconds

FRAME_SECONDS_OF_LOOK_SECONDS = 10  # an expensive text is formatted less often
MAX_PAUSE_SECONDS = 2.0


def choose_pause_seconds(runs: int, look_seconds: float) -> float:
    """Choose the seconds between two frames of text. `look_seconds` is the duration of the last formatting."""
    return max(choose_flush_seconds(runs), min(look_seconds * FRAME_SECONDS_OF_LOOK_SECONDS, MAX_PAUSE_SECONDS))
