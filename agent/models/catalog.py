"""The catalogue of chat models resolves a spec to a model. Only this folder names providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys, is_present
from agent.models.parameters import DEFAULT_PARAMETERS, ModelParameters, apply_parameters
from agent.models.providers import PROVIDERS, label_provider, load_provider_model
from checkpoints.values.sentence import sentence

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# The newest small model with tools in Chat Completions.
DEFAULT_OPENAI_MODEL = "gpt-5.4-mini"
# Names the model of a conversation in errors.
THE_MODEL = sentence("The model")
DEMO_SPEC = "demo"
# A second demo model, so that the demo can show two models side by side.
BRIEF_DEMO_SPEC = "demo:brief"
DEMO_SPECS = (DEMO_SPEC, BRIEF_DEMO_SPEC)
# Loaded models with a conversation's parameters.
MAX_ADJUSTED_MODELS = 64


class ConfiguredModels:
    """The models that a person may choose, by spec (see `load_chat_model`).

    The constructor checks the models in `specs`, so a wrong setting is reported at the start, and raises
    ModelConfigurationError. `load_offered_models` loads them. Other models load at their first use.
    """

    def __init__(
        self,
        keys: ProviderKeys,
        default: str | None = None,
        *,
        offered: Sequence[str] = (),
        demo_seconds_per_token: float = 0.02,
        parameters: ModelParameters = DEFAULT_PARAMETERS,
        offered_source: str = "MODELS_OFFERED",
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        """Make a catalogue. `parameters` apply to every model for which a conversation has no parameters.

        `offered_source` is the setting that names the offered models, for errors. `prepare` is called before a model is
        loaded, on the loading thread.
        """
        self._keys = keys
        self._prepare = prepare
        self._demo_seconds_per_token = demo_seconds_per_token
        self.parameters = parameters
        self._loaded_models: dict[str, BaseChatModel] = {}
        self._adjust_model = lru_cache(MAX_ADJUSTED_MODELS)(
            lambda spec, chosen: _apply_parameters(spec, self.load_model(spec), chosen)
        )
        self.default_spec = default or choose_default_spec(keys)
        demos = DEMO_SPECS if self.default_spec == DEMO_SPEC else (DEMO_SPEC,)
        self.specs = tuple(dict.fromkeys((self.default_spec, *offered, *demos)))
        for name in self.specs:
            self.check_model(name, "MODEL" if name == self.default_spec else offered_source)

    def check_model(self, spec: str | None, source: str = THE_MODEL) -> None:
        """Refuse the spec of a model that cannot be loaded. Models of OpenAI and of the demo need no library for it.

        Another provider's model is loaded, since only its package can refuse it. Raises ModelConfigurationError.
        """
        wanted = spec or self.default_spec
        if not check_spec(wanted, self._keys, source):
            self._load_named_model(wanted, source)

    def label_provider(self, spec: str) -> str:
        """Return the provider of a model for people; empty for the demo."""
        return label_provider(spec, self._keys)

    def load_offered_models(self) -> None:
        for name in self.specs:
            self._load_named_model(name, "MODEL")

    def load_model(self, spec: str | None = None, parameters: ModelParameters = DEFAULT_PARAMETERS) -> BaseChatModel:
        """Return the model of a spec with a conversation's parameters. `None` is the default model.

        Models are cached: equal arguments return the same object. Raises ModelConfigurationError.
        """
        self._prepare()
        wanted = spec or self.default_spec
        if parameters != DEFAULT_PARAMETERS:
            return self._adjust_model(wanted, parameters)
        return self._load_named_model(wanted, THE_MODEL)

    def _load_named_model(self, spec: str, source: str) -> BaseChatModel:
        """Return a model from the cache, or load it. `source` is the setting that names it, for errors."""
        if spec not in self._loaded_models:
            seconds = self._demo_seconds_per_token
            loaded = load_chat_model(spec, self._keys, demo_seconds_per_token=seconds, source=source)
            self._loaded_models[spec] = _apply_parameters(spec, loaded, self.parameters)
        return self._loaded_models[spec]


def _apply_parameters(spec: str, model: BaseChatModel, parameters: ModelParameters) -> BaseChatModel:
    """Return a model with these parameters. The demo ignores them."""
    return model if spec in DEMO_SPECS else apply_parameters(model, parameters)


def choose_default_spec(keys: ProviderKeys) -> str:
    """Return the spec for an app without a setting: OpenAI or Azure if their keys are present, else the demo."""
    if is_present(keys.openai_api_key):
        return f"openai:{DEFAULT_OPENAI_MODEL}"
    if is_present(keys.azure_openai_api_key) and keys.azure_openai_endpoint:
        return f"azure:{keys.azure_openai_deployment_name or ''}"
    return "demo"


def check_spec(spec: str, keys: ProviderKeys, source: str) -> bool:
    """Check a model's spec and keys. Return False if only the provider's package can find further errors.

    Raises ModelConfigurationError. Its text names the `source` of the spec.
    """
    provider, _, name = spec.strip().partition(":")
    match provider:
        case "demo" if spec.strip() in DEMO_SPECS:
            return True
        case "openai" | "openai-responses" if name:
            keys.require_openai(name)
            return True
        case "azure" | "azure-responses":
            keys.require_azure(name or keys.azure_openai_deployment_name)
            return True
        case known if known in PROVIDERS and name:
            return False
    raise ModelConfigurationError(
        sentence(
            "{source} must be openai:NAME, azure:DEPLOYMENT, demo or another PROVIDER:NAME, not {spec!r}.",
            source=source,
            spec=spec[:80],
        )
    )


def load_chat_model(
    spec: str,
    keys: ProviderKeys,
    *,
    demo_seconds_per_token: float = 0.02,
    source: str = "MODEL",
) -> BaseChatModel:
    """Return the model of a spec: `demo`, or a provider, a colon and the provider's name for the model.

    `openai` and `azure` use Chat Completions, unless the model needs Responses. `openai-responses` and `azure-responses`
    always use Responses. The other providers are in `providers.PROVIDERS`. Raises the errors of `check_spec`.
    """
    check_spec(spec, keys, source)
    provider, _, name = spec.strip().partition(":")
    match provider:
        case "demo":
            from agent.demo.model import DemoChatModel  # noqa: PLC0415  imports LangChain's models

            is_brief = spec.strip() == BRIEF_DEMO_SPEC
            return DemoChatModel(seconds_per_token=demo_seconds_per_token, is_brief=is_brief)
        case "openai" | "openai-responses":
            from agent.models.openai import load_openai_model  # noqa: PLC0415  the import takes half a second

            return load_openai_model(name, keys, responses=provider != "openai")
        case "azure" | "azure-responses":
            from agent.models.openai import load_azure_model  # noqa: PLC0415  as above

            deployment = name or keys.azure_openai_deployment_name
            return load_azure_model(deployment, keys, responses=provider != "azure")
        case _:
            return load_provider_model(provider, name, keys)
