"""The pace of flushes: each costs the same, however much is new, and many runs share the processor.

Tokens are joined here and nowhere before.
"""

MIN_FLUSH_SECONDS = 0.04
FLUSH_SECONDS_PER_RUN = 0.005
MAX_FLUSH_SECONDS = 0.25


def choose_flush_seconds(runs: int) -> float:
    """Choose the seconds between two flushes of text."""
    return min(max(MIN_FLUSH_SECONDS, runs * FLUSH_SECONDS_PER_RUN), MAX_FLUSH_SECONDS)
