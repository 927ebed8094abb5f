"""Redaction of an export, so that it can be shared: tool results, attached files, and text that matches a pattern.

A pattern is plain text as people read it (see `text_folding`), not a regular expression: a slow expression could block the
server, and the text to leave out is a name, a number or a key. `*` matches any characters up to the next space (`sk-*`,
`*@example.com`), and a pattern with `*` is a single word: so the search takes time proportional to the text.

A text with the escapes of Markdown (`\\_`, `&#95;`) is searched as it was written and as it is read.

Not found: words that a space, a line break, formatting or two messages split; encoded text; letters and signs that only look
the same, such as 0 for O or a Cyrillic а for a.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..values.errors import InvalidRedactionError
from ..values.sentence import sentence
from .pattern_search import Pattern, is_searchable, mark_matches

REDACTED = "[redacted]"
MAX_PATTERNS = 100
MAX_PATTERN_CHARS = 200  # characters of one pattern


@dataclass(frozen=True)
class Redaction:
    """The content to leave out. Raises `InvalidRedactionError` for a pattern that is too long, or too many patterns."""

    tool_results: bool = False
    patterns: tuple[str, ...] = ()
    files: bool = False  # attached files; patterns always remove them, because images cannot be searched

    def __post_init__(self) -> None:
        if len(self.patterns) > MAX_PATTERNS:
            raise InvalidRedactionError(
                sentence("No more than {limit} patterns can be redacted at once.", limit=MAX_PATTERNS)
            )
        for pattern in self.patterns:
            if not pattern.strip() or len(pattern) > MAX_PATTERN_CHARS:
                raise InvalidRedactionError(
                    sentence("A pattern to redact has between 1 and {limit} characters.", limit=MAX_PATTERN_CHARS)
                )
            if not is_searchable(pattern):
                raise InvalidRedactionError(sentence("A pattern to redact has a character that can be seen."))
            if "*" in pattern and len(pattern.split()) > 1:
                raise InvalidRedactionError(sentence("A pattern with * is one word, without spaces."))

    @cached_property
    def _parsed_patterns(self) -> list[Pattern]:
        return list(dict.fromkeys(Pattern.parse(pattern.strip()) for pattern in self.patterns))

    def redact_text(self, text: str, replacement: str = REDACTED) -> str:
        """Replace the matches in a text. Overlapping and adjacent matches are replaced once."""
        return self.replace_matches(text, replacement)[0]

    def replace_matches(self, text: str, replacement: str = REDACTED) -> tuple[str, int]:
        """Redact a text, and return also the number of places that were replaced."""
        [redacted], places = self.replace_matches_across([text], replacement)
        return redacted, places

    def replace_matches_across(self, texts: Sequence[str], replacement: str = REDACTED) -> tuple[list[str], int]:
        """Redact texts that are shown as one, also where a match goes on from one of them to the next."""
        marks = mark_matches(self._parsed_patterns, "".join(texts)) if self.patterns else None
        if marks is None:
            return list(texts), 0
        redacted, places, start = [], 0, 0
        for text in texts:
            parts = _split_at_marks(text, marks[start : start + len(text)])
            redacted.append(replacement.join(parts))
            places += len(parts) - 1
            start += len(text)
        return redacted, places


def _split_at_marks(text: str, marks: bytes | bytearray) -> list[str]:
    """Return the pieces of a text around its marked places."""
    parts, at = [], 0
    while (start := marks.find(1, at)) >= 0:
        parts.append(text[at:start])
        end = marks.find(0, start)
        at = end if end >= 0 else len(text)
    return [*parts, text[at:]]
