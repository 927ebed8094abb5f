"""Models of providers whose package is installed besides: here a tiny one on the path, in the place of a real one."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from agent.models.catalog import load_chat_model
from agent.models.errors import ModelConfigurationError
from agent.models.finish_reasons import read_finish_reason
from agent.models.keys import ProviderKeys
from agent.models.providers import PROVIDERS
from application.setting_types import PROVIDER_KEYS
from application.settings import SettingsError, load_settings
from checkpoints import RunState
from tests.agent.running import running

PACKAGE = '''
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import SecretStr


class ChatAnthropic(BaseChatModel):
    """Cannot stream, and says why it ended in Anthropic's words."""

    model: str
    api_key: SecretStr

    @property
    def _llm_type(self):
        return "tiny"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        calls = [{"name": "calculator", "args": {"expression": "6 * 7"}, "id": "toolu_1"}]
        told = messages[-1].type == "tool"
        message = AIMessage(
            content=[{"type": "text", "text": "It is " + messages[-1].content if told else "Let me see."}],
            tool_calls=[] if told else calls,
            response_metadata={"stop_reason": "end_turn" if told else "tool_use", "model_name": self.model},
            usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])
'''
KEYS = ProviderKeys(other_keys={"ANTHROPIC_API_KEY": SecretStr("sk-ant-secret")})


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "langchain_anthropic.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "langchain_anthropic", raising=False)
    yield
    sys.modules.pop("langchain_anthropic", None)  # the next test may load the real one


@pytest.mark.usefixtures("tiny")
def test_a_model_of_another_package_that_cannot_stream_answers_and_calls_tools() -> None:
    async def talk(model: BaseChatModel) -> tuple[Any, list[tuple[str, str, str]], Any]:
        async with running(model) as chat:
            run = await chat.say("what is 6 * 7?")
            return run.state, chat.said(), chat.path()[-1].langchain

    state, said, answer = asyncio.run(talk(load_chat_model("anthropic:claude", KEYS)))
    assert (state, [text for _, _, text in said]) == (RunState.DONE, ["what is 6 * 7?", "Let me see.", "42", "It is 42"])
    assert (answer.usage_metadata["total_tokens"], answer.response_metadata["finish_reason"]) == (7, "stop")


@pytest.mark.usefixtures("tiny")
def test_a_missing_key_is_named() -> None:
    with pytest.raises(ModelConfigurationError, match="ANTHROPIC_API_KEY is missing"):
        load_chat_model("anthropic:claude", ProviderKeys())


def test_a_missing_package_is_named_as_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_google_genai", None)
    with pytest.raises(ModelConfigurationError, match="pip install langchain-google-genai"):
        load_chat_model("google_genai:gemini", KEYS)


def test_the_settings_read_the_key_of_each_provider() -> None:
    assert set(PROVIDER_KEYS) == {key for _, _, key in PROVIDERS.values() if key}
    assert set(load_settings(dict.fromkeys(PROVIDER_KEYS, "sk-1"), dotenv=Path("none")).provider_keys) == set(PROVIDER_KEYS)


def test_a_bad_key_of_a_provider_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("XAI_API_KEY=not a key\n")
    with pytest.raises(SettingsError, match="XAI_API_KEY must be an API key") as caught:
        load_settings({}, dotenv=tmp_path / ".env")
    assert "not a key" not in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"finish_reason": "stop"}, "stop"),
        ({"finish_reason": "STOP"}, "stop"),  # Google
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"stop_reason": "tool_use", "stop_sequence": None}, "tool_calls"),  # Anthropic
        ({"stop_reason": "refusal"}, "content_filter"),
        ({"done": True, "done_reason": "stop"}, "stop"),  # Ollama
        ({"stopReason": "guardrail_intervened"}, "content_filter"),  # Bedrock
        ({"status": "completed"}, "stop"),  # Responses
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete"}, "broken_off"),
        ({"finish_reason": "ERROR"}, "broken_off"),
        ({"finish_reason": "eos"}, "stop"),
        ({"finish_reason": "something new"}, "stop"),
        ({}, None),
    ],
    ids=str,
)
def test_every_provider_says_in_its_own_words_why_an_answer_ended(metadata: dict[str, Any], reason: str | None) -> None:
    assert read_finish_reason(metadata) == reason
