"""The fields of a form, from their JSON schemas: of a graph's inputs, and of the answer to its question."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from checkpoints.values.limits import MAX_NUMBER

MAX_FIELDS = 50
MAX_OPTIONS = 200
MAX_LABEL_CHARS = 200
MAX_DESCRIPTION_CHARS = 500
MAX_DEFAULT_CHARS = 2_000
# LangGraph stores no other integers.
STORABLE_INTEGERS = range(-(2**63), 2**64)
FieldKind = Literal["text", "number", "integer", "boolean", "choice", "texts", "json"]
Scalar = str | int | float | bool
_KINDS: Mapping[str, FieldKind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}


@dataclass(frozen=True, slots=True)
class FormField:
    """One field. `label`, `description` and `default` are its author's; the default of a list or of JSON is JSON.

    `limits` are attributes of its HTML input. A boolean is a tick; one that may stay empty is a choice.
    """

    name: str
    kind: FieldKind
    label: str
    description: str = ""
    options: Sequence[Scalar] = ()
    default: Scalar | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    required: bool = False
    is_null_when_empty: bool = False


def read_field(
    name: str, schema: object, definitions: Mapping[str, Any], *, is_needed: bool, is_filled: bool = False
) -> FormField:
    """Read a field of a form. Where the form is filled with defaults, a field that has one is always sent.

    An emptied field is then null or an empty text, or it is required: left out, it would be its default again.
    """
    content, is_nullable = _read_value(schema, definitions)
    author = schema if isinstance(schema, Mapping) else {}
    kind, options = _read_kind(content, definitions)
    limits = _read_limits(content, kind)
    default = _read_default(author.get("default", content.get("default")), kind, options, limits)
    has_default = is_filled and default is not None
    may_be_blank = has_default and kind == "text" and not limits.get("minLength")
    required = (is_needed or has_default) and not is_nullable and not may_be_blank
    if kind == "boolean" and not (is_filled and required):
        kind, options = "choice", (True, False)
    return FormField(
        name,
        kind,
        label=str(author.get("title") or name.replace("_", " ").capitalize())[:MAX_LABEL_CHARS],
        description=str(author.get("description") or "")[:MAX_DESCRIPTION_CHARS],
        options=options,
        default=default,
        limits=limits,
        required=required,
        is_null_when_empty=(is_needed or has_default) and is_nullable and default != "",
    )


def _read_value(schema: object, definitions: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the schema of a field's value, and whether it may be null instead."""
    if not isinstance(schema, Mapping):
        return {}, False
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.removeprefix("#/$defs/")
        # A definition that names itself ends here.
        return _read_value(definitions.get(name), {key: each for key, each in definitions.items() if key != name})
    types, kinds, options = schema.get("type"), schema.get("anyOf"), schema.get("enum")
    if isinstance(types, list):
        kinds = [{**schema, "type": each} for each in types]
    if not isinstance(kinds, list):
        return schema, isinstance(options, list) and None in options
    others = [each for each in kinds if not (isinstance(each, Mapping) and each.get("type") == "null")]
    content, is_nullable = _read_value(others[0], definitions) if len(others) == 1 else ({}, False)
    return content, is_nullable or len(others) < len(kinds)


def _read_kind(content: Mapping[str, Any], definitions: Mapping[str, Any]) -> tuple[FieldKind, tuple[Scalar, ...]]:
    options = [content["const"]] if "const" in content else content.get("enum")
    if isinstance(options, list):
        options = [each for each in options if each is not None]
        is_choice = 0 < len(options) <= MAX_OPTIONS and all(map(_is_option, options))
        return ("choice", tuple(options)) if is_choice else ("json", ())
    if content.get("type") == "array" and _read_value(content.get("items"), definitions)[0].get("type") == "string":
        return "texts", ()
    return _KINDS.get(str(content.get("type")), "json"), ()


def _is_option(value: object) -> bool:
    return isinstance(value, bool) or _is_number(value) or (isinstance(value, str) and 0 < len(value) <= MAX_LABEL_CHARS)


def _is_number(value: object) -> bool:
    """Tell whether a value is a number that the page can hold: not infinite, and exact."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _read_limits(content: Mapping[str, Any], kind: FieldKind) -> dict[str, float]:
    limits: dict[str, float | None] = {}
    if kind == "text":
        lengths = {name: content.get(name) for name in ("minLength", "maxLength")}
        limits = {name: each for name, each in lengths.items() if isinstance(each, int) and _is_number(each) and each >= 0}
    elif kind in ("number", "integer"):
        is_integer = kind == "integer"
        limits["min"] = _find_limit(content.get("minimum"), content.get("exclusiveMinimum"), 1, is_integer=is_integer)
        limits["max"] = _find_limit(content.get("maximum"), content.get("exclusiveMaximum"), -1, is_integer=is_integer)
    return {name: limit for name, limit in limits.items() if limit is not None}


def _find_limit(inclusive: Any, exclusive: Any, sign: Literal[1, -1], *, is_integer: bool) -> float | None:
    """Return the least number that is allowed, or with the sign -1 the largest; None where there is no limit."""
    allowed: list[float] = []
    if _is_number(inclusive):
        allowed.append(math.ceil(sign * inclusive) if is_integer else sign * inclusive)
    if _is_number(exclusive):
        least = sign * exclusive
        allowed.append(math.floor(least) + 1 if is_integer else math.nextafter(least, math.inf))
    return sign * max(allowed) if allowed else None


def _read_default(value: Any, kind: FieldKind, options: Sequence[Scalar], limits: Mapping[str, float]) -> Scalar | None:
    """Return a default that the field can hold. Any other is left to the graph, which has it."""
    if kind in ("texts", "json"):
        return _write_json(value)
    if kind == "choice":
        is_held = any(type(each) is type(value) and each == value for each in options)
    elif kind == "boolean":
        is_held = isinstance(value, bool)
    elif kind == "text":
        most = min(MAX_DEFAULT_CHARS, limits.get("maxLength", MAX_DEFAULT_CHARS))
        is_held = isinstance(value, str) and limits.get("minLength", 0) <= len(value) <= most
    else:
        is_large = kind == "integer" and type(value) is int and abs(value) > MAX_NUMBER and value in STORABLE_INTEGERS
        is_held = is_large or (_is_number(value) and (kind == "number" or value == int(value)))
        is_held = is_held and limits.get("min", -math.inf) <= value <= limits.get("max", math.inf)
        # The page takes its digits, since its numbers are not exact.
        return str(value) if is_held and is_large else value if is_held else None
    return value if is_held else None


def _write_json(value: object) -> str | None:
    """Write a default that is not empty, and not too long to be shown."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False) if value else ""
    except (TypeError, ValueError, RecursionError):
        return None
    return text if 0 < len(text) <= MAX_DEFAULT_CHARS else None
