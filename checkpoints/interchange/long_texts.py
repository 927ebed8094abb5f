"""The long texts of a file, which stay bytes until it is known that their places may have them.

One emoji makes a text of Python four times as large. So a title of 9 MB would take 70 MB before its field refuses it.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import InvalidDocumentError
from ..sentence import sentence

MIN_LONG_BYTES = 100_000
STAND_IN_CHARS = 20_100  # more than any field may have but those whose texts are put back
_WINDOW_BYTES = MIN_LONG_BYTES // 2
_MAX_BEGINNING_BYTES = 100
_NO_CONTROLS = bytes(range(32, 256))
PutBack = Callable[[Any], Any]  # see LongTexts.put_back


class LongTexts:
    """The long texts of JSON. In `rest`, a shorter text stands in for each, with the same beginning."""

    def __init__(self, raw: bytes) -> None:
        self._texts: dict[str, bytes] = {}
        pieces, end, mark = list[bytes](), 0, secrets.token_hex(8)
        for start, stop in _find_long_texts(raw):
            text = raw[start:stop]
            beginning = text[:_MAX_BEGINNING_BYTES].partition(b"\\")[0].decode(errors="ignore")
            stand_in = f"{beginning} {mark}-{len(self._texts)}".ljust(STAND_IN_CHARS, "x")
            self._texts[stand_in] = text
            pieces += [raw[end:start], stand_in.encode()]
            end = stop
        self.rest = b"".join([*pieces, raw[end:]]) if pieces else raw

    def put_back(self, value: Any) -> Any:
        """Return a value with its long texts; objects and lists are changed. Raises `InvalidDocumentError`."""
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

    def _find_text(self, text: str) -> str:
        return _decode(self._texts[text]) if text in self._texts else text


def _find_long_texts(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each long text. Of a file in ASCII there is none: its texts stay as small."""
    if raw.isascii():
        return
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


def _decode(raw: bytes) -> str:
    """Return the text between two quotes of JSON."""
    try:
        if b"\\" in raw or raw.translate(None, _NO_CONTROLS):
            text: str = json.loads(b'"%b"' % raw)
            text.encode()
            return text
        return raw.decode()
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(sentence("The file holds half of a surrogate pair, which is not text.")) from error
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(sentence("The file is not UTF-8 text.")) from error
    except json.JSONDecodeError as error:
        raise InvalidDocumentError(sentence("The file is not JSON.")) from error
