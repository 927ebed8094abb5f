"""A redirect takes no key and no conversation to another address, and the user or the log hears of it."""

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import closing

import pytest
from langchain_core.tools import ToolException
from pydantic import SecretStr

from agent.models.catalog import load_chat_model
from agent.models.errors import describe_model_error
from agent.models.keys import ProviderKeys
from agent.models.provider_words import read_provider_words
from agent.tools.mcp_transports import open_address
from agent.tools.web_search import make_web_search_tool
from agent.tracing.events import Feedback, RunBegun, RunEnded
from checkpoints import RunState
from extensions.tracing.langfuse import LangfuseTracer
from extensions.tracing.opentelemetry import OpenTelemetryTracer
from tests.app_process import PATIENCE
from tests.fakes.recording_site import RecordingSite

KEY = SecretStr("plain-key-0987654321")


@pytest.fixture
def other() -> Iterator[RecordingSite]:
    with closing(RecordingSite()) as site:
        yield site


@pytest.fixture
def redirecting(other: RecordingSite) -> Iterator[RecordingSite]:
    with closing(RecordingSite(other.address)) as site:
        yield site


def find_error(work: Awaitable[object]) -> BaseException:
    async def collect() -> BaseException:
        [error] = await asyncio.gather(work, return_exceptions=True)
        assert isinstance(error, BaseException)
        return error

    return asyncio.run(collect())


@pytest.mark.parametrize("spec", ["openai:some", "openai-responses:some", "azure:some", "anthropic:claude-opus-5"])
def test_a_model_behind_a_redirect_is_not_asked(
    spec: str, other: RecordingSite, redirecting: RecordingSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spec.startswith("anthropic"):
        pytest.importorskip("langchain_anthropic", reason="requirements-dev.txt installs it")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", redirecting.address)
    keys = ProviderKeys(
        openai_api_key=KEY,
        openai_base_url=redirecting.address,
        azure_openai_api_key=KEY,
        azure_openai_endpoint=redirecting.address,
        other_keys={"ANTHROPIC_API_KEY": KEY},
    )
    error = find_error(load_chat_model(spec, keys).ainvoke("my secret plan"))
    assert (bool(redirecting.paths), other.paths) == (True, [])
    assert "redirects to another one" in describe_model_error(error)
    assert str(read_provider_words(error)).startswith("HTTP 307: ")


def test_a_search_is_not_redirected(other: RecordingSite, redirecting: RecordingSite) -> None:
    search = make_web_search_tool(KEY, redirecting.address)
    with pytest.raises(ToolException, match="Web search failed"):
        asyncio.run(search.ainvoke({"query": "my secret plan"}))
    assert (len(redirecting.paths), other.paths) == (1, [])


def test_traces_scores_and_prompts_are_not_redirected(
    other: RecordingSite, redirecting: RecordingSite, caplog: pytest.LogCaptureFixture
) -> None:
    tracer = LangfuseTracer(public_key="pk", secret_key=KEY, host=redirecting.address, prompt_label="production", mask=False)
    tracer.record(RunBegun("run", "thread", 1, "my secret plan", None))
    tracer.record(RunEnded("run", 2, RunState.DONE, None, "a plan"))
    tracer.record(Feedback("run", "message", is_good=True))
    tracer.close()
    assert {"/api/public/otel/v1/traces", "/api/public/scores"} <= set(redirecting.paths)
    assert other.paths == []
    assert "Langfuse does not take or give what it should" in caplog.text


def test_spans_are_not_redirected(
    other: RecordingSite, redirecting: RecordingSite, caplog: pytest.LogCaptureFixture
) -> None:
    tracer = OpenTelemetryTracer(redirecting.address, {"Authorization": KEY.get_secret_value()})
    tracer.record(RunBegun("run", "thread", 1, "my secret plan", None))
    tracer.record(RunEnded("run", 2, RunState.DONE, None, "a plan"))
    tracer.close()
    end = time.monotonic() + PATIENCE  # the exporter tries again before it gives up
    while "OTLP_ENDPOINT" not in caplog.text:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert (bool(redirecting.paths), other.paths) == (True, [])


def test_an_mcp_server_behind_a_redirect_gets_nothing(other: RecordingSite, redirecting: RecordingSite) -> None:
    from mcp import ClientSession

    async def story() -> None:
        async with (
            open_address(redirecting.address, {"Authorization": KEY.get_secret_value()}) as (received, sent),
            ClientSession(received, sent) as session,
        ):
            await session.initialize()

    find_error(asyncio.wait_for(story(), 20))
    assert (bool(redirecting.paths), other.paths) == (True, [])
