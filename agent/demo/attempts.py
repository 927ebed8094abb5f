"""The demo model's attempts: the request for several at once, and the report on their results."""

import json
import re

from checkpoints.values.text import shorten_line

MAX_ATTEMPTS = 10
MAX_ATTEMPT_CHARS = 300  # of an attempt's answer
_ATTEMPTS = re.compile(r"\btry \w+ ways: *([^\n]+)", re.IGNORECASE)


def parse_attempts(text: str) -> list[str]:
    """Return the prompts that a text such as "try two ways: tea; coffee" names."""
    match = _ATTEMPTS.search(text)
    return [prompt.strip(" .") for prompt in match[1].split(";") if prompt.strip(" .")][:MAX_ATTEMPTS] if match else []


def describe_attempts(result: str) -> str:
    """Return each attempt with the beginning of its result."""
    try:
        attempts = [(each["branch"], each.get("answer") or f"failed: {each['failed']}") for each in json.loads(result)]
    except (ValueError, TypeError, KeyError, AttributeError):  # the user answered instead of the tool
        return result
    lines = [
        f"{number}. **{name}**: {shorten_line(text, MAX_ATTEMPT_CHARS)}" for number, (name, text) in enumerate(attempts, 1)
    ]
    return "I tried each on a branch of its own. I am the demo and cannot say which is best:\n\n" + "\n".join(lines)
