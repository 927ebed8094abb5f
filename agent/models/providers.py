"""Models of providers whose LangChain package is installed separately."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys
from checkpoints.values.sentence import sentence

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# Package, class, and name of the key.
PROVIDERS = {
    "anthropic": ("langchain_anthropic", "ChatAnthropic", "ANTHROPIC_API_KEY"),
    # The package reads its credentials from AWS's own configuration.
    "bedrock": ("langchain_aws", "ChatBedrockConverse", None),
    "cohere": ("langchain_cohere", "ChatCohere", "COHERE_API_KEY"),
    "deepseek": ("langchain_deepseek", "ChatDeepSeek", "DEEPSEEK_API_KEY"),
    "google_genai": ("langchain_google_genai", "ChatGoogleGenerativeAI", "GOOGLE_API_KEY"),
    "groq": ("langchain_groq", "ChatGroq", "GROQ_API_KEY"),
    "mistralai": ("langchain_mistralai", "ChatMistralAI", "MISTRAL_API_KEY"),
    "ollama": ("langchain_ollama", "ChatOllama", None),
    "openrouter": ("langchain_openrouter", "ChatOpenRouter", "OPENROUTER_API_KEY"),
    "together": ("langchain_together", "ChatTogether", "TOGETHER_API_KEY"),
    "xai": ("langchain_xai", "ChatXAI", "XAI_API_KEY"),
}

PROVIDER_LABELS = {
    "anthropic": "Anthropic",
    "azure": "Azure OpenAI",
    "bedrock": "Amazon Bedrock",
    "cohere": "Cohere",
    "deepseek": "DeepSeek",
    "google_genai": "Google",
    "groq": "Groq",
    "mistralai": "Mistral AI",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "together": "Together AI",
    "xai": "xAI",
}
SPEC_PREFIXES = tuple(sorted({*PROVIDER_LABELS, "openai-responses", "azure-responses"}))
COMPATIBLE_SERVER = sentence("OpenAI-compatible server")


def label_provider(spec: str, keys: ProviderKeys) -> str:
    """Return the provider of a model for people; empty for the demo. A server behind OPENAI_BASE_URL is not OpenAI."""
    provider, separator, _ = spec.strip().partition(":")
    provider = provider.removesuffix("-responses")
    if provider == "openai" and keys.openai_base_url:
        return COMPATIBLE_SERVER
    return PROVIDER_LABELS.get(provider, "") if separator else ""


def shorten_spec(spec: str) -> str:
    """Return a model's name without its provider, by the same rule as assets/modules/words/format.mjs."""
    provider, _, name = spec.partition(":")
    return name if name and provider in SPEC_PREFIXES else spec


def shorten_spec_among(spec: str, specs: Sequence[str]) -> str:
    """Return the short name where no other of `specs` has the same."""
    name = shorten_spec(spec)
    return spec if any(each != spec and shorten_spec(each) == name for each in specs) else name


def load_provider_model(provider: str, name: str, keys: ProviderKeys) -> BaseChatModel:
    """Return a model of one of `PROVIDERS`. Raises ModelConfigurationError, which names a missing package."""
    package, kind, key = PROVIDERS[provider]
    spec = f"{provider}:{name[:80]}"
    try:
        model_class = getattr(import_module(package), kind)
    except (ImportError, AttributeError):
        install = package.replace("_", "-")
        raise ModelConfigurationError(
            sentence("{spec} needs the package {install}: pip install {install}.", spec=spec, install=install)
        ) from None
    options: dict[str, Any] = {"model": name}
    # Some packages read the key only at their first request.
    if key is not None:
        if key not in keys.other_keys:
            raise ModelConfigurationError(sentence("{key} is missing; {spec} needs it.", key=key, spec=spec))
        options["api_key"] = keys.other_keys[key]
    if "stream_usage" in model_class.model_fields:
        options["stream_usage"] = True
    try:
        model = _keep_reasoning(model_class)(**options)
        _refuse_redirects(model)
    # This includes pydantic's error, and its text shows the values.
    except ValueError:
        raise ModelConfigurationError(sentence("{package} is not set up for {spec}.", package=package, spec=spec)) from None
    return model


def _refuse_redirects(model: BaseChatModel) -> None:
    """Stop OpenAI's and Anthropic's clients from following redirects, which would carry conversation and key to any host."""
    for name in ("root_async_client", "_async_client"):
        if (client := getattr(model, name, None)) is not None:
            client._client.follow_redirects = False


def _keep_reasoning(model_class: type[BaseChatModel]) -> type[BaseChatModel]:
    """Return a subclass that keeps and returns the reasoning that its package drops, except parts that the server
    refuses.
    """
    from agent.models.anthropic import build_anthropic_class  # noqa: PLC0415  imports LangChain's models
    from agent.models.fallbacks import ReasoningFallback  # noqa: PLC0415  as above

    bases = {base.__name__ for base in model_class.__mro__}
    if "ChatAnthropic" in bases and hasattr(model_class, "_get_request_payload"):
        return build_anthropic_class(model_class)
    mixin: type = ReasoningFallback
    if "BaseChatOpenAI" in bases:
        from agent.models.reasoning_fields import ReasoningFields  # noqa: PLC0415  imports OpenAI's library

        mixin = ReasoningFields
    return type(model_class.__name__, (mixin, model_class), {"__module__": __name__})
