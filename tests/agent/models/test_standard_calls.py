"""LangChain's standard integration tests of chat models: every wrapper through its real client, against fakes at the wire.

Left out: structured output and JSON mode, which Waymark asks for nowhere; images, sound and PDF as input, for which these
tests need the network (`tests/agent/context/test_attachments.py` has them); recordings.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_openai.chat_models.base import OpenAIModelNotFoundError
from langchain_tests.integration_tests import ChatModelIntegrationTests
from pydantic import SecretStr

from agent.demo.model import DemoChatModel
from agent.models.catalog import load_chat_model
from agent.models.keys import ProviderKeys
from tests.agent.models.test_standard_models import FallbackModel
from tests.fakes.obedient import ObedientAnthropic, ObedientOpenAI

pytestmark = pytest.mark.slow
KEY = SecretStr("sk-very-secret-0123456789")


@pytest.fixture
def benchmark() -> None:
    """Of recordings, which are left out."""


@pytest.fixture
def vcr() -> None:
    """As above."""


@pytest.mark.anyio
class Calls(ChatModelIntegrationTests):
    spec = "openai:some"
    has_tool_calling = True
    has_tool_choice = True
    has_structured_output = False
    model_override_value = "another"

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture(params=[{}])
    async def model(self, request: Any, anyio_backend: str) -> AsyncIterator[BaseChatModel]:
        """The loaded model. It is closed in the event loop that it was used in."""
        with ObedientOpenAI() as fake:
            address = {"openai_base_url": fake.base_url, "azure_openai_endpoint": fake.azure_endpoint}
            model: Any = load_chat_model(self.spec, ProviderKeys(openai_api_key=KEY, azure_openai_api_key=KEY, **address))
            yield model
            model.root_client.close()
            await model.root_async_client.close()

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        raise NotImplementedError  # models are loaded as the app loads them

    @pytest.mark.xfail(reason="its second half builds the class without an address", raises=NotImplementedError)
    def test_stop_sequence(self, model: BaseChatModel) -> None:
        super().test_stop_sequence(model)


class TestChatCompletions(Calls):
    pass


class TestResponses(Calls):
    spec = "openai-responses:some"

    @pytest.mark.usefixtures("refusals_expected")
    @pytest.mark.xfail(
        reason="the library's own answer goes back with the ids of its items, and Waymark's without",
        raises=OpenAIModelNotFoundError,
    )
    def test_agent_loop(self, model: BaseChatModel) -> None:
        super().test_agent_loop(model)


class TestAzure(Calls):
    spec = "azure:some"


class TestAnthropic(Calls):
    @pytest.fixture(params=[{}])
    async def model(self, request: Any, anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BaseChatModel]:
        with ObedientAnthropic() as fake:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.origin)
            keys = ProviderKeys(other_keys={"ANTHROPIC_API_KEY": KEY})
            # An earlier model: newer ones reason, and take no calls that others made back without their reasoning.
            model: Any = load_chat_model("anthropic:claude-haiku-4-5", keys)
            yield model
            model._client.close()
            await model._async_client.close()


class TestDemo(Calls):
    has_tool_calling = False
    supports_model_override = False
    returns_usage_metadata = False

    @pytest.fixture(params=[{}])
    def model(self, request: Any) -> BaseChatModel:
        return DemoChatModel(seconds_per_token=0.0)


class TestFallback(TestDemo):
    @pytest.fixture(params=[{}])
    def model(self, request: Any) -> BaseChatModel:
        return FallbackModel(seconds_per_token=0.0)
