"""The pace of flushes. Each flush costs the same for any amount of news, and many runs share the processor.

Tokens are joined only here.
"""

MIN_FLUSH_SECONDS = 0.04
FLUSH_SECONDS_PER_RUN = 0.005
MAX_FLUSH_SECONDS = 0.25


def choose_flush_seconds(runs: int) -> float:
    return min(max(MIN_FLUSH_SECONDS, runs * FLUSH_SECONDS_PER_RUN), MAX_FLUSH_SECONDS)
