"""The inputs of a user graph beside the conversation's messages, as values: the page makes a form of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.preparation.schema_fields import FormField


@dataclass(frozen=True, slots=True)
class InputForm:
    """The inputs of a graph. Without messages, they are all that it begins with."""

    fields: Sequence[FormField]
    has_messages: bool
    is_own: bool = True  # False: no input is needed, or the graph names none apart from its state: they are seldom meant
