"""Models of OpenAI, of Azure, and of every compatible server.

This module is imported when such a model is first loaded. Its library takes half a second, which the demo saves.
"""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
from langchain_core.language_models import BaseChatModel
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient, Timeout
from pydantic import SecretStr

from agent.certificates import load_certificates
from agent.models import other_bodies
from agent.models.json_streams import JsonCompletions, JsonResponses
from agent.models.keys import ProviderKeys, is_present
from agent.models.reasoning_fields import ReasoningFields

AZURE_API_VERSION = "2024-10-21"
# Azure introduced Responses after the version above.
AZURE_RESPONSES_API_VERSION = "2025-04-01-preview"
OPENAI_ADDRESS = "https://api.openai.com/v1"
# Local servers need no key, but the client requires a value.
NO_KEY = "no-key"
CONNECT_SECONDS = 5.0
MAX_REFUSAL_BYTES = 1_000_000

# OpenAI's Chat Completions refuse these models (400), always or with reasoning and tools together.
_RESPONSES_ONLY = ("gpt-5.5", "gpt-5.6", "gpt-6", "gpt-5-pro", "gpt-5.2-pro", "gpt-5.4-pro")


def load_openai_model(name: str, keys: ProviderKeys, *, responses: bool = False) -> BaseChatModel:
    """Return a model of OpenAI or of a compatible server. `responses` forces Responses where Chat Completions would do."""
    keys.require_openai(name)
    is_responses_only = keys.openai_base_url is None and (name.startswith(_RESPONSES_ONLY) or "codex" in name)
    model = _OpenAIModel(
        model=name,
        api_key=keys.openai_api_key if is_present(keys.openai_api_key) else SecretStr(NO_KEY),
        # The address is never empty, because the library would then read the environment.
        base_url=keys.openai_base_url or OPENAI_ADDRESS,
        **_build_client_options(keys, responses or is_responses_only),
    )
    return _use_json_streams(model, "OPENAI_BASE_URL" if keys.openai_base_url else None)


def load_azure_model(deployment: str | None, keys: ProviderKeys, *, responses: bool = False) -> BaseChatModel:
    deployment = keys.require_azure(deployment)
    model = _AzureModel(
        azure_deployment=deployment,
        # A deployment often has the model's own name, which determines its window.
        model=deployment,
        azure_endpoint=keys.azure_openai_endpoint,
        api_key=keys.azure_openai_api_key,
        api_version=keys.azure_openai_api_version or (AZURE_RESPONSES_API_VERSION if responses else AZURE_API_VERSION),
        reasoning_effort=keys.azure_openai_reasoning_effort or None,
        **_build_client_options(keys, responses),
    )
    return _use_json_streams(model, "AZURE_OPENAI_ENDPOINT")


def _build_client_options(keys: ProviderKeys, responses: bool) -> dict[str, Any]:
    """Return the client's options: streaming with usage, no storage at the provider, and short timeouts.

    Without the timeouts, a dead stream would last ten minutes.
    """
    timeout = Timeout(keys.idle_seconds, connect=CONNECT_SECONDS)
    return {
        "streaming": True,
        "stream_usage": True,
        "use_responses_api": responses,
        # By default, Responses stores each answer for thirty days.
        "store": False if responses else None,
        # `agent.graph.retries` repeats a request if that is safe.
        "max_retries": 0,
        "timeout": timeout,
        # It is unused, but without it the library loads the certificates again.
        "http_client": DefaultHttpxClient(verify=load_certificates()),
        "http_async_client": _make_http_client(timeout),
        # The library's own variable would need another client. HTTPS_PROXY works.
        "openai_proxy": "",
        # `agent.graph.answer` has a timeout. The library's timeout would start a task for every token.
        "stream_chunk_timeout": None,
    }


def _make_http_client(timeout: Timeout) -> httpx2.AsyncClient:
    """Return the HTTP client that OpenAI's client would use, with a limit of bytes.

    It follows no redirect, because a redirect would carry the conversation, and Azure's key, to any host.
    """
    hooks = {"response": [_limit_body]}
    return DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False, verify=load_certificates(), event_hooks=hooks)


async def _limit_body(response: httpx2.Response) -> None:
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    max_bytes = other_bodies.MAX_STREAM_BYTES if response.is_success else MAX_REFUSAL_BYTES
    response.stream = _ShortStream(response.stream, max_bytes)


class _ShortStream(httpx2.AsyncByteStream):
    """The beginning of a body. The client reads whole bodies of refusals and answers, and some are endless."""

    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            yield part
            size += len(part)
            if size > self._max_bytes:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


class _OpenAIModel(ReasoningFields, ChatOpenAI):
    """A model of OpenAI or of a compatible server."""


class _AzureModel(ReasoningFields, AzureChatOpenAI):
    """A deployment on Azure."""


def _use_json_streams(model: BaseChatOpenAI, address_setting: str | None) -> BaseChatOpenAI:
    client = model.root_async_client
    model.async_client = JsonCompletions(client, address_setting)
    if model.use_responses_api:
        client.responses = JsonResponses(client, address_setting)
    return model
