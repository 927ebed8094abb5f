"""A document as bytes: the values at its top level, and the items of its lists, each as canonical JSON.

A file is kept like this until all of it is checked. As Python's objects, small messages take ten times as much.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import serde
from ..errors import InvalidDocumentError
from . import strict_json
from .long_texts import LongTexts
from .member_reader import MemberReader

_MAX_FIELD_CHARS = 80  # of a name from the file in a sentence
_UNHASHED = frozenset({"exported_at", "sha256"})  # as in waymark.hash_contents


@dataclass(slots=True)
class RawDocument:
    """The parts of a document by their names. Stand-ins are in the place of its long texts."""

    values: dict[str, bytes]
    lists: dict[str, list[bytes]]
    texts: LongTexts
    refusal: InvalidDocumentError | None = None  # of the first part with too many values, which is left out

    def add_part(self, name: str, value: Any) -> None:
        """Add a value; a list as an iterator of its items. Raises `InvalidDocumentError`."""
        _to_canonical_bytes(name, 1)
        field = name[:_MAX_FIELD_CHARS]
        if isinstance(value, Iterator):
            self.lists[name] = [self._encode_part(item, f"{field}[{index}]", 2) for index, item in enumerate(value)]
        else:
            self.values[name] = self._encode_part(value, field, 1)

    def _encode_part(self, value: Any, field: str, levels_above: int) -> bytes:
        try:
            strict_json.check_part(value, field)
        except InvalidDocumentError as error:
            self.refusal = self.refusal or error
            return b"null"
        return _to_canonical_bytes(value, levels_above)

    def parse_value(self, name: str) -> Any:
        return serde.parse_canonical(self.values[name].decode())

    def iterate_items(self, name: str) -> Iterator[Any]:
        for item in self.lists[name]:
            yield serde.parse_canonical(item.decode())

    def count_items(self, name: str) -> int:
        return len(self.lists.get(name, ()))

    def hash_contents(self) -> str:
        """Hash the document as `waymark.hash_contents` does. Raises `InvalidDocumentError` for a long text that is none."""
        return serde.hash_pieces(self._iterate_canonical())

    def _iterate_canonical(self) -> Iterator[str]:
        before = "{"
        for name in sorted({*self.values, *self.lists} - _UNHASHED):
            yield f"{before}{serde.to_canonical(name)}:"
            if name in self.values:
                yield from self.iterate_pieces(self.values[name].decode())
            else:
                yield "["
                for place, item in enumerate(self.lists[name]):
                    yield "," if place else ""
                    yield from self.iterate_pieces(item.decode())
                yield "]"
            before = ","
        yield "{}" if before == "{" else "}"

    def iterate_pieces(self, canonical: str) -> Iterator[str]:
        """Yield canonical JSON with its long texts in the place of their stand-ins."""
        if self.texts.may_be_in(canonical):
            yield from self.texts.iterate_canonical(serde.parse_canonical(canonical))
        else:
            yield canonical


def read_raw_document(texts: LongTexts) -> RawDocument:
    """Parse a file in pieces. Raises `InvalidDocumentError`."""
    strict_json.check_value_count(texts.rest)
    made = RawDocument({}, {}, texts)
    for name, value in MemberReader(texts.rest).iterate_members():
        made.add_part(name, value)
    return made


def make_raw_document(document: dict[str, Any]) -> RawDocument:
    """Convert a document that is parsed already. Raises `InvalidDocumentError`."""
    made = RawDocument({}, {}, LongTexts(b""))
    for name, value in document.items():
        made.add_part(name, iter(value) if isinstance(value, list) else value)
    return made


def _to_canonical_bytes(value: Any, levels_above: int) -> bytes:
    try:
        canonical = serde.to_canonical(value).encode()
    except RecursionError as error:
        raise InvalidDocumentError(strict_json.DEEP_TEXT) from error
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(strict_json.HALF_PAIR_TEXT) from error
    strict_json.check_levels(value, canonical, levels_above)
    return canonical
