"""Spans at a collector of OpenTelemetry: runs, calls of models and tools, and no text of anybody."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langfuse import Langfuse
from pydantic import SecretStr

from agent.tools.calculator import calculator
from application.settings import Settings, SettingsError, load_settings
from extensions.tracing.building import build_tracer
from extensions.tracing.langfuse import LangfuseTracer
from extensions.tracing.opentelemetry import OpenTelemetryTracer
from extensions.tracing.span_ids import derive_trace_id
from tests.agent.cast import Cast, agent, ask
from tests.agent.running import model_at, raising, running, tool
from tests.fakes.langfuse import FakeLangfuse, Span
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say
from tests.fakes.otlp import FakeCollector

QUESTION, ANSWER, REASON = "the secret question", "the secret answer", "a secret reason"
ARGUMENT, RESULT = "98765437 * 97531", "9632691836047"  # no digits of a time or an id


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with FakeCollector() as fake:
        yield fake
        assert fake.violations == []


def play(collector: FakeCollector, fake: FakeOpenAI, **options: Any) -> list[Span]:
    """Ask once. Return the spans."""

    async def whole() -> None:
        tools = [calculator, tool("fail", raising(ValueError(REASON)))]
        async with model_at(fake) as model, running(model, tools, tracer=tracer, **options) as chat:
            await chat.say(QUESTION)

    tracer = OpenTelemetryTracer(collector.origin, {"x-tenant": "us"})
    with fake:
        asyncio.run(whole())
    tracer.close()
    return collector.spans


def scripted(*replies: Any) -> FakeOpenAI:
    fake = FakeOpenAI()
    fake.reply(*replies)
    return fake


def test_a_run_is_a_trace_of_its_calls_without_their_texts(collector: FakeCollector) -> None:
    calls = Calls((Call("calculator", {"expression": ARGUMENT}), Call("fail", {})))
    spans = play(collector, scripted(calls, Say(ANSWER)))
    (run,) = (span for span in spans if not span.parent)
    chats = [span for span in spans if span.name == "chat"]
    tools = {str(span["gen_ai.tool.name"]): span for span in spans if span.name == "tool"}
    assert (run.name, run["waymark.run.state"], run.is_failed) == ("run", "done", False)
    assert (
        run.trace == derive_trace_id(str(run["waymark.run.id"])) == Langfuse.create_trace_id(seed=str(run["waymark.run.id"]))
    )
    assert {span.parent for span in (*chats, *tools.values())} == {run.id}
    assert [(span["gen_ai.provider.name"], span["gen_ai.request.model"]) for span in chats] == [("openai", "some")] * 2
    assert all(span["gen_ai.usage.input_tokens"] for span in chats)
    assert {name: span.is_failed for name, span in tools.items()} == {"calculator": False, "fail": True}
    assert [text for text in (QUESTION, ANSWER, ARGUMENT, RESULT, REASON) if text.encode() in collector.received] == []
    assert {each["x-tenant"] for each in collector.headers} == {"us"}


def test_the_work_of_a_sub_agent_is_below_the_call_that_began_it(collector: FakeCollector) -> None:
    cast = Cast(main=[ask("ann", "How much?"), Say("So.")], ann=[Say("Two.")])
    spans = play(collector, cast, agents={"ann": agent("ann")})
    (call,), (work,) = ([span for span in spans if span.name == name] for name in ("tool", "agent"))
    assert work.parent == call.id
    assert [(each.name, each["gen_ai.agent.name"]) for each in spans if each.parent == work.id] == [("chat", "ann")]


def test_a_failed_run_is_a_failed_span(collector: FakeCollector) -> None:
    spans = play(collector, scripted(Fault("status", status=401)))
    assert {span.name: span.is_failed for span in spans} == {"run": True, "chat": True}


def test_the_settings_name_a_collector_and_its_headers(tmp_path: Path) -> None:
    assert build_tracer(Settings()) is None
    env = tmp_path / ".env"
    env.write_text('OTLP_ENDPOINT=http://127.0.0.1:1\nOTLP_HEADERS="Authorization=Bearer a=b, x-tenant=us"\n')
    settings = load_settings(dotenv=env)
    assert {name: each.get_secret_value() for name, each in (settings.otlp_headers or {}).items()} == {
        "Authorization": "Bearer a=b",
        "x-tenant": "us",
    }
    assert "a=b" not in repr(settings)
    assert isinstance(build_tracer(settings), OpenTelemetryTracer)
    env.write_text("OTLP_HEADERS=secret\n")
    with pytest.raises(SettingsError, match=r"^OTLP_HEADERS must be headers such as NAME=VALUE, with commas between\.$"):
        load_settings(dotenv=env)


def test_a_collector_beside_langfuse_receives_no_text(collector: FakeCollector) -> None:
    calls = Calls((Call("calculator", {"expression": ARGUMENT}), Call("goto", {"position": "msg_0", "message": REASON})))

    async def whole(fake: FakeOpenAI) -> None:
        both = LangfuseTracer(
            public_key="pk",
            secret_key=SecretStr("sk"),
            host=langfuse.origin,
            prompt_label="production",
            mask=False,
            endpoint=collector.origin,
        )
        async with model_at(fake) as model, running(model, [calculator], tracer=both, time_travel="allow") as chat:
            await chat.say(QUESTION)
            both.record(chat.store.fork(chat.thread_id, chat.path()[0].id, name=ARGUMENT).operation)
        both.close()

    with FakeLangfuse() as langfuse, scripted(calls, Say(ANSWER)) as fake:
        asyncio.run(whole(fake))
        told = b"".join(langfuse.received)
        assert [text for text in (QUESTION, ANSWER, ARGUMENT, REASON) if text.encode() not in told] == []
        run = next(trace for trace in langfuse.traces() if trace.name == "run")
        assert run.tree().splitlines() == [
            "agent run",
            "  generation answer",
            "  tool calculator",
            "  event goto",
            "  generation answer",
        ]
    assert sorted(span.name for span in collector.spans) == ["chat", "chat", "run", "tool"]
    assert {span.trace for span in collector.spans} == {run.trace}
    assert [text for text in (QUESTION, ANSWER, ARGUMENT, RESULT, REASON) if text.encode() in collector.received] == []
