"""Which model a setting stands for, what goes over the wire, and what a person reads when it fails."""

import asyncio
import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import httpx2
import openai
import pytest
from langchain_core.messages import AIMessageChunk, BaseMessageChunk
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models.base import OpenAIContextOverflowError
from pydantic import SecretStr

from agent.demo.model import DemoChatModel
from agent.models.catalog import ConfiguredModels, choose_default_spec, load_chat_model
from agent.models.errors import ModelConfigurationError, describe_model_error, retry_after
from agent.models.keys import ProviderKeys
from agent.models.providers import COMPATIBLE_SERVER, PROVIDER_LABELS, PROVIDERS, label_provider, shorten_spec
from agent.tools.calculator import calculator
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

KEY = "sk-very-secret-0123456789"
OPENAI = ProviderKeys(openai_api_key=SecretStr(KEY))
AZURE = ProviderKeys(azure_openai_api_key=SecretStr(KEY), azure_openai_endpoint="https://a.example")
REQUEST = httpx2.Request("POST", "https://api.openai.com/v1/chat/completions")


async def _streamed(model: Any, text: str = "hello") -> BaseMessageChunk:
    """The whole answer; the client is closed because the next test has another event loop."""
    whole = AIMessageChunk(content="")
    try:
        async for chunk in model.bind_tools([calculator]).astream(text):
            whole += chunk
    finally:
        await model.root_async_client.close()
    return whole


def _failure(fault: Fault, idle_seconds: float = 60.0) -> str:
    with FakeOpenAI() as fake:
        fake.reply(fault, fault, fault)
        keys = ProviderKeys(openai_api_key=SecretStr(KEY), openai_base_url=fake.base_url, idle_seconds=idle_seconds)
        with pytest.raises(BaseException) as caught:  # noqa: PT011  any kind at all must be explained
            asyncio.run(_streamed(load_chat_model("openai:some", keys)))
        return describe_model_error(caught.value)


@cache
def _make_client() -> openai.OpenAI:
    """Make one client for all errors: each reads the certificates of all authorities."""
    client = openai.OpenAI(api_key=KEY)
    client.close()
    return client


def _refusal(
    status: int, code: str | None = None, headers: dict[str, str] | None = None, text: str = f"about {KEY}"
) -> openai.APIStatusError:
    response = httpx2.Response(status, request=REQUEST, headers=headers)
    error = {"message": f"about {KEY}", "code": code, "type": None}
    return _make_client()._make_status_error(text, body=error, response=response)


def _caused(cause: BaseException) -> openai.APIConnectionError:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = httpx2.ConnectError("no")
    error.__cause__.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("keys", "spec"),
    [
        (ProviderKeys(), "demo"),
        (OPENAI, "openai:gpt-5.4-mini"),
        (ProviderKeys(openai_api_key=SecretStr("")), "demo"),
        (AZURE, "azure:"),
        (ProviderKeys(azure_openai_endpoint="https://a.example"), "demo"),
        (ProviderKeys(OPENAI.openai_api_key, None, AZURE.azure_openai_api_key, "https://a.example"), "openai:gpt-5.4-mini"),
    ],
)
def test_the_keys_decide_the_default(keys: ProviderKeys, spec: str) -> None:
    assert choose_default_spec(keys) == spec


@pytest.mark.parametrize(
    ("spec", "keys", "setting"),
    [
        ("", OPENAI, "MODEL"),
        ("openai:", OPENAI, "MODEL"),
        ("demo:x", OPENAI, "MODEL"),
        ("other:name", OPENAI, "MODEL"),
        ("openai:gpt", ProviderKeys(), "OPENAI_API_KEY"),
        ("azure:", AZURE, "AZURE_OPENAI_DEPLOYMENT_NAME"),
        ("azure:mine", ProviderKeys(azure_openai_api_key=SecretStr(KEY)), "AZURE_OPENAI_ENDPOINT"),
        ("azure:mine", ProviderKeys(azure_openai_endpoint="https://a.example"), "AZURE_OPENAI_API_KEY"),
    ],
)
def test_a_bad_setting_is_named_in_one_sentence(spec: str, keys: ProviderKeys, setting: str) -> None:
    with pytest.raises(ModelConfigurationError, match=setting) as caught:
        load_chat_model(spec, keys)
    assert describe_model_error(caught.value) == str(caught.value)


