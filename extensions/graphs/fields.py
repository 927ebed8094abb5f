"""Graphs without messages: the user's text becomes their input, and their outputs become an answer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph.state import CompiledStateGraph

from checkpoints import StateError
from checkpoints.values import serde
from checkpoints.values.sentence import sentence
from extensions.graphs.input_form import list_required
from extensions.graphs.interrupts import dump_object
from extensions.graphs.opening import AnyGraph

_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", list: "list", dict: "object"}


class InputRefusedError(StateError, ValueError):
    """A text is no input of a graph; the error says which fields it has."""


def read_input(graph: AnyGraph, messages: Sequence[BaseMessage], given_inputs: Mapping[str, Any]) -> Any:
    """Read a JSON object, or the text of the only field that a graph needs. Raises `InputRefusedError`.

    A function with `@entrypoint` has no fields: it gets any JSON, or the text. Inputs that were given beside the text are
    the fields, and the text is the only one that is still needed.
    """
    text = str(messages[-1].text).strip() if messages else ""
    if not isinstance(graph, CompiledStateGraph) and isinstance(graph.input_channels, str):
        return _read_json(text)
    fields, required = list_fields(graph)
    if text.startswith("{"):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputRefusedError(sentence("This is not JSON: {reason}.", reason=error)) from error
        if unknown := [name for name in given if name not in fields]:
            raise InputRefusedError(
                sentence("The graph has no field {name!r}. {fields}", name=unknown[0][:80], fields=_describe_fields(fields))
            )
        return {**given_inputs, **given}
    needed = [name for name in required or list(fields) if name not in given_inputs]
    if given_inputs:
        rest = {needed[0]: text} if len(needed) == 1 and fields[needed[0]] == "string" else {}
        return {**given_inputs, **rest}
    if len(needed) == 1 and fields[needed[0]] == "string":
        return {needed[0]: text}
    raise InputRefusedError(sentence("The graph takes a JSON object. {fields}", fields=_describe_fields(fields)))


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def list_fields(graph: AnyGraph) -> tuple[dict[str, str], list[str]]:
    """Return the fields of a graph's input with their types, and the required ones among them."""
    builder = graph.builder if isinstance(graph, CompiledStateGraph) else None
    if builder is None:
        names = graph.input_channels
        return dict.fromkeys([names] if isinstance(names, str) else names, "any"), []
    fields = {name: _TYPES.get(kind, "any") for name, kind in get_type_hints(builder.input_schema).items()}
    required = list_required(builder)
    return fields, [name for name in fields if name in required]


def format_output(graph: AnyGraph, values: Any, messages: str | None = None) -> AIMessage | None:
    """Return the outputs of a graph as a message; None if there is none beside the messages of a channel."""
    names = graph.output_channels if isinstance(graph.output_channels, list | tuple) else [graph.output_channels]
    given = values if isinstance(values, dict) else {"output": values}
    outputs = {str(name): given[name] for name in names if name in given} or given
    shown = {name: each for name, each in outputs.items() if name != messages or not isinstance(each, list)}
    if messages is not None and not shown:
        return None
    text = json.dumps(shown, indent=2, ensure_ascii=False, default=_dump_object)
    return AIMessage(f"```json\n{serde.sanitize_text(text)}\n```")


def _dump_object(value: object) -> Any:
    return {"type": value.type, "content": value.content} if isinstance(value, BaseMessage) else dump_object(value)


def _describe_fields(fields: dict[str, str]) -> str:
    if not fields:
        return sentence("It has no fields.")
    return sentence("Its fields are {fields}.", fields=", ".join(f"{name} ({kind})" for name, kind in fields.items()))
