r"""Texts without the escapes of Markdown: `J&#97;ne\_Doe` is read as “Jane_Doe”, wherever a page or a file formats it."""

import re
from array import array
from bisect import bisect_right
from html import unescape
from html.entities import html5

_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[0-9A-Za-z]{2,31});")


def read_escapes(written: str) -> str:
    return _ESCAPE.sub(_read_escape, written)


def _read_escape(found: re.Match[str]) -> str:
    escape = found.group()
    if escape[0] == "\\":
        return escape[1]
    return unescape(escape) if escape[1] == "#" else html5.get(escape[1:], escape)  # `unescape` reads beginnings of names


class ReadPlaces:
    """The places in a text as it was written of the characters of the text that is read."""

    def __init__(self, written: str) -> None:
        self._starts, self._ends = array("q"), array("q")  # of the escaped characters, in the text that is read
        self._written_starts, self._written_ends = array("q"), array("q")
        saved = 0
        for found in _ESCAPE.finditer(written):
            start, end = found.span()
            if _read_escape(found) == found.group():
                continue
            self._written_starts.append(start)
            self._written_ends.append(end)
            self._starts.append(start - saved)
            saved += end - start - len(_read_escape(found))
            self._ends.append(end - saved)

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the written text that a span is read from. An escape is never cut."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        if first >= 0:
            is_inside = start < self._ends[first]
            start = self._written_starts[first] if is_inside else start - self._ends[first] + self._written_ends[first]
        if last >= 0:
            is_inside = end <= self._ends[last]
            end = self._written_ends[last] if is_inside else end - self._ends[last] + self._written_ends[last]
        return start, end
