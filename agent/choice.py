"""What a person chooses for one conversation: the model that answers, what it is told, and whether the agent may go back.

It stands in the thread's settings. What is empty there was not chosen, and the settings of the app decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, Self

from langchain_core.language_models import BaseChatModel

from agent.models import ModelConfigurationError
from agent.travelling import POLICIES, Policy
from checkpoints import StateError, Thread, serde

LONGEST_INSTRUCTIONS = 8_000  # characters
_WORDS = {"instructions": "the instructions", "model": "the model", "time_travel": "time travel"}


class Offer(Protocol):
    """The models that can be chosen, by their specs, and the one that answers where none was (see `Models`)."""

    @property
    def default(self) -> str: ...

    @property
    def names(self) -> Sequence[str]: ...

    def model(self, spec: str | None = None) -> BaseChatModel: ...


class InvalidChoiceError(StateError, ValueError):
    """A choice that cannot be made; the text says why."""


class ModelGoneError(StateError):
    """The model that was chosen for a conversation is there no more. Another one does not take its place unasked."""

    def __init__(self, spec: str) -> None:
        super().__init__(
            f"The model of this conversation, {spec}, cannot be used any more; choose another in the conversation settings."
        )


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model of one run, under the name that it was chosen by."""

    spec: str
    chat: BaseChatModel


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for one conversation."""

    instructions: str = ""
    model: str = ""
    time_travel: str = ""

    @classmethod
    def of(cls, thread: Thread) -> Self:
        return cls(**{key: str(thread.settings.get(key, "")) for key in _WORDS})

    def changed(self, values: Mapping[str, Any], offer: Offer) -> Self:
        """The same with these values, of which none need be good. Raises `InvalidChoiceError`."""
        chosen = replace(self, **{key: serde.writable(str(value or "")).strip() for key, value in _known(values)})
        if chosen.model not in ("", self.model, *offer.names):
            raise InvalidChoiceError(f"There is no model {chosen.model[:80]!r} to choose.")
        if len(chosen.instructions) > LONGEST_INSTRUCTIONS:
            raise InvalidChoiceError(f"The instructions are longer than {LONGEST_INSTRUCTIONS:,} characters.")
        if chosen.time_travel not in ("", *POLICIES):
            raise InvalidChoiceError("Going back can be asked for, allowed or off.")
        return chosen

    def since(self, before: "Choice") -> dict[str, str]:
        """What was chosen otherwise than before, as settings of a thread."""
        return {key: value for key, value in asdict(self).items() if value != getattr(before, key)}

    def chosen_model(self, offer: Offer) -> ChosenModel:
        """The model to ask. Raises `ModelGoneError`."""
        if self.model and self.model not in offer.names:
            raise ModelGoneError(self.model)
        try:
            return ChosenModel(self.model or offer.default, offer.model(self.model or None))
        except ModelConfigurationError as error:
            raise ModelGoneError(self.model or offer.default) from error

    def policy(self, general: Policy) -> Policy:
        """Whether the agent may go back: where the settings of the app say never, nothing else can be chosen."""
        own = next((policy for policy in POLICIES if policy == self.time_travel), None)
        return own if own and general != "off" else general


def _known(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in values.items() if key in _WORDS]


def told(values: Mapping[str, str]) -> str:
    """A change of settings in a few words, for the log and for Undo."""
    shown = {key: f" to {value or 'the default'}" for key, value in values.items() if key != "instructions"}
    return " and ".join(f"{_WORDS[key]}{shown.get(key, '')}" for key in values)
