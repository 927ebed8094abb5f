"""English sentences that the store has without their templates, such as the error of a run: found again by their words."""

import re
from collections.abc import Iterable, Mapping

MIN_LETTERS = 4  # of a template, besides its values: one with fewer would fit any text
MAX_CHARS = 2_000  # of a sentence; a longer one stays English
COUNT = re.compile(r"\d{1,3}(,\d{3})+")  # a value that is a number, as English writes it
_VALUE = re.compile(r"\{(\w+)[^{}]*\}")


class StoredSentences:
    """The templates of the sentences that may be stored."""

    def __init__(self, forms: Iterable[tuple[str, str]]) -> None:
        """Take the forms of the texts, singular and plural, each with its key in the catalogue."""
        usable = [(_count_letters(form), form, key) for form, key in forms if _VALUE.search(form)]
        longest_first = sorted((each for each in usable if each[0] >= MIN_LETTERS), reverse=True)
        self._patterns = [(_build_pattern(form), key) for _, form, key in longest_first]

    def find_template(self, text: str) -> tuple[str, Mapping[str, str]] | None:
        """Return the key of the template that a sentence was made with, and its values as they stand in it."""
        if len(text) > MAX_CHARS:
            return None
        found = ((pattern.fullmatch(text), key) for pattern, key in self._patterns)
        return next(((key, match.groupdict()) for match, key in found if match), None)


def fill_stored(text: str, values: Mapping[str, str]) -> str:
    """Put values, which are formatted already, into a translated text."""
    return _VALUE.sub(lambda place: values[place[1]], text)


def read_count(values: Mapping[str, str]) -> float:
    """Return the number of a sentence that depends on one."""
    try:
        return float(values["count"].replace(",", ""))
    except (KeyError, ValueError):
        return 0


def _count_letters(form: str) -> int:
    return sum(map(str.isalpha, _VALUE.sub("", form)))


def _build_pattern(form: str) -> re.Pattern[str]:
    parts, names = _VALUE.split(form), set[str]()
    pieces = [re.escape(parts[0])]
    for name, literal in zip(parts[1::2], parts[2::2], strict=True):
        pieces += [f"(?P={name})" if name in names else f"(?P<{name}>.*?)", re.escape(literal)]
        names.add(name)
    return re.compile("".join(pieces), re.DOTALL)
