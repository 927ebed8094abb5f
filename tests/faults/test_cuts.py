"""An answer cut at forty places of its bytes: what had come is kept as partial, no tool runs, and the next turn is valid."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from agent.events import TextDelta, ToolStarted
from agent.graph import retries
from agent.tools.calculator import calculator
from checkpoints import RunState
from tests.agent.running import Running, model_at, running, tool
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say

SAID = Say("Grüße aus Köln: 😀 fertig", tokens=("Grü", "ße ", "aus ", "Köln", ": ", "😀", " fertig"))
WHOLE = SAID.text
ASKED = Calls(
    (Call("calculator", {"expression": "6*7"}), Call("note", {"text": "für 😀"}, tokens=('{"text": "f', "ür ", '😀"}'))),
    text="Let me see. ",
)
BEFORE_CALLS = "Let me see. "
CUTS: list[tuple[Any, dict[str, Any], str]] = [  # what is said, where it is cut, and the text that had come by then
    *((SAID, {"after_bytes": count}, "") for count in (0, 1, 3, 5, 6, 7, 40)),  # the first are d, dat, data: and its space
    (SAID, {"within": '"role"'}, ""),
    (SAID, {"within": "ü"}, ""),
    *((SAID, {"after_tokens": count}, "".join((SAID.tokens or ())[:count])) for count in range(8)),
    (SAID, {"within": "ß"}, "Grü"),
    (SAID, {"before": "ße"}, "Grü"),
    (SAID, {"within": "ö"}, "Grüße aus "),
    (SAID, {"within": "😀"}, "Grüße aus Köln: "),
    (SAID, {"within": " fertig"}, "Grüße aus Köln: 😀"),
    (SAID, {"within": '"finish_reason":"stop"'}, WHOLE),
    (SAID, {"within": '"stop"'}, WHOLE),
    *((ASKED, {"after_tokens": count}, BEFORE_CALLS) for count in range(3, 12)),
    (ASKED, {"within": "see"}, "Let me "),
    (ASKED, {"within": '"tool_calls":['}, BEFORE_CALLS),
    (ASKED, {"within": '"id":"call_'}, BEFORE_CALLS),
    (ASKED, {"within": '"calculator"'}, BEFORE_CALLS),
    (ASKED, {"within": '"arguments"'}, BEFORE_CALLS),
    (ASKED, {"within": '"note"'}, BEFORE_CALLS),
    (ASKED, {"within": "ür "}, BEFORE_CALLS),
    (ASKED, {"within": "ü"}, BEFORE_CALLS),
    (ASKED, {"within": "😀"}, BEFORE_CALLS),
    (ASKED, {"within": '"finish_reason":"tool_calls"'}, BEFORE_CALLS),
]
AFTER_THE_FINISH: list[dict[str, Any]] = [
    {"before": "data: [DONE]"},
    {"within": "data: [DONE]"},
    {"within": '"prompt_tokens"'},
]
after_the_finish = pytest.mark.parametrize("place", AFTER_THE_FINISH, ids=lambda place: " ".join(map(str, *place.items())))


def named(cuts: list[tuple[Any, dict[str, Any], str]]) -> list[str]:
    return [f"{type(answer).__name__} {' '.join(map(str, *place.items()))}" for answer, place, _ in cuts]


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_PAUSES_SECONDS", (0.0, 0.0))


def play(fake: FakeOpenAI, *faults: Fault, text: str, state: RunState = RunState.FAILED) -> list[str]:
    """One turn after the other, each answered with a fault and followed by one that goes well; which tools ran."""
    ran: list[str] = []
    tools = (calculator, tool("note", lambda: ran.append("note")))

    async def turn(chat: Running, fault: Fault) -> None:
        fake.script(*[fault] * 3)  # while nothing of it has come, it is asked for again
        seen, said = len(chat.events), len(chat.said())
        run = await chat.say("hello")
        assert run.state is state, run.error
        told = "".join(event.text for event in chat.events[seen:] if isinstance(event, TextDelta))
        kept = ("ai", "partial" if state is RunState.FAILED else "done", text)
        assert (told, chat.said()[said + 1 :]) == (text, [kept] if text else [])
        fake.script(Say("Here again."))
        assert (await chat.say("and now?")).state is RunState.DONE
        assert chat.said()[-1] == ("ai", "done", "Here again.")

    async def story() -> None:
        async with model_at(fake) as model, running(model, tools) as chat:
            for fault in faults:
                await turn(chat, fault)
            ran.extend(event.call_id for event in chat.events if isinstance(event, ToolStarted))

    asyncio.run(story())
    return ran


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "place", "text"), CUTS, ids=named(CUTS))
def test_a_cut_answer_is_kept_as_partial_and_runs_no_tool(
    fake: FakeOpenAI, answer: Any, place: dict[str, Any], text: str
) -> None:
    faults = [Fault(kind, answer, **place) for kind in ("end", "cut")]  # ended as if it were whole; and torn off
    assert play(fake, *faults, text=text) == []


@pytest.mark.slow
@after_the_finish
def test_an_answer_is_whole_where_the_connection_is_torn_off_after_its_finish(
    fake: FakeOpenAI, place: dict[str, Any]
) -> None:
    assert play(fake, Fault("cut", SAID, **place), text=WHOLE, state=RunState.DONE) == []


@pytest.mark.slow
@after_the_finish
def test_calls_are_carried_out_where_the_connection_is_torn_off_after_their_finish(
    fake: FakeOpenAI, place: dict[str, Any]
) -> None:
    async def story() -> None:
        async with model_at(fake) as model, running(model, (calculator, tool("note", str))) as chat:
            fake.script(Fault("cut", ASKED, **place), Say("Both are done."))
            assert (await chat.say("hello")).state is RunState.DONE
            assert [kind for kind, *_ in chat.said()] == ["human", "ai", "tool", "tool", "ai"]
            assert chat.unanswered() == set()

    asyncio.run(story())


@pytest.mark.slow
def test_an_answer_that_was_said_to_be_finished_is_whole_also_when_done_never_comes(fake: FakeOpenAI) -> None:
    assert play(fake, Fault("end", SAID, before="data: [DONE]"), text=WHOLE, state=RunState.DONE) == []


def test_there_are_forty_places() -> None:
    assert len(CUTS) + 2 * len(AFTER_THE_FINISH) >= 40
