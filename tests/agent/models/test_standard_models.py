"""LangChain's standard unit tests of chat models, for every class of models."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_tests.unit_tests import ChatModelUnitTests
from syrupy import SnapshotAssertion

from agent.demo.model import DemoChatModel
from agent.models.anthropic import build_anthropic_class
from agent.models.fallbacks import ReasoningFallback
from agent.models.openai import _AzureModel, _OpenAIModel

KEY = {"api_key": "no-key"}
AZURE = {"azure_deployment": "some", "azure_endpoint": "http://127.0.0.1:9", "api_version": "2024-10-21"}
FromEnvironment = tuple[dict[str, str], dict[str, Any], dict[str, Any]]


@cache
def build_anthropic_model() -> type[BaseChatModel]:
    """Build the class when it is needed: to import its package takes a second in each process that collects these tests."""
    from langchain_anthropic import ChatAnthropic

    return build_anthropic_class(ChatAnthropic)


class PackageModel(DemoChatModel):
    """A package's model that needs no server."""

    model: str = "some"


class FallbackModel(ReasoningFallback, PackageModel):
    """The wrapper of all other packages."""


@pytest.fixture
def benchmark() -> Callable[[Callable[[], Any]], Any]:
    """The plugin of this name measures the test of `init`; here it runs once."""
    return lambda action: action()


class Wrapper(ChatModelUnitTests):
    @pytest.mark.xfail(reason="LangChain loads the classes of its own packages alone", raises=ValueError)
    def test_serdes(self, model: BaseChatModel, snapshot: SnapshotAssertion) -> None:
        super().test_serdes(model, snapshot)


class TestOpenAIModel(Wrapper):
    chat_model_class = _OpenAIModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "some", **KEY}

    @property
    def init_from_env_params(self) -> FromEnvironment:
        return {"OPENAI_API_KEY": "a key"}, {"model": "some"}, {"openai_api_key": "a key"}


class TestAzureModel(Wrapper):
    chat_model_class = _AzureModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "some", **KEY, **AZURE}


class TestAnthropicModel(Wrapper):
    has_structured_output = False  # the package warns of methods that the test tries; Waymark asks for no structure

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return build_anthropic_model()

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "claude-opus-5", **KEY}

    @property
    def init_from_env_params(self) -> FromEnvironment:
        return {"ANTHROPIC_API_KEY": "a key"}, {"model": "claude-opus-5"}, {"anthropic_api_key": "a key"}


class TestFallbackModel(ChatModelUnitTests):
    chat_model_class: type[BaseChatModel] = FallbackModel
    has_tool_calling = False  # the demo notes the names of its tools, and makes no binding
    has_structured_output = False


class TestDemoModel(TestFallbackModel):
    chat_model_class = DemoChatModel

    @pytest.mark.xfail(reason="the demo has no name of a model")
    def test_standard_params(self, model: BaseChatModel) -> None:
        super().test_standard_params(model)
