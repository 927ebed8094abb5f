"""The form of a graph's inputs, from its JSON schema."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, get_type_hints

from langgraph.graph import StateGraph
from pydantic import TypeAdapter

from agent.preparation.graph_inputs import InputForm
from agent.preparation.schema_fields import MAX_FIELDS, read_field
from extensions.graphs.message_channel import MessagesChannel


def read_form(entry: Any, messages: MessagesChannel | None) -> InputForm | None:
    """Read the inputs of a graph; None where there are none beside its messages, or too many."""
    builder = entry if isinstance(entry, StateGraph) else getattr(entry, "builder", None)
    if not isinstance(builder, StateGraph):
        return None
    schema = read_json_schema(builder.input_schema)
    properties, required = schema.get("properties") or {}, list_required(builder)
    own_name = messages.name if messages and messages.is_input else None
    fields = [
        read_field(name, field, schema.get("$defs") or field.get("$defs") or {}, is_needed=name in required)
        for name, field in properties.items()
        if name != own_name
    ]
    if not fields or len(fields) > MAX_FIELDS:
        return None
    is_own = builder.input_schema is not builder.state_schema and any(each.required for each in fields)
    return InputForm(fields, has_messages=own_name is not None, is_own=is_own)


def list_required(builder: StateGraph[Any, Any, Any, Any]) -> Collection[str]:
    """Return the inputs that a graph requires. Of a TypedDict that is its whole state, LangGraph takes any part."""
    kind = builder.input_schema
    if kind is builder.state_schema and hasattr(kind, "__total__"):
        return ()
    return read_json_schema(kind).get("required") or ()


def read_json_schema(kind: type[Any]) -> Mapping[str, Any]:
    """Return the JSON schema of the author's type, or that of each of its fields: one may have none."""
    with suppress(Exception):  # the author's types; of Python before 3.12, every `typing.TypedDict`
        return TypeAdapter(kind).json_schema()
    try:
        hints = get_type_hints(kind)
    except Exception:  # noqa: BLE001  (as above)
        return {}
    return {
        "properties": {name: _read_field_schema(hint) for name, hint in hints.items()},
        "required": getattr(kind, "__required_keys__", ()),
    }


def _read_field_schema(hint: Any) -> Mapping[str, Any]:
    try:
        return TypeAdapter(hint).json_schema()
    except Exception:  # noqa: BLE001  (as above)
        return {}
