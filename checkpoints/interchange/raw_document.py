"""A document as bytes: the values at its top level, and the items of its lists, each as canonical JSON.

A file is kept like this until all of it is checked. As Python's objects, small messages take ten times as much.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..values import serde
from ..values.errors import InvalidDocumentError
from . import strict_json
from .long_texts import LongTexts
from .waymark import UNHASHED

_MAX_FIELD_CHARS = 80  # of a name from the file in a sentence


@dataclass(slots=True)
class RawDocument:
    """The parts of a document by their names. Stand-ins are in the place of its long texts."""

    values: dict[str, bytes]
    lists: dict[str, list[bytes]]
    texts: LongTexts
    refusal: InvalidDocumentError | None = None  # of the first part with too many values, which is left out

    def add_value(self, name: str, value: Any) -> None:
        """Add a value at the top level. Raises `InvalidDocumentError`."""
        self.values[name] = self._encode_part(value, name[:_MAX_FIELD_CHARS], 1)

    def add_items(self, name: str, items: Iterable[Any]) -> None:
        """Add a list at the top level. Raises `InvalidDocumentError`."""
        self.lists[name] = []
        for item in items:
            self.add_item(name, item)

    def add_item(self, name: str, item: Any) -> None:
        """Add an item to a list that is there. Raises `InvalidDocumentError`."""
        parts = self.lists[name]
        parts.append(self._encode_part(item, f"{name[:_MAX_FIELD_CHARS]}[{len(parts)}]", 2))

    def _encode_part(self, value: Any, field: str, levels_above: int) -> bytes:
        try:
            strict_json.check_part(value, field)
        except InvalidDocumentError as error:
            self.refusal = self.refusal or error
            return b"null"
        return strict_json.to_canonical_bytes(value, levels_above)

    def parse_value(self, name: str) -> Any:
        return serde.parse_canonical(self.values[name].decode())

    def iterate_items(self, name: str) -> Iterator[Any]:
        for item in self.lists[name]:
            yield serde.parse_canonical(item.decode())

    def count_items(self, name: str) -> int:
        return len(self.lists.get(name, ()))

    def hash_contents(self) -> str:
        """Hash the document as `write_document` does. Raises `InvalidDocumentError` for a long text that is none."""
        return serde.hash_pieces(self._iterate_canonical())

    def _iterate_canonical(self) -> Iterator[str]:
        before = "{"
        for name in sorted({*self.values, *self.lists} - UNHASHED):
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
