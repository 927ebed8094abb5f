"""The pace of flushes: each costs the same, however much is new, and many runs share the processor.

It is quicker than that of reading models (see agent.models.pacing), so that text goes out as soon as it is read.
"""

MIN_FLUSH_SECONDS = 0.04
FLUSH_SECONDS_PER_RUN = 0.005
MAX_FLUSH_SECONDS = 0.25


def choose_flush_seconds(runs: int) -> float:
    """Choose the seconds between two flushes of text."""
    return min(max(MIN_FLUSH_SECONDS, runs * FLUSH_SECONDS_PER_RUN), MAX_FLUSH_SECONDS)