def test_the_demo_needs_no_key() -> None:
    assert isinstance(load_chat_model("demo", ProviderKeys()), DemoChatModel)


@pytest.mark.slow
def test_the_demo_does_not_load_a_provider() -> None:
    check = (
        "import sys, agent.models.catalog as m; m.load_chat_model('demo', m.ProviderKeys()); print('openai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_answer_streams_with_usage_and_its_finish_reason() -> None:
    with FakeOpenAI() as fake:
        fake.reply(Say("Good morning to you"))
        keys = ProviderKeys(openai_api_key=SecretStr(KEY), openai_base_url=fake.base_url)
        whole: Any = asyncio.run(_streamed(load_chat_model("openai:llama3.2:3b", keys)))
    assert (whole.text, whole.response_metadata["finish_reason"]) == ("Good morning to you", "stop")
    assert whole.usage_metadata["total_tokens"] > 0
    assert fake.requests[0]["model"] == "llama3.2:3b"
    assert fake.violations == []


def test_a_compatible_server_needs_no_key() -> None:
    with FakeOpenAI() as fake:
        keys = ProviderKeys(openai_api_key=SecretStr(""), openai_base_url=fake.base_url)
        whole = asyncio.run(_streamed(load_chat_model("openai:local", keys)))
    assert "hello" in whole.text


def test_a_compatible_server_is_not_called_openai() -> None:
    theirs, own = ProviderKeys(), ProviderKeys(openai_base_url="http://127.0.0.1:11434/v1")
    specs = ("openai:a", "openai-responses:a", "bedrock:a", "together:a", "demo:brief")
    assert [label_provider(spec, theirs) for spec in specs] == ["OpenAI", "OpenAI", "Amazon Bedrock", "Together AI", ""]
    assert [label_provider(spec, own) for spec in specs[:3]] == [COMPATIBLE_SERVER, COMPATIBLE_SERVER, "Amazon Bedrock"]
    assert PROVIDERS.keys() < PROVIDER_LABELS.keys()


def test_a_name_for_people_leaves_out_a_known_provider_alone() -> None:
    specs = ("openai:a", "openai-responses:a", "together:org/a:free", "demo:brief", "openai:", "graph:openai", "a")
    assert [shorten_spec(spec) for spec in specs] == ["a", "a", "org/a:free", "demo:brief", "openai:", "graph:openai", "a"]


def test_models_that_prefer_responses_are_still_spoken_to_with_chat_completions() -> None:
    with FakeOpenAI() as fake:
        keys = ProviderKeys(openai_api_key=SecretStr(KEY), openai_base_url=fake.base_url)
        assert "hello" in asyncio.run(_streamed(load_chat_model("openai:gpt-6-astra", keys))).text


@pytest.mark.parametrize(
    ("spec", "version", "address"),
    [
        ("azure:", None, "/openai/deployments/mine/chat/completions?api-version=2024-10-21"),
        ("azure:", "2025-01-01", "/openai/deployments/mine/chat/completions?api-version=2025-01-01"),
        ("azure:yours", None, "/openai/deployments/yours/chat/completions?api-version=2024-10-21"),
        ("azure-responses:", None, "/openai/responses?api-version=2025-04-01-preview"),
    ],
)
def test_azure_is_spoken_to_under_its_own_paths(spec: str, version: str | None, address: str) -> None:
    with FakeOpenAI() as fake:
        fake.reply(Call("calculator", {"expression": "6 * 7"}))
        keys = ProviderKeys(azure_openai_api_key=SecretStr(KEY), azure_openai_endpoint=fake.azure_endpoint,
                    azure_openai_deployment_name="mine", azure_openai_api_version=version)  # fmt: skip
        whole: Any = asyncio.run(_streamed(load_chat_model(spec, keys)))
    assert whole.tool_calls[0]["args"] == {"expression": "6 * 7"}
    assert fake.addresses == [address]
    assert (fake.headers[0]["api-key"], fake.headers[0].get("authorization")) == (KEY, None)


@pytest.mark.parametrize("effort", ["low", "", None])
def test_azure_is_told_how_hard_to_think_where_that_is_set(effort: str | None) -> None:
    with FakeOpenAI() as fake:
        keys = replace(AZURE, azure_openai_endpoint=fake.azure_endpoint, azure_openai_reasoning_effort=effort)
        asyncio.run(_streamed(load_chat_model("azure:mine", keys)))
        asyncio.run(_streamed(load_chat_model("azure-responses:mine", keys)))
    chat, responses = fake.requests
    assert (chat.get("reasoning_effort"), responses.get("reasoning")) == (
        effort or None,
        {"summary": "auto", **({"effort": effort} if effort else {})},
    )
    assert (chat["stream_options"], chat["model"], responses["model"]) == ({"include_usage": True}, "mine", "mine")


def test_the_environment_cannot_redirect_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example/v1")
    monkeypatch.setenv("OPENAI_API_BASE", "http://elsewhere.example/v1")
    openai_model = load_chat_model("openai:gpt", OPENAI)
    azure_model = load_chat_model("azure:mine", AZURE)
    assert isinstance(openai_model, ChatOpenAI)
    assert isinstance(azure_model, AzureChatOpenAI)
    assert str(openai_model.root_async_client.base_url) == "https://api.openai.com/v1/"
    assert azure_model.root_async_client.base_url.host == "a.example"


def test_models_that_reason_with_tools_only_through_responses_get_them() -> None:
    names = ("gpt-5.6-luna", "gpt-6-luna", "gpt-5.4-pro", "gpt-5.3-codex", "gpt-5.4-mini", "gpt-4.1")
    chosen = [name for name in names if getattr(load_chat_model(f"openai:{name}", OPENAI), "use_responses_api", False)]
    assert chosen == ["gpt-5.6-luna", "gpt-6-luna", "gpt-5.4-pro", "gpt-5.3-codex"]


def test_the_models_to_choose_from_are_each_named_and_made_once() -> None:
    models = ConfiguredModels(OPENAI, offered=["openai:a", "openai:gpt-5.4-mini", "openai:a"])
    assert models.specs == ("openai:gpt-5.4-mini", "openai:a", "demo")
    assert models.load_model() is models.load_model("openai:gpt-5.4-mini")
    assert models.load_model("openai:a") is models.load_model("openai:a") is not models.load_model()
    assert isinstance(models.load_model("demo"), DemoChatModel)


def test_a_model_that_is_offered_and_cannot_be_made_is_told_at_the_start() -> None:
    with pytest.raises(ModelConfigurationError, match="AZURE_OPENAI_ENDPOINT"):
        ConfiguredModels(OPENAI, offered=["azure:mine"])


def test_no_key_shows_when_a_model_or_keys_are_printed() -> None:
    assert KEY not in repr(OPENAI) + repr(load_chat_model("openai:gpt", OPENAI)) + repr(load_chat_model("azure:x", AZURE))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (_refusal(400), "did not accept"),
        (_refusal(400, "content_filter"), "content filter"),
        (_refusal(400, "context_length_exceeded"), "longer than this model can read"),
        (_refusal(401), "refused the API key"),
        (_refusal(403), "does not allow"),
        (_refusal(404), "does not know this model"),
        (_refusal(408), "gave up waiting"),
        (_refusal(409), "conflicting"),
        (_refusal(422), "did not accept"),
        (_refusal(429), "try again in a moment"),
        (_refusal(429, headers={"retry-after": "17"}), "try again in 17 s"),
        (_refusal(429, headers={"retry-after": "nan"}), "in a moment"),
        (_refusal(429, "insufficient_quota"), "quota"),
        (_refusal(500), "problem on its side"),
        (_refusal(503), "problem on its side"),
        (openai.APITimeoutError(request=REQUEST), "in time"),
        (TimeoutError(), "in time"),
        (_caused(ssl.SSLCertVerificationError("bad")), "certificate"),
        (_caused(socket.gaierror("no such host")), "looked up"),
        (_caused(ConnectionRefusedError()), "Nothing answers"),
        (_caused(ConnectionResetError()), "broke off"),
        (httpx2.RemoteProtocolError("peer closed"), "broke off"),
        (json.JSONDecodeError("no", "", 0), "cannot be read"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "no"), "cannot be read"),
        (openai.ContentFilterFinishReasonError(), "content filter"),
        (openai.APIError("slow down", REQUEST, body={"code": "rate_limit_exceeded"}), "too many requests"),
        (OpenAIContextOverflowError("no", response=_refusal(400).response, body=None), "longer than this model can read"),
        (KeyError("choices"), "The model could not answer."),
        (_refusal(400, text="Use /v1/responses"), "openai-responses:NAME"),
        (_refusal(400, text="gemma:2b does not support tools"), "does not take tools"),
        (_refusal(404, text="No endpoints found that support tool use."), "does not take tools"),
        (_refusal(400, text='"auto" tool choice requires --enable-auto-tool-choice'), "does not take tools"),
        (_refusal(400, text="`tool calling` is not supported with this model"), "does not take tools"),
        (ValueError(f"ResponseError(code='rate_limit_exceeded', message='{KEY}')"), "too many requests"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_every_failure_has_a_sentence_that_shows_no_key(error: BaseException, words: str) -> None:
    sentence = describe_model_error(error)
    assert words in sentence
    assert sentence.endswith(".")
    assert "sk-" not in sentence


@pytest.mark.parametrize("text", ["messages: 3 is not valid", "The tool call ids must be unique", "Invalid tool name"])
def test_a_refusal_speaks_of_tools_only_where_the_provider_says_that_there_are_none(text: str) -> None:
    assert describe_model_error(_refusal(400, text=text)) == "The model provider did not accept the request."


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault("status", status=401), "refused the API key"),
        (Fault("status", status=404), "does not know this model"),
        (Fault("status", status=429, retry_after="0.01"), "try again in 1 s"),
        (Fault("cut", after_tokens=1), "broke off"),
        (Fault("reset", after_tokens=1), "broke off"),
        (Fault("malformed", after_tokens=1), "cannot be read"),
        (Fault("garbage", after_tokens=1), "cannot be read"),
        (Fault("error_event", after_tokens=1), "problem on its side"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_failures_at_the_wire_are_told_apart(fault: Fault, words: str) -> None:
    assert words in _failure(fault)


@pytest.mark.parametrize("fault", [Fault("hang"), Fault("hang", after_tokens=1)], ids=str)
def test_a_silent_stream_ends_after_the_idle_time(fault: Fault) -> None:
    assert "in time" in _failure(fault, idle_seconds=0.2)


def test_a_refused_connection_names_the_address_setting() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        keys = ProviderKeys(openai_base_url=f"http://127.0.0.1:{closed.getsockname()[1]}/v1")
        with pytest.raises(openai.APIConnectionError) as caught:
            asyncio.run(_streamed(load_chat_model("openai:local", keys)))
    assert "Nothing answers" in describe_model_error(caught.value)


def _endless() -> BaseException:
    """An error that is raised from the group which holds it, as `raise group.exceptions[0] from group` makes it."""
    refusal = _refusal(400)
    refusal.__cause__ = ExceptionGroup("several", [ValueError(), refusal])
    return refusal


def _deep() -> BaseException:
    error: BaseException = _refusal(400)
    for _ in range(20_000):
        above = ValueError()
        above.__cause__, error = error, above
    return error


@pytest.mark.parametrize("make", [_endless, _deep])
def test_causes_without_end_are_looked_at_once(make: Callable[[], BaseException]) -> None:
    error = make()
    assert "did not accept the request" in describe_model_error(error)
    assert retry_after(error) is None
