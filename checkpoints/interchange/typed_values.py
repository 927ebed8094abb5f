"""Values of a waiting step as texts of JSON: plain JSON with LangChain's messages and LangGraph's questions in it.

No text names a class: a message is one of the kinds that a conversation has, and is built as those of a conversation are.
"""

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage

from ..rows.write_rows import Write
from ..values import serde
from ..values.errors import InvalidDocumentError
from ..values.limits import MAX_PART_VALUES, count_values
from ..values.model import Json
from ..values.sentence import sentence
from ..values.standing_answers import Written
from . import strict_json
from .state_values import StoredValue, parse_text, write_text

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

_SCALARS = (str, int, float, bool, type(None))
# The only key of an object that stands for a value.
_MESSAGE, _QUESTION, _SEND = "@message", "@question", "@send"


def write_stored(kind: str, data: bytes) -> Json | None:
    """Return the part of a document that has a value, as a plain or as a typed text; None for any other value."""
    if (text := write_text(kind, data)) is not None:
        return {"json": text}
    text = write_typed_text(kind, data)
    return None if text is None else {"json": text, "typed": True}


def parse_stored(text: str, field: str, *, is_typed: bool) -> tuple[StoredValue, int]:
    """Return a value as it is stored, and the number of values in it. Raises `InvalidDocumentError`."""
    return (parse_typed_text if is_typed else parse_text)(text, field)


def write_typed_text(kind: str, data: bytes) -> str | None:
    """Return the text from which `parse_typed_text` makes an equal value; None where it cannot.

    Only the order of keys in a message is lost, as it is in a conversation.
    """
    try:
        value = _load_serializer().loads_typed((kind, data))
        text = json.dumps(_encode(value), ensure_ascii=False, allow_nan=False)
        return text if _decode(strict_json.parse_strictly(text.encode())) == value and parse_typed_text(text, "") else None
    except (InvalidDocumentError, ValueError, TypeError, RecursionError):
        return None


def parse_typed_text(text: str, field: str) -> tuple[StoredValue, int]:
    """Return a value as it is stored, and the number of values in it. Raises `InvalidDocumentError`."""
    value = strict_json.parse_strictly(text.encode())
    strict_json.check_part(value, field)
    try:
        return _load_serializer().dumps_typed(_decode(value)), count_values(value, MAX_PART_VALUES)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidDocumentError(sentence("is not a value that can be kept"), field) from error


@cache
def _load_serializer() -> "JsonPlusSerializer":
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer  # noqa: PLC0415  (the library works without it)

    return JsonPlusSerializer(allowed_msgpack_modules=None)


def load_typed(write: Write) -> Written:
    """Return the task, the channel and the value of a write."""
    return write.task_id, write.channel, _load_serializer().loads_typed((write.type, write.data))


def dump_typed(task_path: str, task_id: str, position: int, channel: str, value: Any) -> Write:
    """Return a write of a task, with the place that LangGraph gives to its channel."""
    from langgraph.checkpoint.base import WRITES_IDX_MAP  # noqa: PLC0415  (the library works without it)

    place = WRITES_IDX_MAP.get(channel, position)
    return Write(task_path, task_id, place, channel, *_load_serializer().dumps_typed(value))


def dump_note(writes: Sequence[Write]) -> StoredValue:
    """Return the note that a step rests with these writes, as the run of a user graph leaves one."""
    listed = [[*load_typed(each)] for each in writes]
    return _load_serializer().dumps_typed({"run_id": "", "number": 0, "is_answer": False, "base": None, "writes": listed})


def _encode(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return {_MESSAGE: serde.to_body(value)}
    if type(value) is list:
        return [_encode(each) for each in value]
    if type(value) is dict:
        if any(type(name) is not str or name.startswith("@") for name in value):
            raise ValueError("a name that the text could not carry")
        return {name: _encode(each) for name, each in value.items()}
    if type(value).__name__ == "Interrupt":
        asked = {"id": value.id, "value": _encode(value.value)}
        schema = getattr(value, "response_schema", None)
        return {_QUESTION: asked if schema is None else {**asked, "response_schema": _encode(schema)}}
    if type(value).__name__ == "Send" and value.timeout is None:
        return {_SEND: {"node": _encode(value.node), "arg": _encode(value.arg)}}
    if type(value) not in _SCALARS:
        raise TypeError("a type of its own")
    return value


def _decode(value: Any) -> Any:
    if type(value) is list:
        return [_decode(each) for each in value]
    if type(value) is not dict:
        return value
    name = next(iter(value), "")
    if not name.startswith("@") or len(value) != 1:
        return {each: _decode(below) for each, below in value.items()}
    content = value[name]
    if name == _MESSAGE:
        if set(content) != {"type", "data"} or serde.normalize_body(content) != content:
            raise ValueError("no message as a conversation has it")
        return serde.to_message(content)
    if name == _QUESTION and type(content) is dict and type(content["id"]) is str:
        return _make_question(content)
    if name == _SEND and type(content) is dict and set(content) == {"node", "arg"} and type(content["node"]) is str:
        return _make_send(content)
    raise ValueError("an unknown kind of value")


def _make_send(content: dict[str, Any]) -> Any:
    from langgraph.types import Send  # noqa: PLC0415  (langgraph itself, which few programs need here)

    return Send(content["node"], _decode(content["arg"]))


def read_tasks(text: str) -> list[str] | None:
    """Return the nodes of the tasks in a typed text, which is one or a list of them; None for any other text."""
    try:
        value = strict_json.parse_strictly(text.encode())
        tasks = value if type(value) is list else [value]
        return [each[_SEND]["node"] for each in tasks]
    except (InvalidDocumentError, TypeError, KeyError):
        return None


def _make_question(content: dict[str, Any]) -> Any:
    from langgraph.types import Interrupt  # noqa: PLC0415  (langgraph itself, which few programs need here)

    fields = {name: _decode(each) for name, each in content.items() if name in ("value", "response_schema")}
    return Interrupt(id=content["id"], **fields)
