"""Every place where a run waits, with every way in which that fails: the run ends, and the next message works."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from langchain_core.tools import BaseTool

import agent.run.follow_up
import agent.run.outcome
from agent.events import RunFinished, WorkEnded
from agent.preparation.compaction import SummaryScope
from agent.preparation.requests import NothingToDecideError
from agent.tools.decisions import Decision
from checkpoints import Caller, MessageStatus, Run, RunActiveError, RunState, StoreUnavailableError
from tests.agent import cast as casting
from tests.agent.cast import Cast, ask
from tests.agent.running import Running, model_at, raising, running, tool
from tests.agent.tracing.test_run_trace import Listener
from tests.fakes.openai import Call, Fault, Say
from tests.rounds import sample

pytestmark = pytest.mark.slow

LONG = "The harbour of Ystad froze over that year, and nobody crossed it. " * 40
DISK = StoreUnavailableError("The disk is full.")
MODEL_FAULTS = {
    "error": Fault("status", status=400, message="No."),
    "silence": Fault("hang"),
    "silence in the middle": Fault("hang", Say("one two three"), after_tokens=1),
    "cut": Fault("cut", Say("one two three"), after_tokens=1),
    "early end": Fault("end", Say("one two three"), after_tokens=1),
}
REASONS_IN_LOG = {  # by fault: the class that the log names, and the reason
    "error": "OpenAIInvalidRequestError: HTTP 400: No.",
    "silence": "TimeoutError at ",
    "silence in the middle": "TimeoutError at ",
    "cut": "OpenAIConnectionError at ",
    "early end": "AnswerCutOff: The connection to the model was cut",
}
NAMES_IN_LOG = {fault: reason.partition(":")[0].removesuffix(" at ") for fault, reason in REASONS_IN_LOG.items()}
STORE_FAULTS = {"full disk": DISK, "own defect": RuntimeError("defect"), "cancelled": asyncio.CancelledError()}
STORE_PLACES = {  # by method: the place where a run waits for it
    "commit_message": "model",
    "save_drafts": "model",
    "end_run": "model",
    "branch_off": "branch",
    "replace_with_summary": "compaction",
}
SILENT_SECONDS = 1.5  # a model at work must answer within this also on a busy machine
END_IN_LOG = {  # by fault of the store when a run's end is written
    "own defect": "could not be written to its end: RuntimeError at ",
    "cancelled": "the task that ends it was cancelled",
}
Story = Callable[[Running, Cast], Awaitable[None]]


@dataclass(frozen=True)
class Place:
    """A place where a run waits for a model: the lines before the one that fails, and the part that has them."""

    before: Sequence[Any] = ()
    part: str = "main"
    earlier: Sequence[str] = ()  # messages of earlier runs
    compacts: bool = False
    is_survived: bool = False  # the agent goes on without the answer
    name_in_log: str = "the answer"
    lines: dict[str, Sequence[Any]] = field(default_factory=dict)  # of the other parts


PLACES = {
    "model": Place(),
    "model after a tool": Place(before=[Call("act", {})]),
    "sub-agent": Place(
        part="ann", is_survived=True, lines={"main": [ask("ann", "1"), Say("So.")]}, name_in_log="the agent ann"
    ),
    "branch": Place(before=[Call("fork", {"prompts": ["a"]})], is_survived=True, name_in_log="the branch "),
    "compaction": Place(before=[Say(LONG)], earlier=["hello"], compacts=True, name_in_log="the summary"),
}


def play(story: Story, parts: dict[str, Sequence[Any]], act: Callable[[], Any] | BaseTool = str, **more: Any) -> None:
    tools = [act if isinstance(act, BaseTool) else tool("act", act)]

    async def whole(cast: Cast) -> None:
        limits = {"watch_seconds": 0.05, **more}
        agents = {"ann": casting.agent("ann")}
        async with (
            model_at(cast) as model,
            running(model, tools, agents=agents, time_travel="allow", **limits) as chat,
        ):
            await story(chat, cast)

    with Cast(**parts) as cast:
        asyncio.run(whole(cast))


async def begin(chat: Running, place: Place) -> Run:
    for text in place.earlier:
        await chat.say(text)
    if place.compacts:
        return await chat.runner.compact(chat.thread_id, SummaryScope(), caller=Caller())
    return await chat.send("please")


def has_ended_work(chat: Running) -> bool:
    return any(isinstance(event, WorkEnded) for event in chat.events)


async def check_next_message(chat: Running, cast: Cast) -> None:
    for lines in cast.parts.values():
        lines.clear()
    assert (await chat.say("and now?")).state is RunState.DONE
    assert chat.unanswered() == set()
    assert cast.violations == []


@pytest.mark.parametrize(("name", "fault"), sample(product(PLACES, MODEL_FAULTS), 9))
def test_a_model_that_fails_ends_the_run_with_a_sentence_or_is_survived(
    name: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = PLACES[name]
    parts = {**place.lines, place.part: [*place.before, MODEL_FAULTS[fault], *([Say("So.")] if place.is_survived else [])]}

    async def story(chat: Running, cast: Cast) -> None:
        run = await begin(chat, place)
        ended = await chat.end(run)
        assert ended.state is (RunState.DONE if place.is_survived else RunState.FAILED)
        assert f"run {run.id} failed in {place.name_in_log}" in caplog.text
        assert f": {REASONS_IN_LOG[fault]}" in caplog.text
        await check_next_message(chat, cast)

    play(story, parts, idle_seconds=SILENT_SECONDS if "silence" in fault else 60)


@pytest.mark.parametrize("state", [RunState.STOPPED, RunState.INTERRUPTED])
@pytest.mark.parametrize("name", PLACES)
def test_stop_and_a_stray_cancellation_work_while_a_model_is_silent(
    name: str, state: RunState, caplog: pytest.LogCaptureFixture
) -> None:
    place = PLACES[name]

    async def story(chat: Running, cast: Cast) -> None:
        run = await begin(chat, place)
        asked = len(place.before) + sum(len(lines) > 0 for lines in place.lines.values()) + 1
        await chat.until(lambda: len(cast.requests) >= asked)
        if state is RunState.STOPPED:
            await chat.runner.stop(chat.thread_id)
        else:
            chat.runner.active_runs.by_thread[chat.thread_id].work.cancel()
        assert (await chat.end(run)).state is state
        assert (f"run {run.id} was cut off: its work was cancelled" in caplog.text) is (state is RunState.INTERRUPTED)
        await check_next_message(chat, cast)

    play(story, {**place.lines, place.part: [*place.before, Fault("hang")]})


@pytest.mark.parametrize(("method", "fault"), sample(product(STORE_PLACES, STORE_FAULTS), 8))
def test_a_store_that_fails_once_or_for_a_while_holds_no_thread(
    method: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = PLACES[STORE_PLACES[method]]

    async def story(chat: Running, cast: Cast) -> None:
        for text in place.earlier:
            await chat.say(text)
        with monkeypatch.context() as broken:
            broken.setattr(chat.runs, method, lambda *_, **__: raising(STORE_FAULTS[fault])())
            before = len(chat.events)
            await begin(chat, Place(compacts=place.compacts))
            await chat.until(lambda: any(isinstance(event, RunFinished | WorkEnded) for event in chat.events[before:]))
        await chat.until(lambda: chat.thread_id not in chat.runs.list_running_threads())
        await check_next_message(chat, cast)

    play(story, {"main": [*place.before, Say("one two three")]})


@pytest.mark.parametrize("fault", ["full disk", "own defect"])
def test_a_call_that_waits_for_a_person_waits_on_when_the_decision_cannot_be_written(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("please")).state is RunState.WAITING
        (waiting,) = chat.runner.inputs.load_waiting_calls(chat.thread_id)
        decision = Decision(waiting.call["id"] or "", "allow")
        with monkeypatch.context() as broken:
            broken.setattr(chat.runs, "begin_run", lambda *_, **__: raising(STORE_FAULTS[fault])())
            with pytest.raises(type(STORE_FAULTS[fault])):
                await chat.runner.decide(chat.thread_id, decision, caller=Caller())
        run = await chat.runner.decide(chat.thread_id, decision, caller=Caller())
        assert (await chat.end(run)).state is RunState.DONE
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So.")]}, approval=["act"])


def test_a_decision_that_arrives_while_the_run_comes_to_rest_is_refused_and_then_taken() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        is_ending, may_end, end = threading.Event(), threading.Event(), chat.runs.end_run

        def end_slowly(*args: Any, **options: Any) -> int:
            is_ending.set()
            assert may_end.wait(60)
            return end(*args, **options)

        chat.runs.end_run = end_slowly  # type: ignore[method-assign]
        run = await chat.send("please")
        await chat.until(is_ending.is_set)
        decision = Decision(str(chat.path()[-1].langchain.tool_calls[0]["id"]), "allow")  # type: ignore[union-attr]
        with pytest.raises((RunActiveError, NothingToDecideError)):
            await chat.runner.decide(chat.thread_id, decision, caller=Caller())
        may_end.set()
        assert (await chat.end(run)).state is RunState.WAITING
        assert (await chat.end(await chat.runner.decide(chat.thread_id, decision, caller=Caller()))).state is RunState.DONE
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So.")]}, approval=["act"])


def test_of_a_decision_and_a_message_at_once_one_is_taken() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("please")
        (waiting,) = chat.runner.inputs.load_waiting_calls(chat.thread_id)
        decision = Decision(waiting.call["id"] or "", "allow")
        deciding = chat.runner.decide(chat.thread_id, decision, caller=Caller())
        results = await asyncio.gather(deciding, chat.send("never mind"), return_exceptions=True)
        (run,) = [result for result in results if isinstance(result, Run)]
        assert (await chat.end(run)).state is RunState.DONE
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So.")]}, approval=["act"])


def lose_end(chat: Running, broken: pytest.MonkeyPatch, fault: str) -> None:
    broken.setattr(chat.runs, "end_run", lambda *_, **__: raising(STORE_FAULTS[fault])())


def test_a_run_whose_rest_is_written_when_there_is_room_again_waits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        with monkeypatch.context() as broken:
            lose_end(chat, broken, "full disk")
            run = await chat.send("please")
            await chat.until(lambda: has_ended_work(chat))
        assert (await chat.end(run)).state is RunState.WAITING
        decision = Decision(str(chat.path()[1].langchain.tool_calls[0]["id"]), "allow")  # type: ignore[union-attr]
        assert (await chat.end(await chat.runner.decide(chat.thread_id, decision, caller=Caller()))).state is RunState.DONE
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So.")]}, approval=["act"])


@pytest.mark.parametrize("fault", END_IN_LOG)
def test_a_run_that_cannot_be_written_to_rest_gives_its_waiting_call_up(
    fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        with monkeypatch.context() as broken:
            lose_end(chat, broken, fault)
            run = await chat.send("please")
            await chat.until(lambda: not chat.runner.active_runs.by_thread)
        await chat.until(lambda: chat.thread_id not in chat.runs.list_running_threads())
        await chat.until(lambda: f"run {run.id} was interrupted" in caplog.text)
        assert f"{run.id}{':' if fault == 'cancelled' else ''} {END_IN_LOG[fault]}" in caplog.text
        decision = Decision(str(chat.path()[1].langchain.tool_calls[0]["id"]), "allow")  # type: ignore[union-attr]
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, decision, caller=Caller())
        assert (await chat.say("and now?")).state is RunState.DONE
        assert cast.violations == []

    play(story, {"main": [Call("act", {})]}, approval=["act"])


VERDICT = Say(json.dumps({"should_save": True, "reason": "It is settled.", "suggested_name": "The end"}))
JUDGE_FAULTS = MODEL_FAULTS | {"no verdict": Say("I would save it.")}
NAMES_OF_JUDGE = NAMES_IN_LOG | {"error": "OpenAIInvalidRequestError", "no verdict": "UnreadableVerdictError"}


@pytest.mark.parametrize("fault", JUDGE_FAULTS)
def test_a_judge_that_fails_harms_nothing(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.say("please")
        assert run.state is RunState.DONE
        await chat.until(lambda: f"of run {run.id} ({NAMES_OF_JUDGE[fault]})" in caplog.text)
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So."), JUDGE_FAULTS[fault]]}, judge=SILENT_SECONDS)


def test_nothing_waits_for_a_silent_judge() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("please")
        await chat.until(lambda: len(cast.requests) == 3)
        assert not await chat.runner.stop(chat.thread_id)
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So."), Fault("hang")]}, judge=600)


class BrokenTracer(Listener):
    """A tracer that fails with whatever a run or the judge tells it."""

    def record(self, event: object) -> None:
        raise RuntimeError("defect")


def test_a_judge_that_cannot_describe_its_failure_logs_that(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.say("please")
        await chat.until(lambda: f"of run {run.id} (OpenAIInvalidRequestError)" in caplog.text)
        await check_next_message(chat, cast)

    monkeypatch.setattr(agent.run.follow_up, "describe_model_error", lambda _: raising(RuntimeError("defect"))())
    play(story, {"main": [Call("act", {}), Say("So."), MODEL_FAULTS["error"]]}, judge=60)
    assert "could not be described: RuntimeError at " in caplog.text


def test_a_tracer_that_fails_costs_no_run_its_end_and_no_state_its_milestone(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("please")
        await chat.until(lambda: [each.created_by for each in chat.store.list_checkpoints(chat.thread_id)] == ["judge"])
        cast.reply(MODEL_FAULTS["error"])
        assert (await chat.say("again")).state is RunState.FAILED
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So."), VERDICT]}, tracer=BrokenTracer(), judge=60)
    assert "a tracer failed" in caplog.text


@pytest.mark.parametrize("name", ["describe_model_error", "read_provider_words"])
def test_a_failure_in_the_description_of_a_failure_ends_its_run(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(agent.run.outcome, name, lambda _: raising(RuntimeError("defect"))())
            run = await chat.say("please")
        assert run.state is RunState.FAILED
        assert f"run {run.id} failed in the answer: OpenAIInvalidRequestError" in caplog.text
        assert ": RuntimeError at " in caplog.text
        await check_next_message(chat, cast)

    play(story, {"main": [MODEL_FAULTS["error"]]})


EVENTS = {  # the log, by the event that cannot be published
    "RunStarted": "nobody drove it",
    "TextDelta": " failed in the answer: RuntimeError at ",
    "MessageAdded": " failed in the answer: RuntimeError at ",
    "RunFinished": "could not be written to its end: RuntimeError at ",
}


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_that_cannot_be_published_holds_no_thread(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        publish, failures = chat.hub.publish, [RuntimeError("defect")]

        def fail_once(thread_id: str, event: Any) -> None:
            if type(event).__name__ == kind and failures:
                raise failures.pop()
            publish(thread_id, event)

        chat.hub.publish = fail_once  # type: ignore[method-assign]
        with contextlib.suppress(RuntimeError):  # of the start
            await chat.send("please")
        await chat.until(lambda: not failures and not chat.runs.list_running_threads())
        await chat.until(lambda: not chat.runner.active_runs.by_thread)
        await chat.until(lambda: EVENTS[kind] in caplog.text)
        await check_next_message(chat, cast)

    play(story, {})


def test_a_sub_agents_failure_that_cannot_be_written_ends_the_run(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        commit = chat.runs.commit_message

        def refuse_partial(run: Run, new: Any, **options: Any) -> Any:
            return raising(DISK)() if new.status is MessageStatus.PARTIAL else commit(run, new, **options)

        chat.runs.commit_message = refuse_partial  # type: ignore[method-assign]
        run = await chat.say("please")
        assert (run.state, str(run.error)[:17]) == (RunState.FAILED, "The disk is full.")
        assert f"run {run.id} failed in the answer: StoreUnavailableError: The disk is full." in caplog.text
        await check_next_message(chat, cast)

    play(story, {"main": [ask("ann", "1")], "ann": [MODEL_FAULTS["cut"]]})


@pytest.mark.parametrize("fault", STORE_FAULTS)
def test_a_watchdog_that_fails_looks_again(
    fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(chat.runs, "list_running_threads", raising(STORE_FAULTS[fault]))
            lose_end(chat, broken, "own defect")
            run = await chat.send("please")
            error = STORE_FAULTS[fault]
            cause = str(error) if isinstance(error, StoreUnavailableError) else f"{type(error).__name__} at "
            await chat.until(lambda: f"whether all runs are driven could not be seen: {cause}" in caplog.text)
            await chat.until(lambda: not chat.runner.active_runs.by_thread)  # and its end is not written
        await chat.until(lambda: f"run {run.id} was interrupted" in caplog.text)
        await check_next_message(chat, cast)

    play(story, {})


@pytest.mark.parametrize("fault", STORE_FAULTS)
def test_drafts_that_cannot_be_written_are_written_later(
    fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        tries = list[int]()
        with monkeypatch.context() as broken:
            broken.setattr(chat.runs, "save_drafts", lambda *_: tries.append(1) or raising(STORE_FAULTS[fault])())  # type: ignore[func-returns-value]
            await chat.send("please")
            await chat.until(lambda: len(tries) > 2)
        await chat.until(lambda: chat.runs.get_latest_run(chat.thread_id).draft.text)  # type: ignore[union-attr]
        await chat.until(lambda: "drafts are kept again" in caplog.text)
        await chat.runner.stop(chat.thread_id)
        await check_next_message(chat, cast)

    play(story, {"main": [MODEL_FAULTS["silence in the middle"]]})
    sentence = f"no drafts were kept: {DISK if fault == 'full disk' else type(STORE_FAULTS[fault]).__name__}"
    assert caplog.text.count(sentence) == 1
