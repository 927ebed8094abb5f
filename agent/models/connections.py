"""The connection settings of each provider, for a form, and a trial request with them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from agent.models.catalog import DEFAULT_OPENAI_MODEL
from agent.models.providers import PROVIDER_LABELS, PROVIDERS
from checkpoints.values.sentence import sentence

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# The field for the provider's name of the model.
MODEL = "MODEL"
MAX_TRIAL_SECONDS = 30.0
TRIAL_PROMPT = "Reply with one word: ready"


@dataclass(frozen=True, slots=True)
class ConnectionField:
    """One setting, by its name in the environment. `suggestion` is its first value in the form."""

    name: str
    label: str
    kind: Literal["key", "address", "text"] = "text"
    is_required: bool = True
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    """A provider and its connection settings. `prefix` begins the specs of its models."""

    id: str
    label: str
    prefix: str
    fields: tuple[ConnectionField, ...]
    # Settings of another connection with the same prefix.
    removed: tuple[str, ...] = ()

    @property
    def settings(self) -> tuple[ConnectionField, ...]:
        """Return the provider's own fields, without the model."""
        return tuple(field for field in self.fields if field.name != MODEL)

    def make_spec(self, values: Mapping[str, str]) -> str:
        return f"{self.prefix}:{values[MODEL]}"


_OPENAI_KEY = ConnectionField("OPENAI_API_KEY", sentence("API key"), "key")
_MODEL = ConnectionField(MODEL, sentence("Model"))
_BUILT_IN = (
    Connection(
        "openai",
        PROVIDER_LABELS["openai"],
        "openai",
        (_OPENAI_KEY, ConnectionField(MODEL, sentence("Model"), suggestion=DEFAULT_OPENAI_MODEL)),
        removed=("OPENAI_BASE_URL",),
    ),
    Connection(
        "compatible",
        sentence("OpenAI-compatible, such as Ollama"),
        "openai",
        (
            ConnectionField("OPENAI_BASE_URL", sentence("Address"), "address", suggestion="http://127.0.0.1:11434/v1"),
            ConnectionField("OPENAI_API_KEY", sentence("API key (optional)"), "key", is_required=False),
            _MODEL,
        ),
    ),
    Connection(
        "azure",
        PROVIDER_LABELS["azure"],
        "azure",
        (
            ConnectionField("AZURE_OPENAI_ENDPOINT", sentence("Endpoint"), "address"),
            ConnectionField("AZURE_OPENAI_API_KEY", sentence("API key"), "key"),
            ConnectionField(MODEL, sentence("Deployment")),
            ConnectionField("AZURE_OPENAI_API_VERSION", sentence("API version (optional)"), is_required=False),
        ),
    ),
)


def list_connections() -> Sequence[Connection]:
    """Return the connectable providers: the built-in providers, and providers with an installed package."""
    installed = [
        Connection(
            name,
            PROVIDER_LABELS[name],
            name,
            (*([ConnectionField(key, sentence("API key"), "key")] if key else []), _MODEL),
        )
        for name, (package, _, key) in PROVIDERS.items()
        if find_spec(package) is not None
    ]
    return [*_BUILT_IN, *installed]


async def try_model(model: BaseChatModel) -> None:
    """Return at the first chunk of an answer. Raises the errors of the provider's library, and `TimeoutError`."""
    async with asyncio.timeout(MAX_TRIAL_SECONDS), aclosing(model.astream(TRIAL_PROMPT)) as answer:  # type: ignore[type-var]
        async for _ in answer:
            return
