"""LangChain's standard unit tests of chat models, for the two wrappers of OpenAI's client."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_tests.unit_tests import ChatModelUnitTests
from syrupy import SnapshotAssertion

from agent.models.openai import _AzureModel, _OpenAIModel


@pytest.fixture
def benchmark() -> Callable[[Callable[[], Any]], Any]:
    """The plugin of this name measures the test of `init`; here it runs once."""
    return lambda action: action()


class Wrapper(ChatModelUnitTests):
    @pytest.mark.xfail(reason="LangChain loads the classes of its own packages alone", raises=ValueError)
    def test_serdes(self, model: BaseChatModel, snapshot: SnapshotAssertion) -> None:
        super().test_serdes(model, snapshot)


class TestOpenAIModel(Wrapper):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return _OpenAIModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "some", "api_key": "no-key"}


class TestAzureModel(Wrapper):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return _AzureModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        azure = {"azure_deployment": "some", "azure_endpoint": "http://127.0.0.1:9", "api_version": "2024-10-21"}
        return {"model": "some", "api_key": "no-key", **azure}
