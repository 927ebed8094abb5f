"""The long texts of a file, which stay bytes until it is known that their places may have them.

One emoji makes a text of Python four times as large. So a title of 9 MB would take 70 MB before its field refuses it, and a
message of 9 MB before its hash does.
"""

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from ..values import serde
from ..values.errors import InvalidDocumentError
from ..values.sentence import sentence
from . import strict_json

MIN_LONG_BYTES = 100_000
STAND_IN_CHARS = 20_100  # more than any field may have but those whose texts are put back
_WINDOW_BYTES = MIN_LONG_BYTES // 2
_MAX_BEGINNING_BYTES = 100
_PIECE_BYTES = 65_536
_CONTINUATION_BYTES = range(0x80, 0xC0)
_WHOLE_LETTERS = re.compile(  # neither an escape nor a pair of surrogates is cut; `*+` would cut some before Python 3.11.5
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*"
)


class LongTexts:
    """The long texts of JSON. In `rest`, a shorter text stands in for each, with the same beginning.

    All methods raise `InvalidDocumentError` for a long text that is no text.
    """

    def __init__(self, raw: bytes) -> None:
        self._texts: dict[str, bytes] = {}
        self._mark = secrets.token_hex(8)
        pieces, end = list[bytes](), 0
        for start, stop in _find_long_texts(raw):
            pieces += [raw[end:start], self._add_text(raw[start:stop]).encode()]
            end = stop
        self.rest = b"".join([*pieces, raw[end:]]) if pieces else raw

    def _add_text(self, text: bytes) -> str:
        beginning = text[:_MAX_BEGINNING_BYTES].partition(b"\\")[0].decode(errors="ignore")
        stand_in = f"{beginning} {self._mark}-{len(self._texts)}".ljust(STAND_IN_CHARS, "x")
        self._texts[stand_in] = text
        return stand_in

    def join(self, texts: Sequence[str]) -> str:
        """Join texts by an empty line. The stand-in for a long one becomes that for all of them."""
        if self._texts.keys().isdisjoint(texts):
            return "\n\n".join(texts)
        return self._add_text(rb"\n\n".join(self._texts.get(each) or json.dumps(each)[1:-1].encode() for each in texts))

    def cut(self, text: str, chars: int) -> str:
        """Return the first characters of a text, of which a long one has more."""
        return next(_decode_pieces(self._texts[text]))[:chars] if text in self._texts else text[:chars]

    def may_be_in(self, canonical: str) -> bool:
        """Return whether stand-ins are in canonical JSON."""
        return bool(self._texts) and self._mark in canonical

    def count_longer_bytes(self, canonical: str) -> int:
        """Return how many bytes longer canonical JSON is with its long texts."""
        if not self.may_be_in(canonical):
            return 0
        return sum(len(text) - len(stand_in.encode()) for stand_in, text in self._texts.items() if stand_in in canonical)

    def put_back(self, value: Any) -> Any:
        """Return a value with its long texts; objects and lists are changed."""
        if isinstance(value, str):
            return self._find_text(value)
        holders: list[Any] = [value] if self._texts and isinstance(value, (dict, list)) else []
        for holder in holders:  # it grows on the way
            for key, each in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
                if isinstance(each, (dict, list)):
                    holders.append(each)
                elif each in self._texts:
                    holder[key] = self._find_text(each)
                if key in self._texts:
                    holder[self._find_text(key)] = holder.pop(key)
        return value

    def iterate_canonical(self, value: Any) -> Iterator[str]:
        """Yield the canonical JSON of a value with its long texts, in pieces: no long text is decoded as a whole."""
        if isinstance(value, dict):
            before = "{"
            for key, each in sorted(value.items(), key=self._find_utf8):
                yield before
                yield from self.iterate_canonical(key)
                yield ":"
                yield from self.iterate_canonical(each)
                before = ","
            yield "{}" if before == "{" else "}"
        elif isinstance(value, list):
            yield "["
            for place, each in enumerate(value):
                yield "," if place else ""
                yield from self.iterate_canonical(each)
            yield "]"
        elif value in self._texts:
            yield '"'
            yield from (serde.to_canonical(piece)[1:-1] for piece in _decode_pieces(self._texts[value]))
            yield '"'
        else:
            yield serde.to_canonical(value)

    def _find_text(self, text: str) -> str:
        return self._transcode_text(text).decode() if text in self._texts else text

    def _find_utf8(self, member: tuple[str, Any]) -> bytes | bytearray:
        """Return the name of a member in UTF-8, which has the same order as texts."""
        return self._transcode_text(member[0]) if member[0] in self._texts else member[0].encode()

    def _transcode_text(self, stand_in: str) -> bytearray:
        raw = bytearray()
        for piece in _decode_pieces(self._texts[stand_in]):
            raw += piece.encode()
        return raw


def _find_long_texts(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each long text."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"__").replace(b'\\"', b"__")  # now each quote begins or ends a text
    position = texts = quotes = 0
    while position < len(raw):
        if raw.find(b'"', position, position + _WINDOW_BYTES) >= 0:
            position += _WINDOW_BYTES
            continue
        start, stop = raw.rfind(b'"', 0, position) + 1, raw.find(b'"', position)
        quotes, texts = quotes + raw.count(b'"', texts, start), start
        if stop < 0:
            return
        if quotes % 2 and stop - start >= MIN_LONG_BYTES:
            yield start, stop
        position = stop


def _decode_pieces(raw: bytes) -> Iterator[str]:
    """Yield the text between two quotes of JSON. Raises `InvalidDocumentError`."""
    start = 0
    while start < len(raw):
        stop = min(start + _PIECE_BYTES, len(raw))
        while stop < len(raw) and raw[stop] in _CONTINUATION_BYTES and stop > start + 1:
            stop -= 1
        letters = _WHOLE_LETTERS.match(raw, start, stop)
        stop = letters.end() if letters and letters.end() > start else stop
        yield _decode(raw[start:stop])
        start = stop


def _decode(raw: bytes) -> str:
    try:
        text: str = json.loads(b'"%b"' % raw)
        text.encode()
        return text
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(strict_json.HALF_PAIR_TEXT) from error
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(sentence("The file is not UTF-8 text.")) from error
    except json.JSONDecodeError as error:
        raise InvalidDocumentError(sentence("The file is not JSON.")) from error
