"""The files that this process may have open, of which every connection is one.

Systems begin with few: 1,024 on Linux, 256 on macOS. A database that finds none left cannot be read.
"""

import resource
from contextlib import suppress

MAX_OPEN_FILES = 8_192
RESERVED_FILES = 256  # for the database, providers, the programs of tools, and files that are served


def raise_file_limit() -> int:
    """Let this process open up to MAX_OPEN_FILES files, or as many as the system allows. Return how many."""
    current, allowed = (
        MAX_OPEN_FILES if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    wanted = min(allowed, MAX_OPEN_FILES)
    if current < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            return wanted
    return min(current, MAX_OPEN_FILES)


def count_allowed_connections(files: int) -> int:
    """Return how many connections leave enough of these files for everything else."""
    return max(files - RESERVED_FILES, files // 2)
