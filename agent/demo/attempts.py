"""How the demo model tries several ways at once, and what it says of them afterwards."""

import json
import re

from checkpoints.text import shorten_line

MAX_ATTEMPTS = 10
MAX_ATTEMPT_CHARS = 300  # characters of a way's answer
_ATTEMPTS = re.compile(r"\btry \w+ ways: *([^\n]+)", re.IGNORECASE)


def parse_attempts(text: str) -> list[str]:
    """The ways that a text such as "try two ways: tea; coffee" names."""
    found = _ATTEMPTS.search(text)
    return [way.strip(" .") for way in found[1].split(";") if way.strip(" .")][:MAX_ATTEMPTS] if found else []


def describe_attempts(result: str) -> str:
    """Each way with the beginning of what came of it."""
    try:
        ways = [(way["branch"], way.get("answer") or f"failed: {way['failed']}") for way in json.loads(result)]
    except (ValueError, TypeError, KeyError, AttributeError):  # the user answered instead of the tool
        return result
    lines = [f"{number}. **{name}**: {shorten_line(text, MAX_ATTEMPT_CHARS)}" for number, (name, text) in enumerate(ways, 1)]
    return "I tried each on a branch of its own. I am the demo and cannot say which is best:\n\n" + "\n".join(lines)
