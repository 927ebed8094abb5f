"""The templates of English sentences, found again by their words: what the page should say in the pseudo language."""

import re
from collections.abc import Iterable, Mapping

MIN_LETTERS = 4  # of a template, besides its values: one with fewer would fit any text
_VALUE = re.compile(r"\{(\w+)[^{}]*\}")


class Templates:
    """The templates of the sentences of the catalogue."""

    def __init__(self, forms: Iterable[tuple[str, str]]) -> None:
        """Take the forms of the texts, singular and plural, each with its key in the catalogue."""
        usable = [(_count_letters(form), form, key) for form, key in forms if _VALUE.search(form)]
        longest_first = sorted((each for each in usable if each[0] >= MIN_LETTERS), reverse=True)
        self._patterns = [(_build_pattern(form), key) for _, form, key in longest_first]

    def find(self, text: str) -> tuple[str, Mapping[str, str]] | None:
        """Return the key of the template that a sentence was made with, and its values as they stand in it."""
        found = ((pattern.fullmatch(text), key) for pattern, key in self._patterns)
        return next(((key, match.groupdict()) for match, key in found if match), None)


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Put values, which are formatted already, into a translated text."""
    return _VALUE.sub(lambda place: values[place[1]], text)


def _count_letters(form: str) -> int:
    return sum(map(str.isalpha, _VALUE.sub("", form)))


def _build_pattern(form: str) -> re.Pattern[str]:
    parts, names = _VALUE.split(form), set[str]()
    pieces = [re.escape(parts[0])]
    for name, literal in zip(parts[1::2], parts[2::2], strict=True):
        pieces += [f"(?P={name})" if name in names else f"(?P<{name}>.*?)", re.escape(literal)]
        names.add(name)
    return re.compile("".join(pieces), re.DOTALL)
