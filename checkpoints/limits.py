"""Limits of numbers, short texts and nesting in input from outside, and the functions that apply them.

The limits of names are in `model`, of files in `files`, of reasoning in `reasoning`, of documents in `interchange.waymark`.
"""

from typing import Any

from checkpoints import serde

MAX_NUMBER = 2**53 - 1  # the largest whole number that every reader of JSON knows exactly
MAX_TOKENS = 2**31 - 1  # of one answer, or of a checkpoint: the largest INTEGER of PostgreSQL
MAX_FILE_LEVELS = 100  # of objects and lists within one another, in a file that is imported
MAX_ARGUMENT_LEVELS = 80  # in the arguments of a call: an export puts its own levels around them
MAX_LABEL_CHARS = 500  # of a provider's name for a tool, a call or a model
MAX_MESSAGE_CHARS = 200_000  # of a text that a user sends
MAX_PROMPT_CHARS = 200_000  # of instructions that are fetched


def to_number(value: Any) -> int | None:
    """Return a whole number from 0 on; None for any other value."""
    return value if type(value) is int and 0 <= value <= MAX_NUMBER else None


def to_tokens(value: Any) -> int | None:
    """Return a count of tokens that can be stored; None for any other value."""
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


def to_label(value: Any) -> str:
    """Return a text that can be stored, cut to the limit; an empty text for any other value."""
    return serde.sanitize_text(value[:MAX_LABEL_CHARS]) if isinstance(value, str) else ""


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether JSON nests more than `levels` objects and lists."""
    level = [value]
    for _ in range(levels + 1):
        holders = [each for each in level if isinstance(each, (dict, list))]
        level = [below for each in holders for below in (each.values() if isinstance(each, dict) else each)]
        if not holders:
            return False
    return True


def has_more_values(value: Any, limit: int) -> bool:
    """Return whether JSON consists of more than `limit` values, counting every object, list, text and number."""
    waiting, count = [value], 0
    while waiting and count <= limit:
        each = waiting.pop()
        count += 1
        if isinstance(each, (dict, list)):
            if len(each) > limit:
                return True
            waiting.extend(each.values() if isinstance(each, dict) else each)
    return count > limit
