"""Text in a given room: shortened, in a fence of backticks that leaves it unchanged, or a number with its noun."""

import re

_BACKTICKS = re.compile(r"`+")


def fence_verbatim(text: str, language: str = "") -> str:
    """Return the unchanged text in a code block of Markdown that nothing in the text can end."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def shorten(text: str, max_chars: int) -> str:
    """Return the text, or its beginning with “…”. The result has at most `max_chars` characters."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def shorten_line(text: str, max_chars: int) -> str:
    """Shorten the text and put it on one line."""
    return shorten(" ".join(text.split()), max_chars)


def shorten_for_model(text: str, max_chars: int) -> str:
    """Return the text, or its first `max_chars` characters and a note of how many are missing."""
    missing = len(text) - max_chars
    return text if missing <= 0 else f"{text[:max_chars]}\n… (cut: {missing:,} more characters)"


def pluralize(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the singular or the plural."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
