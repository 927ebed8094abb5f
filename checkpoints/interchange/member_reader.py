"""A strict reader of JSON in pieces: the members of objects, and the items of lists, one after the other.

Only a window of the file is decoded: with one emoji in it, a text of Python is four times as large as its bytes. And one
call for all of a file would keep all other threads waiting.
"""

import codecs
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..values.errors import InvalidDocumentError
from ..values.sentence import sentence
from . import strict_json

WINDOW_BYTES = 262_144
_SPACES = re.compile(r"[ \t\n\r]*")
_MAX_NUMBER_SIGNS = 2  # that end no number, and belong to it with the digit behind them: 1e+0


@dataclass(frozen=True, slots=True)
class Whole:
    """The shape of a value that is parsed as one part."""


@dataclass(frozen=True, slots=True)
class AsBytes:
    """The shape of a value that is kept as canonical JSON, with the members that its own shape has."""

    shape: "Shape"


# What is read in pieces: an object by its members, a list by its items. A member without a shape is skipped, unless there
# is one for any name. A value of another type than its shape is skipped, and None.
Shape: TypeAlias = "Whole | AsBytes | Mapping[str, Shape] | tuple[Shape]"
WHOLE = Whole()
BYTES = AsBytes(WHOLE)
ANY_NAME = ""


class MemberReader:
    """A place in the bytes of JSON. All methods raise `InvalidDocumentError`."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._start = self._place = 0  # of the window, in bytes; in the window, in characters
        self._size = WINDOW_BYTES
        self._text, self._end = self._decode_window(), 0
        self._scanner = strict_json.PartScanner()

    def iterate_names(self) -> Iterator[str]:
        """Yield the names in the object that is here. The value of each is to be read before the next one."""
        names = set[str]()
        for _ in self._iterate_parts("}"):
            name = self._parse_value() if self.is_at('"') else self._refuse_place()
            if name in names:
                raise InvalidDocumentError(sentence("appears twice in one object"), name[:80])
            strict_json.check_text(name)
            names.add(name)
            if not self.is_at(":"):
                self._refuse_place()
            self._place += 1
            yield name

    def iterate_items(self, shape: Shape = WHOLE) -> Iterator[Any]:
        """Read the items of the list that is here."""
        for _ in self._iterate_parts("]"):
            yield self.read_value(shape)

    def is_at(self, character: str) -> bool:
        """Return whether the next value begins with this character; with an empty text, whether the file ends here."""
        return self._peek_character() == character

    def require_end(self) -> None:
        if not self.is_at(""):
            self._refuse_place()

    def read_value(self, shape: Shape = WHOLE) -> Any:
        """Read a value, in the pieces of its shape."""
        if isinstance(shape, Whole):
            return self._parse_value()
        if isinstance(shape, AsBytes):
            return strict_json.to_canonical_bytes(self.read_value(shape.shape))
        if isinstance(shape, Mapping) and self.is_at("{"):
            return self._read_members(shape)
        if isinstance(shape, tuple) and self.is_at("["):
            return list(self.iterate_items(*shape))
        return self.skip_value()

    def skip_value(self) -> None:
        """Go behind a value, of which no more than one item or member is in memory at once."""
        if self.is_at("["):
            deque(self.iterate_items(), 0)
        elif self.is_at("{"):
            for _ in self.iterate_names():
                self._parse_value()
        else:
            self._parse_value()

    def _read_members(self, shape: Mapping[str, Shape]) -> dict[str, Any]:
        members = dict[str, Any]()
        for name in self.iterate_names():
            member = shape.get(name, shape.get(ANY_NAME))
            if member is None:
                self.skip_value()
            else:
                members[name] = self.read_value(member)
        return members

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
                value, end = self._scanner.scan(self._text, self._place)
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
        raise strict_json.describe_place(self._raw, self._start + len(text.encode()))
