from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from agent.models.errors import ModelConfigurationError
from checkpoints.values.sentence import sentence


@dataclass(frozen=True)
class ProviderKeys:
    """The providers' keys and addresses from the settings. `idle_seconds` is the longest accepted silence in a stream.

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

    def require_openai(self, name: str) -> None:
        """Raise `ModelConfigurationError` if a model of OpenAI, or of a compatible server, lacks a setting."""
        if not is_present(self.openai_api_key) and not self.openai_base_url:
            raise ModelConfigurationError(sentence("OPENAI_API_KEY is missing; openai:{name} needs it.", name=name[:80]))

    def require_azure(self, deployment: str | None) -> str:
        """Return the deployment. Raises `ModelConfigurationError` if a setting is missing."""
        if not deployment:
            raise ModelConfigurationError(
                sentence("AZURE_OPENAI_DEPLOYMENT_NAME is missing, or write MODEL=azure:DEPLOYMENT.")
            )
        if not self.azure_openai_endpoint:
            raise ModelConfigurationError(
                sentence("AZURE_OPENAI_ENDPOINT is missing; azure:{deployment} needs it.", deployment=deployment[:80])
            )
        if not is_present(self.azure_openai_api_key):
            raise ModelConfigurationError(
                sentence("AZURE_OPENAI_API_KEY is missing; azure:{deployment} needs it.", deployment=deployment[:80])
            )
        return deployment


def is_present(key: SecretStr | None) -> bool:
    return key is not None and bool(key.get_secret_value().strip())
