"""A person's choices for a conversation: model, parameters, instructions, time-travel policy, and graph.

The thread's settings hold them. An empty value means the app's setting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from agent.context.window import MAX_TOKENS_FIELDS
from agent.models.errors import ModelConfigurationError
from agent.models.parameters import DEFAULT_PARAMETERS, InvalidParameterError, ModelParameters, parse_parameters
from agent.time_travel.policy import POLICIES, Policy
from checkpoints import StateError, Thread
from checkpoints.values import serde
from checkpoints.values.limits import MAX_INSTRUCTIONS_CHARS
from checkpoints.values.sentence import sentence

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class ModelCatalog(Protocol):
    """The models of the app by their specs, and its default model (see `ConfiguredModels`)."""

    @property
    def default_spec(self) -> str: ...

    @property
    def parameters(self) -> ModelParameters:
        """Return the parameters of every model for which a conversation has none."""
        ...

    @property
    def specs(self) -> Sequence[str]: ...

    def label_provider(self, spec: str) -> str:
        """Return the provider of a model for people; empty for the demo."""
        ...

    def load_model(self, spec: str | None = None, parameters: ModelParameters = ...) -> BaseChatModel: ...


@dataclass(frozen=True, slots=True)
class GraphOffer:
    """The names of the user graphs for new conversations, and the default; empty for the built-in agent.

    `problems` has the reasons why other graphs cannot be chosen, by name.
    """

    names: tuple[str, ...] = ()
    default: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


NO_GRAPHS = GraphOffer()


class InvalidSettingsError(StateError, ValueError):
    """An invalid choice. The text gives the reason."""


class ModelUnavailableError(StateError):
    """The model of a conversation no longer exists. No other model replaces it without a choice."""

    def __init__(self, spec: str) -> None:
        super().__init__(
            sentence(
                "The model of this conversation, {spec}, cannot be used any more; "
                "choose another in the conversation settings.",
                spec=spec,
            )
        )


@dataclass(frozen=True, slots=True)
class ChosenModel:
    spec: str
    # The model has the parameters.
    chat: BaseChatModel
    parameters: ModelParameters = DEFAULT_PARAMETERS


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    """The settings of a conversation, as the texts that a person wrote."""

    instructions: str = ""
    model: str = ""
    time_travel: str = ""
    temperature: str = ""
    top_p: str = ""
    max_tokens: str = ""
    reasoning_effort: str = ""
    extra_body: str = ""
    # The user graph that answers. Empty: the built-in agent answers.
    graph: str = ""

    @classmethod
    def from_thread(cls, thread: Thread) -> Self:
        return cls(**{key: str(thread.settings.get(key, "")) for key in _SETTING_NAMES})

    def with_changes(self, values: Mapping[str, Any], catalog: ModelCatalog, graphs: GraphOffer | None = None) -> Self:
        """Return the settings with these unchecked values. Without `graphs`, the graph stays. Raises
        `InvalidSettingsError`.
        """
        chosen = replace(
            self, **{key: serde.sanitize_text(str(value or "")).strip() for key, value in _filter_settings(values)}
        )
        if chosen.model not in ("", self.model, *catalog.specs):
            raise InvalidSettingsError(sentence("There is no model {model!r} to choose.", model=chosen.model[:80]))
        if chosen.graph != self.graph and graphs is None:
            raise InvalidSettingsError(sentence("A conversation keeps the graph that it began with."))
        if graphs is not None and chosen.graph in graphs.problems:
            raise InvalidSettingsError(graphs.problems[chosen.graph])
        if graphs is not None and chosen.graph not in ("", *graphs.names):
            raise InvalidSettingsError(sentence("There is no graph {graph!r} to choose.", graph=chosen.graph[:80]))
        if len(chosen.instructions) > MAX_INSTRUCTIONS_CHARS:
            raise InvalidSettingsError(
                sentence("The instructions are longer than {limit:,} characters.", limit=MAX_INSTRUCTIONS_CHARS)
            )
        if chosen.time_travel not in ("", *POLICIES):
            raise InvalidSettingsError(sentence("Going back can be asked for, allowed or off."))
        chosen.read_parameters()
        return chosen

    def changes_since(self, before: ThreadSettings) -> dict[str, str]:
        """Return the changed values, in the form of a thread's settings."""
        return {key: value for key, value in asdict(self).items() if value != getattr(before, key)}

    def read_parameters(self) -> ModelParameters:
        """Return the parameters of the model. Raises `InvalidSettingsError`."""
        try:
            return parse_parameters(asdict(self))
        except InvalidParameterError as error:
            raise InvalidSettingsError(str(error)) from error

    def resolve_model(self, catalog: ModelCatalog) -> ChosenModel:
        """Return the model for a run. Raises `ModelUnavailableError`, and `InvalidSettingsError` for its parameters."""
        if self.model and self.model not in catalog.specs:
            raise ModelUnavailableError(self.model)
        parameters = self.read_parameters()
        try:
            model = catalog.load_model(self.model or None, parameters)
            return ChosenModel(self.model or catalog.default_spec, model, parameters)
        except InvalidParameterError as error:
            raise InvalidSettingsError(str(error)) from error
        except ModelConfigurationError as error:
            raise ModelUnavailableError(self.model or catalog.default_spec) from error

    def resolve_helper_model(self, catalog: ModelCatalog, max_tokens: str = "") -> ChosenModel:
        """Return the model for a summary, a verdict or a title, without the conversation's limits for answers.

        `max_tokens` replaces the conversation's limit. The extra body keeps all other fields, since they may choose the
        provider. Raises `ModelUnavailableError`.
        """
        body = self.read_parameters().extra_body
        kept = {name: value for name, value in json.loads(body or "{}").items() if name not in _ANSWER_FIELDS}
        return replace(self, max_tokens=max_tokens, extra_body=json.dumps(kept) if kept else "").resolve_model(catalog)

    def resolve_policy(self, default_policy: Policy) -> Policy:
        """Return the time-travel policy. An app set to `off` allows no other choice."""
        chosen_policy = next((policy for policy in POLICIES if policy == self.time_travel), None)
        return chosen_policy if chosen_policy and default_policy != "off" else default_policy


def is_of_program(thread: Thread) -> bool:
    """Return whether a program's graph, which the page does not have, continues from here.

    The page, and an import, say who answers a conversation. The built-in agent is the graph without a name.
    """
    return thread.state_id is not None and "graph" not in thread.settings


# Fields of an extra body that limit or shape an answer.
_ANSWER_FIELDS = {*MAX_TOKENS_FIELDS, "max_completion_tokens", "max_new_tokens", "n_predict", "response_format", "stop"}
_SETTING_NAMES = tuple(each.name for each in fields(ThreadSettings))


def _filter_settings(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in values.items() if key in _SETTING_NAMES]
