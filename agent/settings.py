"""What a person chooses for one conversation: the model that answers, what it is told, and whether the agent may go back.

It stands in the thread's settings. What is empty there was not chosen, and the settings of the app decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, Self

from langchain_core.language_models import BaseChatModel

from agent.models.errors import ModelConfigurationError
from agent.time_travel.policy import POLICIES, Policy
from checkpoints import StateError, Thread, serde

MAX_INSTRUCTIONS_CHARS = 8_000  # characters
_SETTING_NAMES = ("instructions", "model", "time_travel")


class ModelCatalog(Protocol):
    """The models that can be chosen, by their specs, and the one that answers where none was (see `Models`)."""

    @property
    def default_spec(self) -> str: ...

    @property
    def specs(self) -> Sequence[str]: ...

    def load_model(self, spec: str | None = None) -> BaseChatModel: ...


class InvalidSettingsError(StateError, ValueError):
    """A choice that cannot be made; the text says why."""


class ModelUnavailableError(StateError):
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
class ThreadSettings:
    """What was chosen for one conversation."""

    instructions: str = ""
    model: str = ""
    time_travel: str = ""

    @classmethod
    def from_thread(cls, thread: Thread) -> Self:
        return cls(**{key: str(thread.settings.get(key, "")) for key in _SETTING_NAMES})

    def with_changes(self, values: Mapping[str, Any], catalog: ModelCatalog) -> Self:
        """The same with these values, of which none need be good. Raises `InvalidChoiceError`."""
        chosen = replace(
            self, **{key: serde.sanitize_text(str(value or "")).strip() for key, value in _filter_settings(values)}
        )
        if chosen.model not in ("", self.model, *catalog.specs):
            raise InvalidSettingsError(f"There is no model {chosen.model[:80]!r} to choose.")
        if len(chosen.instructions) > MAX_INSTRUCTIONS_CHARS:
            raise InvalidSettingsError(f"The instructions are longer than {MAX_INSTRUCTIONS_CHARS:,} characters.")
        if chosen.time_travel not in ("", *POLICIES):
            raise InvalidSettingsError("Going back can be asked for, allowed or off.")
        return chosen

    def changes_since(self, before: "ThreadSettings") -> dict[str, str]:
        """What was chosen otherwise than before, as settings of a thread."""
        return {key: value for key, value in asdict(self).items() if value != getattr(before, key)}

    def resolve_model(self, catalog: ModelCatalog) -> ChosenModel:
        """The model to ask. Raises `ModelGoneError`."""
        if self.model and self.model not in catalog.specs:
            raise ModelUnavailableError(self.model)
        try:
            return ChosenModel(self.model or catalog.default_spec, catalog.load_model(self.model or None))
        except ModelConfigurationError as error:
            raise ModelUnavailableError(self.model or catalog.default_spec) from error

    def resolve_policy(self, default_policy: Policy) -> Policy:
        """Whether the agent may go back: where the settings of the app say never, nothing else can be chosen."""
        own = next((policy for policy in POLICIES if policy == self.time_travel), None)
        return own if own and default_policy != "off" else default_policy


def _filter_settings(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in values.items() if key in _SETTING_NAMES]
