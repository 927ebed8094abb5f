"""The spans of a run at the wire: steps below the call that began them, tools, parameters, costs and labels."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import SecretStr

from agent.context.prices import ModelPrice
from agent.preparation.compaction import SummaryScope
from agent.tools.calculator import calculator
from agent.tracing.events import Feedback, TraceLabels
from checkpoints import Caller, RunState
from extensions.tracing.langfuse import LangfuseTracer
from extensions.tracing.span_ids import derive_trace_id
from tests.agent.cast import Cast, agent, ask
from tests.agent.running import Running, model_at, running, tool
from tests.fakes.langfuse import FakeLangfuse, Span
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say

LABELS = TraceLabels(environment="staging", release="1.2.3", user="ann", tags=("demo", "oslo"))
PRICES = {"openai:some": ModelPrice(input_usd=2.0, output_usd=8.0, cached_usd=0.5)}
SUM = Call("calculator", {"expression": "6 * 7"}, id="sum")


async def say_go(chat: Running) -> None:
    await chat.say("Go")


def record(
    model: FakeOpenAI, story: Callable[[Running], Awaitable[Any]] = say_go, *, mask: bool = False, **options: Any
) -> tuple[list[Span], bytes]:
    """The traces that the story sends, and every byte of them."""
    tools = [calculator, tool("send", lambda: "sent")]

    async def whole(tracer: LangfuseTracer) -> None:
        async with model_at(model) as client, running(client, tools, tracer=tracer, **options) as chat:
            await story(chat)

    with FakeLangfuse() as fake, model:
        tracer = LangfuseTracer(
            public_key="pk",
            secret_key=SecretStr("sk"),
            host=fake.origin,
            prompt_label="production",
            mask=mask,
            labels=LABELS,
            prices=PRICES,
        )
        asyncio.run(whole(tracer))
        tracer.record(Feedback("run", "message", True))
        fake.wait_for(lambda: fake.scores)
        tracer.close()
        assert [score["environment"] for score in fake.scores.values()] == ["staging"]
        assert fake.violations == []
        return [trace for trace in fake.traces() if trace.name == "run"], b"\n".join(fake.received)


def scripted(*replies: Any) -> FakeOpenAI:
    model = FakeOpenAI()
    model.reply(*replies)
    return model


def lines(trace: Span) -> list[str]:
    return trace.tree().splitlines()


def flat(trace: Span) -> list[Span]:
    return [trace, *(below for child in trace.children for below in flat(child))]


def named(trace: Span, name: str) -> Span:
    return next(span for span in flat(trace) if span.name == name)


def sent_tools(generation: Span) -> list[Any]:
    return [each["content"] for each in json.loads(str(generation["input"])) if each["role"] == "tool"]


def test_a_generation_tells_the_tools_and_parameters_of_its_request() -> None:
    async def story(chat: Running) -> None:
        chat.store.change_settings(chat.thread_id, {"temperature": "0.5", "extra_body": '{"a": "b"}'}, caller=Caller())
        await chat.say("Go")

    [run], _ = record(scripted(Say("Hi.")), story)
    generation = run.children[0]
    assert [each["function"]["name"] for each in sent_tools(generation)] == ["calculator", "send"]
    assert "expression" in sent_tools(generation)[0]["function"]["parameters"]["properties"]
    assert json.loads(str(generation["model.parameters"])) == {"temperature": 0.5}


def test_a_generation_of_a_priced_model_tells_its_cost() -> None:
    model = scripted(Say("Hi."))
    model.cached_tokens, model.reasoning_tokens = 4, 2
    [run], _ = record(model)
    usage, costs = (json.loads(str(run.children[0][name])) for name in ("usage_details", "cost_details"))
    usd = {"input": 2.0, "input_cache_read": 0.5, "output": 8.0, "output_reasoning": 8.0}
    assert costs == {"total": sum(usage[kind] * price / 1e6 for kind, price in usd.items())}


def test_a_summary_tells_its_cost_and_parameters() -> None:
    async def story(chat: Running) -> None:
        chat.store.change_settings(chat.thread_id, {"temperature": "0.5"}, caller=Caller())
        await chat.say("Go")
        await chat.end(await chat.runner.compact(chat.thread_id, SummaryScope(), caller=Caller()))

    traces, _ = record(scripted(Say("A long answer. " * 100), Say("Short.")), story)
    summary = traces[-1].children[0]
    assert (summary["metadata.agent"], summary["model.parameters"]) == ("compaction", '{"temperature": 0.5}')
    assert json.loads(str(summary["cost_details"]))["total"] > 0


def test_every_span_carries_the_operators_labels_and_the_conversations_name() -> None:
    [run], _ = record(scripted(SUM, Say("42.")))
    assert len(flat(run)) == 4
    for span in flat(run):
        assert (span["environment"], span["release"], span["user.id"]) == ("staging", "1.2.3", "ann")
        assert span["tags"] == ["demo", "oslo"]
        assert span["name"] == "Go"


def test_the_steps_of_a_sub_agent_lie_below_its_call() -> None:
    calculation = Call("calculator", {"expression": "1 + 1"})
    cast = Cast(main=[ask("ann", "How much?"), Say("So.")], ann=[calculation, Say("Two.")])
    [run], _ = record(cast, agents={"ann": agent("ann", "calculator")})
    assert lines(run) == [
        "agent run",
        "  generation answer",
        "  tool ask_agent",
        "    agent ann",
        "      generation answer",
        "      tool calculator",
        "      generation answer",
        "  generation answer",
    ]
    assert named(run, "ann")["output"] == "Two."
    assert [span.name for span in flat(run) if span["internal.is_app_root"]] == ["run"]


def test_the_branches_of_a_fork_are_named_and_lie_below_it() -> None:
    [run], _ = record(scripted(Call("fork", {"prompts": ["Try tea", "Try milk"]})), time_travel="allow")
    fork = named(run, "fork")
    assert sorted(each.name for each in fork.children) == ["branch 1: Try tea", "branch 2: Try milk"]
    assert {step.name for branch in fork.children for step in branch.children} == {"answer"}


def test_a_branch_that_fails_says_why() -> None:
    model = scripted(Call("fork", {"prompts": ["Try tea"]}), Fault("status", status=401), Say("Too bad."))
    [run], _ = record(model, time_travel="allow")
    branch = named(run, "branch 1: Try tea")
    assert (branch["level"], branch.children[0]["level"]) == ("ERROR", "ERROR")
    assert str(branch["status_message"]).startswith("The model provider refused the API key")


def test_a_call_that_waits_for_a_person_is_no_error() -> None:
    cast = Cast(main=[ask("ann", "Write.")], ann=[Call("send", {})])
    [run], _ = record(cast, agents={"ann": agent("ann", "send")}, approval=["send"])
    assert run["metadata.state"] == RunState.WAITING.value
    assert [span["level"] for span in flat(run)] == [None] * len(flat(run))
    assert named(run, "ask_agent")["metadata.state"] == "waiting"
    assert lines(run)[2:] == ["  tool ask_agent", "    agent ann", "      generation answer"]


def test_a_refused_move_has_a_span_with_the_reason() -> None:
    [run], _ = record(scripted(Call("goto", {"position": "msg_99"}), Say("Well.")), time_travel="allow")
    goto = named(run, "goto")
    assert (goto["type"], goto["level"], json.loads(str(goto["input"]))) == ("tool", "ERROR", {"position": "msg_99"})
    assert "msg_99" in str(goto["output"])


def test_a_call_with_unreadable_arguments_has_a_span_and_its_text_is_kept() -> None:
    [run], _ = record(scripted(Call("calculator", '{"expression": '), Say("Well.")))
    refused = named(run, "calculator")
    assert (refused["input"], refused["level"]) == ('{"expression": ', "ERROR")


def test_with_the_mask_nothing_of_this_holds_a_text() -> None:
    def hidden(model: FakeOpenAI, words: Sequence[bytes], **options: Any) -> Span:
        [run], sent = record(model, mask=True, **options)
        assert [word for word in (*words, b"Evaluate", b'"Go"') if word in sent] == []
        assert run["name"] == "run"
        return run

    broken = Calls((Call("calculator", '{"secret'), Call("goto", {"position": "msg_99"})))
    fork = Call("fork", {"prompts": ["Try tea"]})
    run = hidden(
        scripted(broken, fork, Say("Leaves."), Say("Well.")), [b"secret", b"msg_99", b"tea", b"Leaves"], time_travel="allow"
    )
    assert named(run, "branch 1")["output"] == "(7 characters)"
    assert str(run.children[0]["input"]).endswith(" characters)")


def test_the_trace_of_a_run_is_the_one_that_its_id_leads_to() -> None:
    async def story(chat: Running) -> None:
        ids.append((await chat.say("Go")).id)

    ids: list[str] = []
    [run], _ = record(scripted(SUM, Say("42.")), story)
    assert {span.trace for span in flat(run)} == {derive_trace_id(ids[0])}
