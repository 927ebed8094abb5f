"""Values of a graph's channels as texts of JSON, and back as bytes. Only plain JSON goes either way: no class is built.

LangGraph's serializer writes and reads a form that can name any class. These bytes name none, whatever the text says.
"""

import json
from importlib.util import find_spec
from typing import Any

from ..values.errors import InvalidDocumentError
from ..values.limits import MAX_PART_VALUES, count_values
from ..values.sentence import sentence
from . import strict_json

StoredValue = tuple[str, bytes]  # its type, and its bytes
_NULL: StoredValue = ("null", b"")
_PLAIN_TYPE = "msgpack"
can_convert = find_spec("ormsgpack") is not None  # it comes with LangGraph's checkpoints


def write_text(kind: str, data: bytes) -> str | None:
    """Return the text from which `parse_text` makes the same bytes again; None for a value that is not plain JSON."""
    import ormsgpack  # noqa: PLC0415  (the library works without it)

    if kind not in (_PLAIN_TYPE, _NULL[0]):
        return None
    try:
        value = ormsgpack.unpackb(data, ext_hook=_refuse_type) if kind == _PLAIN_TYPE else None
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text if parse_text(text, "")[0] == (kind, data) else None
    except (InvalidDocumentError, ValueError, TypeError, RecursionError):
        return None


def _refuse_type(code: int, _: bytes) -> Any:
    raise ValueError(f"a type of its own: {code}")


def parse_text(text: str, field: str) -> tuple[StoredValue, int]:
    """Return a value as it is stored, and the number of values in it. Raises `InvalidDocumentError`."""
    import ormsgpack  # noqa: PLC0415

    value = strict_json.parse_strictly(text.encode())
    strict_json.check_part(value, field)
    count = count_values(value, MAX_PART_VALUES)
    if value is None:
        return _NULL, count
    try:
        return (_PLAIN_TYPE, ormsgpack.packb(value)), count
    except (TypeError, ValueError) as error:
        raise InvalidDocumentError(sentence("is not a value that can be kept"), field) from error
