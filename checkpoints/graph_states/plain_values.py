"""Stored values as plain JSON, for people to read. No class is imported or constructed, whatever the bytes name."""

import json
from collections.abc import Mapping
from typing import Any, Final

import ormsgpack
from langgraph.checkpoint.serde import jsonplus

from ..values import serde

_CONTAINERS: Final = ("builtins", "collections")  # sets and the like are shown as lists
_CONSTRUCTORS: Final = (
    jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG,
    jsonplus.EXT_CONSTRUCTOR_POS_ARGS,
    jsonplus.EXT_CONSTRUCTOR_KW_ARGS,
    jsonplus.EXT_METHOD_SINGLE_ARG,
    jsonplus.EXT_PYDANTIC_V1,
    jsonplus.EXT_PYDANTIC_V2,
)


def read_plain(kind: str, data: bytes) -> Any:
    """Return the plain JSON of a stored value. An object of a class is `{"Class": fields}`."""
    match kind:
        case "null":
            return None
        case "msgpack":
            return _clean(_unpack(data))
        case "json":
            return _clean(json.loads(data))
    return _describe_bytes(data)


def _unpack(data: bytes) -> Any:
    try:
        return ormsgpack.unpackb(data, ext_hook=_read_extension, option=ormsgpack.OPT_NON_STR_KEYS)
    except ValueError:
        return _describe_bytes(data)


def _read_extension(code: int, data: bytes) -> Any:
    content = _unpack(data)
    if code in _CONSTRUCTORS and isinstance(content, list | tuple) and len(content) > 2:
        module, name, value = str(content[0]), str(content[1]), content[2]
        is_plain = module in _CONTAINERS or not isinstance(value, Mapping | list | tuple)
        return value if is_plain else {name: value}
    return content


def _clean(value: Any) -> Any:
    """Return the value with texts as keys, and with descriptions of bytes. Every text can be written as UTF-8."""
    if isinstance(value, Mapping):
        return {serde.sanitize_text(str(each)): _clean(below) for each, below in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return _describe_bytes(bytes(value))
    return value if value is None or isinstance(value, int | float) else serde.sanitize_text(str(value))


def _describe_bytes(data: bytes) -> str:
    return f"({len(data):,} bytes)"
