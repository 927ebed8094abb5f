"""The pace of the frames with text: each costs the same, however much is new, and many runs share the processor."""

MIN_FRAME_SECONDS = 0.04
FRAME_SECONDS_PER_RUN = 0.005
MAX_FRAME_SECONDS = 0.25
FRAME_SECONDS_OF_LOOK_SECONDS = 10  # an expensive text is formatted less often
MAX_PAUSE_SECONDS = 2.0


def choose_pause_seconds(runs: int, look_seconds: float) -> float:
    """Choose the seconds between two frames of text. `look_seconds` is what the last formatting took."""
    pause = min(max(MIN_FRAME_SECONDS, runs * FRAME_SECONDS_PER_RUN), MAX_FRAME_SECONDS)
    return max(pause, min(look_seconds * FRAME_SECONDS_OF_LOOK_SECONDS, MAX_PAUSE_SECONDS))
