"""The ids of conversations: which there may be, and how one is written within an address.

A browser takes “.” and “..” in a path for steps, however they are escaped, so each of them gets a “~” there.
"""

import re
from urllib.parse import quote

from .serde import sanitize_text

_STEP = re.compile(r"\.{1,2}~*")


def write_thread_id(thread_id: str) -> str:
    """Return an id as one segment of an address."""
    return quote(f"{thread_id}~" if _STEP.fullmatch(thread_id) else thread_id, safe="")


def read_thread_id(segment: str) -> str:
    """Return the id of a segment whose escapes are characters again."""
    shorter = segment.removesuffix("~")
    return shorter if _STEP.fullmatch(shorter) else segment


def require_text(thread_id: str) -> str:
    """Return an id. Raises `ValueError` for one that a database would change: it would be the id of another conversation."""
    if sanitize_text(thread_id) != thread_id:
        raise ValueError(f"The thread_id {thread_id!a} must be text, without half of a surrogate pair and NUL.")
    return thread_id
