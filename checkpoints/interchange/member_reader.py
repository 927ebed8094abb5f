"""A strict reader of one JSON object: its members, and the items of its lists, one after the other.

Only a window of the file is decoded: with one emoji in it, a text of Python is four times as large as its bytes. And one
call for all of a file would keep all other threads waiting.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from ..errors import InvalidDocumentError
from ..sentence import sentence
from . import strict_json

WINDOW_BYTES = 262_144
_SPACES = re.compile(r"[ \t\n\r]*")
_MAX_NUMBER_SIGNS = 2  # that end no number, and belong to it with the digit behind them: 1e+0
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


class MemberReader:
    """A place in the bytes of JSON. All methods raise `InvalidDocumentError`."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._start = self._place = 0  # of the window, in bytes; in the window, in characters
        self._size = WINDOW_BYTES
        self._text, self._end = self._decode_window(), 0

    def iterate_members(self) -> Iterator[tuple[str, "Any | Iterator[Any]"]]:
        """Yield the name and the value of each member. For a list, the value is an iterator, which is to be used up."""
        if self._peek_character() != "{":
            self._refuse_place()
        names = set[str]()
        for _ in self._iterate_parts("}"):
            name = self._parse_value() if self._peek_character() == '"' else self._refuse_place()
            if name in names:
                raise InvalidDocumentError(sentence("stands twice in one object"), name[:80])
            names.add(name)
            if self._peek_character() != ":":
                self._refuse_place()
            self._place += 1
            yield name, self._iterate_items() if self._peek_character() == "[" else self._parse_value()
        if self._peek_character():
            self._refuse_place()

    def _iterate_items(self) -> Iterator[Any]:
        for _ in self._iterate_parts("]"):
            yield self._parse_value()

    def _iterate_parts(self, end: str) -> Iterator[None]:
        """Stand before each part of an object or a list, and at last behind its end."""
        self._place += 1
        if self._peek_character() == end:
            self._place += 1
            return
        while True:
            yield
            following = self._peek_character()
            if following not in {",", end}:
                self._refuse_place()
            self._place += 1
            if following == end:
                return

    def _peek_character(self) -> str:
        """Return the next character that is no space; an empty text at the end."""
        while True:
            if spaces := _SPACES.match(self._text, self._place):
                self._place = spaces.end()
            if self._place < len(self._text) or self._is_last():
                return self._text[self._place : self._place + 1]
            self._move_window()

    def _parse_value(self) -> Any:
        self._peek_character()
        while True:
            try:
                value, end = strict_json.scan_value(self._text, self._place)
            except StopIteration as error:
                if self._is_last():
                    self._refuse_place(error.value)
            except json.JSONDecodeError as error:
                if self._is_last():
                    self._refuse_place(error.pos)
            except RecursionError as error:
                raise InvalidDocumentError(strict_json.DEEP_TEXT) from error
            except ValueError as error:
                raise strict_json.describe_number(error) from error
            else:
                if end + _MAX_NUMBER_SIGNS < len(self._text) or self._is_last():  # a number may go on behind the window
                    self._place = end
                    return value
            self._move_window()

    def _move_window(self) -> None:
        """Begin the window here. It grows as long as one value is larger than it."""
        self._size = WINDOW_BYTES if self._place else 2 * self._size
        self._start += len(self._text[: self._place].encode())
        self._place = 0
        self._text = self._decode_window()

    def _decode_window(self) -> str:
        piece = self._raw[self._start : self._start + self._size]
        self._end = self._start + len(piece)
        try:
            return codecs.utf_8_decode(piece, "strict", self._is_last())[0]
        except UnicodeDecodeError as error:
            raise InvalidDocumentError(sentence("The file is not UTF-8 text.")) from error

    def _is_last(self) -> bool:
        return self._end == len(self._raw)

    def _refuse_place(self, place: int | None = None) -> Any:
        text = self._text[: self._place if place is None else place]
        before = self._raw[: self._start + len(text.encode())]
        line = before.rpartition(b"\n")[2]
        lines, column = before.count(b"\n") + 1, len(line.translate(None, _CONTINUATION_BYTES)) + 1
        raise InvalidDocumentError(
            sentence("The file is not JSON (line {lineno}, column {colno}).", lineno=lines, colno=column)
        )
