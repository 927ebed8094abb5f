"""A strict parser of JSON from outside: duplicate keys, NaN, deep nesting, many values and lone surrogates are refused."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..values import serde
from ..values.errors import InvalidDocumentError
from ..values.limits import (
    MAX_DOCUMENT_OBJECTS,
    MAX_DOCUMENT_VALUES,
    MAX_FILE_LEVELS,
    MAX_PART_VALUES,
    has_more_values,
    is_deeper,
)
from ..values.sentence import sentence

_PIECE_BYTES = 64_000
_LEVELS_OF_ITEM = 2  # of the document and of the list, above an item
_SEPARATORS = (b"[", b"{", b",")
_SPACES = b" \t\n\r"
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
_NO_SEPARATORS = bytes(set(range(256)) - set(b"[{,}"))
DEEP_TEXT = sentence("The file is nested deeper than {limit} levels.", limit=MAX_FILE_LEVELS)
HALF_PAIR_TEXT = sentence("The file holds half of a surrogate pair, which is not text.")
_TEXT = re.compile(rb'"[^"]*"')


def parse_strictly(raw: bytes) -> Any:
    """Parse JSON. Raises `InvalidDocumentError`."""
    check_value_count(raw)
    try:
        value = json.loads(raw.decode(), **_HOOKS)
    except RecursionError as error:
        raise InvalidDocumentError(DEEP_TEXT) from error
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(sentence("The file is not UTF-8 text.")) from error
    except json.JSONDecodeError as error:
        raise describe_place(raw, len(error.doc[: error.pos].encode())) from error
    except ValueError as error:
        raise describe_number(error) from error
    check_levels(value)
    if b"\\ud" in raw or b"\\uD" in raw:  # only an escape can make half of a pair: most files need no walk
        _check_texts(value)
    return value


def check_value_count(raw: bytes) -> None:
    """Raise `InvalidDocumentError` for JSON of too many values, too many objects and lists, or too many values in a row.

    Objects cost many times as much as texts: Python's collector of garbage looks at each several times, and keeps its lock.
    Between two ends of objects, Python's parser keeps its lock. A row has fewer than two separators for each value.
    """
    if _count_separators(raw) <= min(2 * MAX_PART_VALUES, MAX_DOCUMENT_OBJECTS, MAX_DOCUMENT_VALUES):  # also within texts
        return
    count = objects = row = longest_row = 0
    for separators in _iterate_separators(raw):
        objects += separators.count(b"[") + separators.count(b"{")
        first, *others = map(len, separators.split(b"}"))
        longest_row = max(longest_row, row + first, *others)
        row = others[-1] if others else row + first
        count += first + sum(others)
        if count > MAX_DOCUMENT_VALUES:
            raise InvalidDocumentError(
                sentence("The file holds more than {limit:,} values, which is too many.", limit=MAX_DOCUMENT_VALUES)
            )
        if objects > MAX_DOCUMENT_OBJECTS:
            raise InvalidDocumentError(
                sentence(
                    "The file holds more than {limit:,} objects and lists, which is too many.", limit=MAX_DOCUMENT_OBJECTS
                )
            )
    if longest_row > 2 * MAX_PART_VALUES:
        raise _make_part_refusal()


def may_have_many_values(raw: bytes) -> bool:
    """Return whether JSON whose rows are known may have too many values or objects, from separators in it and its texts."""
    objects = raw.count(b"[") + raw.count(b"{")
    return objects > MAX_DOCUMENT_OBJECTS or objects + raw.count(b",") > MAX_DOCUMENT_VALUES


def check_part(value: Any, field: str) -> None:
    """Raise `InvalidDocumentError` for a part of too many values, before anything converts it in one call."""
    if has_more_values(value, MAX_PART_VALUES):
        raise InvalidDocumentError(_describe_excess(), field)


def check_parts(parts: Sequence[Any], written: Sequence[str], name: str) -> None:
    """Check the items of a list as `check_part` does. One of few characters has few values."""
    for index, (part, text) in enumerate(zip(parts, written, strict=True)):
        if len(text) > MAX_PART_VALUES:
            check_part(part, f"{name}[{index}]")


def _make_part_refusal() -> InvalidDocumentError:
    return InvalidDocumentError(sentence("One part of the file {value}.", value=_describe_excess()))


def _describe_excess() -> str:
    return sentence("holds more than {limit:,} values, which is too many", limit=MAX_PART_VALUES)


def check_text(text: str) -> None:
    """Raise `InvalidDocumentError` for half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(HALF_PAIR_TEXT) from error


