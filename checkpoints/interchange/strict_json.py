"""A strict parser of JSON from outside: duplicate keys, NaN, deep nesting, many values and lone surrogates are refused."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..values.errors import InvalidDocumentError
from ..values.limits import (
    MAX_DOCUMENT_VALUES,
    MAX_FILE_LEVELS,
    MAX_PART_VALUES,
    has_more_separators,
    has_more_values,
    is_deeper,
)
from ..values.sentence import sentence

# Those of the document and of the list, above an item.
_LEVELS_OF_ITEM = 2
_SPACES = " \t\n\r"
_DEEP_TEXT = sentence("The file is nested deeper than {limit} levels.", limit=MAX_FILE_LEVELS)
# Escapes of whole surrogate pairs, and with a group those of halves.
_SURROGATES = re.compile(rb"\\u[dD](?:[89abAB]..\\u[dD][c-fC-F]..|([89a-fA-F]))")


def parse_strictly(raw: bytes) -> Any:
    """Parse JSON. Raises `InvalidDocumentError`."""
    check_value_count(raw)
    try:
        value = _DECODER.decode(raw.decode())
    except InvalidDocumentError:
        raise
    except RecursionError as error:
        raise InvalidDocumentError(_DEEP_TEXT) from error
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(sentence("The file is not UTF-8 text.")) from error
    except json.JSONDecodeError as error:
        raise _describe_place(error) from error
    except ValueError as error:
        # Python limits the digits of a whole number.
        raise InvalidDocumentError(sentence("The file holds a number that is too long.")) from error
    check_levels(value)
    if any(found[1] for found in _SURROGATES.finditer(raw.replace(rb"\\", b"__"))):
        raise InvalidDocumentError(sentence("The file holds half of a surrogate pair, which is not text."))
    return value


def check_value_count(raw: bytes) -> None:
    """Raise `InvalidDocumentError` for JSON of too many values: brackets and commas outside of texts."""
    if has_more_separators(raw, MAX_DOCUMENT_VALUES):
        raise InvalidDocumentError(
            sentence("The file holds more than {limit:,} values, which is too many.", limit=MAX_DOCUMENT_VALUES)
        )


def check_part(value: Any, field: str) -> None:
    """Raise `InvalidDocumentError` for a part of too many values, before anything converts it in one call."""
    if has_more_values(value, MAX_PART_VALUES):
        raise InvalidDocumentError(
            sentence("holds more than {limit:,} values, which is too many", limit=MAX_PART_VALUES), field
        )


def check_parts(parts: Sequence[Any], written: Sequence[str], name: str) -> None:
    """Check the items of a list as `check_part` does. One of few characters has few values."""
    for index, (part, text) in enumerate(zip(parts, written, strict=True)):
        if len(text) > MAX_PART_VALUES:
            check_part(part, f"{name}[{index}]")


def check_levels(value: Any) -> None:
    """Raise `InvalidDocumentError` for JSON that nests too deeply."""
    if is_deeper(value, MAX_FILE_LEVELS):
        raise InvalidDocumentError(_DEEP_TEXT)


def may_be_deep(written: str) -> bool:
    """Return whether an item of a document's list may nest too deeply, from the brackets in it and in its texts."""
    return written.count("[") + written.count("{") > MAX_FILE_LEVELS - _LEVELS_OF_ITEM


def _describe_place(error: json.JSONDecodeError) -> InvalidDocumentError:
    """Return the refusal of broken JSON. Before an end, it names the comma too many, on every Python."""
    before = error.doc[: error.pos].rstrip(_SPACES)
    if error.doc[error.pos : error.pos + 1] in ("]", "}") and before.endswith(","):
        error = json.JSONDecodeError("", error.doc, len(before) - 1)
    return InvalidDocumentError(
        sentence("The file is not JSON (line {lineno}, column {colno}).", lineno=error.lineno, colno=error.colno)
    )


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


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant, parse_float=_parse_finite)
