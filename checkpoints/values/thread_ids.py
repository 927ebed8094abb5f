"""Conversation ids, and their form within an address.

Browsers take “.” and “..” in a path for steps, however they are escaped, so these ids get a “~” there.
"""

import re
from urllib.parse import quote

from .serde import sanitize_text

_STEP = re.compile(r"\.{1,2}~*")


def write_thread_id(thread_id: str) -> str:
    return quote(f"{thread_id}~" if _STEP.fullmatch(thread_id) else thread_id, safe="")


def read_thread_id(segment: str) -> str:
    """Return the id of an unescaped address segment."""
    shorter = segment.removesuffix("~")
    return shorter if _STEP.fullmatch(shorter) else segment


def require_text(thread_id: str) -> str:
    """Return an id. Raises `ValueError` for an id a database would change into another conversation's."""
    if sanitize_text(thread_id) != thread_id:
        raise ValueError(f"The thread_id {thread_id!a} must be text, without half of a surrogate pair and NUL.")
    return thread_id