def to_canonical_bytes(value: Any, levels_above: int = 0) -> bytes:
    """Write a value below so many levels as canonical JSON. Raises `InvalidDocumentError`."""
    try:
        canonical = serde.to_canonical(value).encode()
    except RecursionError as error:
        raise InvalidDocumentError(DEEP_TEXT) from error
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(HALF_PAIR_TEXT) from error
    check_levels(value, canonical, levels_above)
    return canonical


def check_levels(value: Any, written: bytes = b"", levels_above: int = 0) -> None:
    """Raise `InvalidDocumentError` for JSON that nests too deeply. `written` is the same value, if it is at hand."""
    levels = MAX_FILE_LEVELS - levels_above
    may_be_deep = not written or written.count(b"[") + written.count(b"{") > levels  # also within texts
    if may_be_deep and is_deeper(value, levels):
        raise InvalidDocumentError(DEEP_TEXT)


def may_be_deep(written: str) -> bool:
    """Return whether an item of a document's list may nest too deeply, from the brackets in it and in its texts."""
    return written.count("[") + written.count("{") > MAX_FILE_LEVELS - _LEVELS_OF_ITEM


def describe_place(raw: bytes, position: int) -> InvalidDocumentError:
    """Return the refusal of JSON that is broken at a byte. Before an end, it names the comma too many, on every Python."""
    before = raw[:position]
    if raw[position : position + 1] in (b"]", b"}") and (shorter := before.rstrip(_SPACES)).endswith(b","):
        before = shorter[:-1]
    line = before.rpartition(b"\n")[2]
    lines, column = before.count(b"\n") + 1, len(line.translate(None, _CONTINUATION_BYTES)) + 1
    return InvalidDocumentError(
        sentence("The file is not JSON (line {lineno}, column {colno}).", lineno=lines, colno=column)
    )


def describe_number(error: ValueError) -> InvalidDocumentError:
    """Return the error of Python's limit on digits in the words of a refusal; a refusal as it is."""
    if isinstance(error, InvalidDocumentError):
        return error
    return InvalidDocumentError(sentence("The file holds a number that is too long."))


def _iterate_separators(raw: bytes) -> Iterator[bytes]:
    """Yield the brackets and commas outside of texts, and the ends of objects. In pieces, because a call for millions of
    values keeps Python's lock for a second.
    """
    start, is_in_text = 0, False
    while start < len(raw):
        piece = raw[start : start + _PIECE_BYTES]
        if start + len(piece) < len(raw) and (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = piece[:-1]  # the next piece begins with the whole escape
        start += len(piece)
        outside, is_in_text = _cut_texts(piece, is_in_text=is_in_text)
        yield outside.translate(None, _NO_SEPARATORS)


def _count_separators(raw: bytes) -> int:
    return sum(map(raw.count, _SEPARATORS))


def _cut_texts(piece: bytes, *, is_in_text: bool) -> tuple[bytes, bool]:
    """Return a piece of JSON without its texts, and whether it ends within one."""
    piece = piece.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    if is_in_text:
        _, end, piece = piece.partition(b'"')
        is_in_text = not end
    outside, opened, _ = _TEXT.sub(b"", piece).partition(b'"')
    return outside, is_in_text or bool(opened)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InvalidDocumentError(sentence("appears twice in one object"), twice[:80])
    return found


def _refuse_constant(name: str) -> Any:
    raise InvalidDocumentError(sentence("The file holds {name}, which is not a JSON number.", name=name))


def _parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidDocumentError(sentence("The file holds a number that is too large."))
    return number


def _check_texts(value: Any) -> None:
    """Refuse half surrogate pairs, without recursion."""
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.keys())
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, str):
                check_text(item)
        level = below


_HOOKS: dict[str, Any] = {
    "object_pairs_hook": _refuse_duplicates,
    "parse_constant": _refuse_constant,
    "parse_float": _parse_finite,
}


class PartScanner:
    """A strict parser of one part of a file. It stops within a part of too many values, before all of it is in memory."""

    def __init__(self) -> None:
        self._members = 0
        hooks = {**_HOOKS, "object_pairs_hook": self._make_object}
        self._scan_once: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(**hooks).scan_once  # type: ignore[attr-defined]

    def scan(self, text: str, place: int) -> tuple[Any, int]:
        """Parse the value at this place. Return it and the place behind it."""
        self._members = 0
        return self._scan_once(text, place)

    def _make_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self._members += len(pairs)
        if self._members > MAX_PART_VALUES:
            raise _make_part_refusal()
        return _refuse_duplicates(pairs)
