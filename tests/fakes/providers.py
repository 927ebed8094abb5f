"""Twelve providers: each one's model, address, settings, and the fake that answers there by its rules."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from agent.models.catalog import load_chat_model
from agent.models.keys import ProviderKeys
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.dialects import Manner
from tests.fakes.openai import FakeOpenAI

KEY = SecretStr("sk-very-secret-0123456789")
Server = FakeOpenAI | FakeAnthropic


def compatible(origin: str) -> ProviderKeys:
    return ProviderKeys(openai_api_key=KEY, openai_base_url=f"{origin}/v1")


def azure(origin: str) -> ProviderKeys:
    return ProviderKeys(azure_openai_api_key=KEY, azure_openai_endpoint=origin)


def anthropic(origin: str) -> ProviderKeys:
    return ProviderKeys(other_keys={"ANTHROPIC_API_KEY": KEY})


@dataclass(frozen=True)
class Provider:
    """A provider. `host` is the name of its service, which the tests resolve to this machine (see `SERVICE_HOSTS`)."""

    name: str
    spec: str
    settings: Callable[[str], ProviderKeys] = compatible
    manner: Manner | None = "openai"  # of Chat Completions; None: Anthropic's own API
    host: str = "127.0.0.1"
    shows_thought: bool = True

    def start(self) -> Server:
        """Start its fake on a free port."""
        if self.manner is None:
            return FakeAnthropic()
        server = FakeOpenAI()
        server.manner = self.manner
        return server

    @asynccontextmanager
    async def load_model(self, server: Server) -> AsyncIterator[BaseChatModel]:
        """The real client, at the provider's own host name. It is closed because the next test has another event loop."""
        origin = server.origin.replace("127.0.0.1", self.host)
        with patch.dict(os.environ, {"ANTHROPIC_BASE_URL": origin}):
            model: Any = load_chat_model(self.spec, self.settings(origin))
        try:
            yield model
        finally:
            await (model._async_client if self.manner is None else model.root_async_client).close()


PROVIDERS = (
    Provider("openai", "openai:gpt-5.4-mini", host="api.openai.com", shows_thought=False),
    Provider("responses", "openai-responses:gpt-5.4", host="api.openai.com"),
    Provider("azure", "azure:deployment", azure, host="resource.openai.azure.com", shows_thought=False),
    Provider("anthropic", "anthropic:claude-opus-5", anthropic, None, "api.anthropic.com"),
    Provider(
        "gemini", "openai:gemini-3-flash", manner="gemini", host="generativelanguage.googleapis.com", shows_thought=False
    ),
    Provider("deepseek", "openai:deepseek-v4", manner="deepseek", host="api.deepseek.com"),
    Provider("mistral", "openai:magistral-medium", manner="mistral", host="api.mistral.ai"),
    Provider("groq", "openai:gpt-oss-120b", manner="groq", host="api.groq.com"),
    Provider("together", "openai:qwen-together", manner="together", host="api.together.xyz"),
    Provider("ollama", "openai:qwen3:8b", manner="ollama"),
    Provider("vllm", "openai:Qwen/Qwen3-8B", manner="vllm"),
    Provider("llama.cpp", "openai:model", manner="llama.cpp"),
)
SERVICE_HOSTS = {provider.host for provider in PROVIDERS}
