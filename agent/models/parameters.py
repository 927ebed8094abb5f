"""Parameters of a model's requests, for the app and for one conversation. None leaves the choice to the provider."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from agent.context.window import MAX_TOKENS_FIELDS
from agent.models.errors import ModelConfigurationError
from checkpoints.values.limits import MAX_EXTRA_BODY_CHARS
from checkpoints.values.sentence import sentence

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
REASONING_EFFORTS: tuple[ReasoningEffort, ...] = get_args(ReasoningEffort)
MAX_TEMPERATURE = 2
MAX_TOP_P = 1
MAX_ANSWER_TOKENS = 999_999_999
# An extra body cannot set these. `n` would merge two answers.
OWN_FIELDS = ("messages", "input", "model", "stream", "tools", "n")
PARAMETER_RANGES = {"temperature": (0, MAX_TEMPERATURE), "top_p": (0, MAX_TOP_P), "max_tokens": (1, MAX_ANSWER_TOKENS)}
# The names of each parameter in LangChain's packages.
_FIELD_NAMES = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "p"),
    "max_tokens": MAX_TOKENS_FIELDS,
    "reasoning_effort": ("reasoning_effort",),
    "extra_body": ("extra_body",),
}
_SPELLINGS = {"max_tokens": ("max_completion_tokens", "max_output_tokens"), "reasoning_effort": ("reasoning.effort",)}
_FIELD_NAME = re.compile(r"[\w.-]{1,40}", re.ASCII)


class InvalidParameterError(ValueError):
    """A parameter that no provider takes. The text is a sentence for people."""


class UnsupportedParameterError(InvalidParameterError, ModelConfigurationError):
    """A parameter that a model's package cannot send."""


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """The parameters of a model. `extra_body` is the text of a JSON object, so parameters can be compared."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: ReasoningEffort | None = None
    extra_body: str | None = None


DEFAULT_PARAMETERS = ModelParameters()
PARAMETER_NAMES = tuple(each.name for each in fields(ModelParameters))


def parse_parameters(values: Mapping[str, str]) -> ModelParameters:
    """Return the parameters that a person wrote. Empty texts count as None. Raises `InvalidParameterError`."""
    texts = {name: values.get(name, "").strip() for name in PARAMETER_NAMES}
    return ModelParameters(
        temperature=_parse_number(texts["temperature"], MAX_TEMPERATURE, sentence("The temperature")),
        top_p=_parse_number(texts["top_p"], MAX_TOP_P, sentence("Top P")),
        max_tokens=_parse_max_tokens(texts["max_tokens"]),
        reasoning_effort=_parse_effort(texts["reasoning_effort"]),
        extra_body=_parse_extra_body(texts["extra_body"]),
    )


def apply_parameters(model: BaseChatModel, parameters: ModelParameters) -> BaseChatModel:
    """Return the model with these parameters, except parameters unknown to its package.

    Raises `UnsupportedParameterError` if an extra body cannot be sent, since it may be essential.
    """
    known = type(model).model_fields
    if parameters.extra_body is not None and "extra_body" not in known:
        raise UnsupportedParameterError(
            sentence("{name} takes no extra body; remove it from the model's parameters.", name=type(model).__name__)
        )
    update: dict[str, Any] = {}
    for name, candidates in _FIELD_NAMES.items():
        value, found = getattr(parameters, name), next((each for each in candidates if each in known), None)
        if value is not None and found is not None:
            update[found] = {**(getattr(model, found) or {}), **json.loads(value)} if name == "extra_body" else value
    reasoning = getattr(model, "reasoning", None)
    # Responses reads the effort there, if `reasoning` is set.
    if "reasoning_effort" in update and isinstance(reasoning, dict):
        update["reasoning"] = {**reasoning, "effort": update["reasoning_effort"]}
    return model.model_copy(update=update) if update else model


def read_parameters(model: BaseChatModel) -> dict[str, str | float]:
    """Return the parameters that a model sends, without its extra body, which may hold any text, such as a key."""
    found: dict[str, str | float] = {}
    for name, candidates in _FIELD_NAMES.items():
        value = next((value for each in candidates if (value := getattr(model, each, None)) is not None), None)
        if isinstance(value, str | int | float):
            found[name] = value
    return found


def list_parameter_fields(model: BaseChatModel) -> list[str]:
    """Return the request fields that a model's parameters set, in the providers' spellings."""
    names = [spelling for name in read_parameters(model) for spelling in (name, *_SPELLINGS.get(name, ()))]
    return [*names, *_list_field_names(getattr(model, "extra_body", None))]


def list_chosen_fields(parameters: ModelParameters) -> list[str]:
    """Return the request fields that these parameters set."""
    chosen = [name for name in PARAMETER_NAMES if name != "extra_body" and getattr(parameters, name) is not None]
    return [*chosen, *_list_field_names(json.loads(parameters.extra_body or "{}"))]


def _list_field_names(body: object) -> list[str]:
    """Return an extra body's keys if they are plain names."""
    return [name for name in body if _FIELD_NAME.fullmatch(name)] if isinstance(body, dict) else []


def _parse_number(text: str, maximum: int, label: str) -> float | None:
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= maximum:
        raise InvalidParameterError(sentence("{label} must be a number from 0 to {maximum}.", label=label, maximum=maximum))
    return number


def _parse_max_tokens(text: str) -> int | None:
    if not text:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_ANSWER_TOKENS))
    if not is_number or not 1 <= int(text) <= MAX_ANSWER_TOKENS:
        raise InvalidParameterError(
            sentence("The longest answer must be a whole number of tokens from 1 to {limit:,}.", limit=MAX_ANSWER_TOKENS)
        )
    return int(text)


def _parse_effort(text: str) -> ReasoningEffort | None:
    effort = next((each for each in REASONING_EFFORTS if each == text), None)
    if text and effort is None:
        raise InvalidParameterError(
            sentence(
                "The reasoning effort must be one of {reasoning_efforts}.", reasoning_efforts=", ".join(REASONING_EFFORTS)
            )
        )
    return effort


def _parse_extra_body(text: str) -> str | None:
    if not text:
        return None
    try:
        return check_extra_body(text)
    except ValueError as error:
        refusal = sentence(
            "The extra body must be a JSON object of at most {limit:,} characters, without {fields}.",
            limit=MAX_EXTRA_BODY_CHARS,
            fields=", ".join(OWN_FIELDS),
        )
        raise InvalidParameterError(refusal) from error


def check_extra_body(text: str) -> str:
    """Return the text of an extra body. Raises `ValueError` if it cannot be sent, or sets a field of Waymark's own."""
    if len(text) > MAX_EXTRA_BODY_CHARS:
        raise ValueError("too long")
    try:
        body = json.loads(text)
        # A lone surrogate raises a ValueError.
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(body, dict) or not body.keys().isdisjoint(OWN_FIELDS):
        raise ValueError("not an object of further fields")
    return text


def write_extra_body(body: object) -> str:
    """Return an extra body as JSON. Raises the `ValueError` of `check_extra_body`."""
    try:
        return check_extra_body(json.dumps(body, ensure_ascii=False))
    # TOML has dates, for example.
    except TypeError as error:
        raise ValueError("not JSON") from error
