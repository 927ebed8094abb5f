"""The inputs of a user graph beside the conversation's messages, as values: the page makes a form of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "texts", "json"]


@dataclass(frozen=True, slots=True)
class InputField:
    """One input. `label` and `description` are its author's."""

    name: str
    kind: FieldKind
    label: str
    description: str = ""
    options: Sequence[str] = ()  # of a choice
    required: bool = False
    is_null_when_empty: bool = False  # the graph requires it, and takes null


@dataclass(frozen=True, slots=True)
class InputForm:
    """The inputs of a graph. Without messages, they are all that it begins with."""

    fields: Sequence[InputField]
    has_messages: bool
    is_own: bool = True  # False: no input is needed, or the graph names none apart from its state: they are seldom meant
