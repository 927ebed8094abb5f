"""Differences of two texts, marked in their sanitised HTML: words, or lines of long texts.

A mark is a tag around existing words, so the result contains nothing unseen by the sanitiser. A formula counts as a word.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

# The limit counts the words of each text, apart from a common beginning and end. Longer texts are compared by lines.
MAX_WORDS = 4_000
MAX_LINES = 2_000
# It bounds difflib's steps to about 20 ms. Real texts take a hundredth of it.
MAX_CHEAP_STEPS = 300_000
# If two texts were less alike than this, almost everything would be marked.
MIN_SIMILARITY = 0.3

DifferenceKind = Literal["same", "words", "lines", "rewritten", "long"]
_PARTS = re.compile(r'<math\b.*?</math>|<[^"<>]*(?:"[^"]*"[^"<>]*)*>|\s+|&#?\w+;|\w+|.', re.DOTALL)
# A unit is the first and the last part of a word or line.
_Units = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class MarkedTexts:
    """Two texts as HTML, with `del` and `ins` around the parts missing in the other text."""

    kind: DifferenceKind
    one: str
    other: str


Mark = Callable[[str, str], MarkedTexts]


def mark_differences(one: str, other: str, max_steps: int | None = None) -> MarkedTexts:
    """Mark the differences of two texts in their HTML. With `max_steps`, an expensive comparison counts as too long."""
    if one == other:
        return MarkedTexts("same", one, other)
    parts = [_PARTS.findall(html) for html in (one, other)]
    for kind, find_units, most in (("words", _find_words, MAX_WORDS), ("lines", _find_lines, MAX_LINES)):
        units = [find_units(each) for each in parts]
        keys = [_list_keys(each, there) for each, there in zip(parts, units, strict=True)]
        begin, end = _measure_common_ends(*keys)
        middles = [each[begin : len(each) - end] for each in keys]
        is_dear = max_steps is not None and _bound_steps(*middles) > max_steps
        if is_dear or max(map(len, middles)) > most or (kind == "lines" and max(map(len, keys)) == 1):
            continue
        changed = _find_changed_units(middles[0], middles[1], begin, total=sum(map(len, keys)))
        if changed is None:
            return MarkedTexts("rewritten", one, other)
        marked = [_mark_units(*each) for each in zip(parts, units, changed, ("del", "ins"), strict=True)]
        return MarkedTexts("words" if kind == "words" else "lines", *marked)
    return MarkedTexts("long", one, other)


def mark_cheap_differences(one: str, other: str) -> MarkedTexts:
    """Mark the differences of two texts, unless it could take longer than about 20 ms."""
    return mark_differences(one, other, MAX_CHEAP_STEPS)


def _find_words(parts: Sequence[str]) -> _Units:
    return [(index, index) for index, part in enumerate(parts) if _is_word(part)]


def _find_lines(parts: Sequence[str]) -> _Units:
    """Return the lines with words. A line ends where the HTML has a line break."""
    lines: _Units = []
    first = last = None
    for index, part in enumerate([*parts, "\n"]):
        if _is_word(part):
            first, last = index if first is None else first, index
        elif first is not None and last is not None and ("\n" in part or part.startswith("<br")):
            lines.append((first, last))
            first = None
    return lines


def _is_word(part: str) -> bool:
    return part.startswith("<math") or not (part.isspace() or part.startswith("<"))


def _list_keys(parts: Sequence[str], units: _Units) -> list[str]:
    """Return the words of each unit, without the tags between them."""
    return [
        "".join(part for part in parts[first : last + 1] if not part.startswith("<") or _is_word(part))
        for first, last in units
    ]


def _measure_common_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Count the units at the common beginning, and at the common end of the rest."""
    shorter = min(len(one), len(other))
    begin = next((index for index in range(shorter) if one[index] != other[index]), shorter)
    rest = shorter - begin
    return begin, next((index for index in range(rest) if one[-1 - index] != other[-1 - index]), rest)


def _bound_steps(one: Sequence[str], other: Sequence[str]) -> int:
    """Return an upper bound of difflib's steps: its searches, each over a text and the pairs of equal units."""
    counts = Counter(other)
    pairs = sum(counts[key] for key in one)
    return min(pairs + 1, len(one), len(other)) * (len(one) + pairs)


def _find_changed_units(
    one: Sequence[str], other: Sequence[str], offset: int, total: int
) -> tuple[set[int], set[int]] | None:
    """Return the numbers of the units missing in the other text; None if the texts have too little in common."""
    changed: tuple[set[int], set[int]] = (set(), set())
    for tag, first, last, first_other, last_other in SequenceMatcher(None, one, other).get_opcodes():
        if tag != "equal":
            changed[0].update(range(offset + first, offset + last))
            changed[1].update(range(offset + first_other, offset + last_other))
    common = total - len(changed[0]) - len(changed[1])
    return changed if common >= MIN_SIMILARITY * total else None


def _mark_units(parts: Sequence[str], units: _Units, changed: set[int], tag: str) -> str:
    """Put the tag around the words of the changed units, and around spaces between two of them."""
    marked = {part for number in changed for part in range(units[number][0], units[number][1] + 1)}
    return "".join(_write_marked_parts(parts, marked, tag))


def _write_marked_parts(parts: Sequence[str], marked: set[int], tag: str) -> Iterator[str]:
    is_open = False
    for index, part in enumerate(parts):
        is_marked = (index in marked and _is_word(part)) or (
            part.isspace() and is_open and index + 1 in marked and _is_word(parts[index + 1])
        )
        if is_marked != is_open:
            yield f"<{tag}>" if is_marked else f"</{tag}>"
            is_open = is_marked
        yield part
    if is_open:
        yield f"</{tag}>"
