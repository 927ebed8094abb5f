"""The providers' keys and addresses from the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr


@dataclass(frozen=True)
class ProviderKeys:
    """The providers' keys and addresses. `idle_seconds` is the longest accepted silence in a stream.

    `other_keys` are the keys of further providers by their usual names, such as ANTHROPIC_API_KEY.
    """

    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    azure_openai_api_key: SecretStr | None = None
    azure_openai_endpoint: str | None = None
    azure_openai_api_version: str | None = None
    azure_openai_deployment_name: str | None = None
    azure_openai_reasoning_effort: str | None = None
    idle_seconds: float = 60.0
    other_keys: Mapping[str, SecretStr] = field(default_factory=dict)


def is_present(key: SecretStr | None) -> bool:
    return key is not None and bool(key.get_secret_value().strip())
