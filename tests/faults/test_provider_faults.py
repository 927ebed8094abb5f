"""Every way in which a provider can fail: a sentence soon, the text kept, tries to count, and the next turn works."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import SecretStr

from agent.events import TextDelta
from agent.graph import retries
from agent.graph.retries import RETRY_PAUSES_SECONDS
from agent.models.catalog import load_chat_model
from agent.models.keys import ProviderKeys
from checkpoints import Run, RunState
from tests.agent.running import KEY, Running, running
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say
from tests.fakes.server import silent_port
from tests.rounds import sample

IDLE_SECONDS = 1.5  # where a silence is the fault
PATIENT_SECONDS = 20.0  # elsewhere, also on a machine that has much else to do
SOON = 15.0  # seconds: half of what a provider asks for below
TRIES = 1 + len(RETRY_PAUSES_SECONDS)
SAID = Say("one two three four")
AFTER_TWO: Any = {"reply": SAID, "after_tokens": 2}
IN_TIME = "did not answer in time"


def refused(status: int, **options: Any) -> Fault:
    return Fault("status", status=status, **options)


@dataclass(frozen=True)
class Case:
    """What the provider does, each time it is asked; what is said of it, what is kept, and how often it is asked."""

    reply: Any
    sentence: str
    text: str = ""
    tries: int = 1


CASES = {
    "401": Case(refused(401), "refused the API key"),
    "403": Case(refused(403), "does not allow"),
    "404, no such model": Case(refused(404), "does not know this model"),
    "408": Case(refused(408), "gave up waiting", tries=TRIES),
    "409": Case(refused(409), "conflicting", tries=TRIES),
    "429": Case(refused(429), "too many requests; try again in a moment", tries=TRIES),
    "429, again at once": Case(refused(429, retry_after="0"), "try again in 1 s", tries=TRIES),
    "429, again in half a minute": Case(refused(429, retry_after="30"), "try again in 30 s"),
    "429, again tomorrow": Case(refused(429, retry_after="86400"), "try again later"),
    "429, nothing left to spend": Case(refused(429, code="insufficient_quota"), "quota"),
    "500": Case(refused(500), "problem on its side", tries=TRIES),
    "503": Case(refused(503), "problem on its side", tries=TRIES),
    "reset at once": Case(Fault("reset"), "broke off", tries=TRIES),
    "closed at once": Case(Fault("cut"), "broke off", tries=TRIES),
    "torn off": Case(Fault("cut", **AFTER_TWO), "broke off", "one two "),
    "ended too early": Case(Fault("end", **AFTER_TWO), "was cut before", "one two "),
    "slow first byte": Case(Fault("hang"), IN_TIME),
    "slow drip": Case(Fault("drip", SAID, seconds=0.1), IN_TIME),
    "hang": Case(Fault("hang", **AFTER_TWO), IN_TIME, "one two "),
    "hang before the first token": Case(Fault("hang", SAID, after_tokens=0), IN_TIME),
    "malformed SSE": Case(Fault("malformed", **AFTER_TWO), "cannot be read", "one two "),
    "no UTF-8": Case(Fault("garbage", **AFTER_TWO), "cannot be read", "one two "),
    "error in the stream": Case(Fault("error_event", **AFTER_TWO), "problem on its side", "one two "),
    "error before the first token": Case(Fault("error_event", SAID, after_tokens=0), "on its side", tries=TRIES),
    "content filter": Case(Say("one two ", finish="content_filter"), "content filter", "one two "),
    "content filter, refused": Case(refused(400, code="content_filter"), "content filter"),
    "length": Case(Say("one two ", finish="length"), "length limit", "one two "),
    "context exceeded": Case(refused(400, code="context_length_exceeded"), "longer than this model can read"),
    "empty choice": Case(Fault("empty_choices"), "The model said nothing"),
    "no finish in a call": Case(Call("calculator", {"expression": "1"}, finish="length"), "length limit"),
}


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@asynccontextmanager
async def talking(address: str, idle_seconds: float = PATIENT_SECONDS) -> AsyncIterator[Running]:
    """A conversation with a provider at this address."""
    keys = ProviderKeys(openai_api_key=SecretStr(KEY), openai_base_url=address, idle_seconds=idle_seconds)
    model: Any = load_chat_model("openai:some", keys)
    async with running(model, idle_seconds=idle_seconds) as chat:
        yield chat
    await model.root_async_client.close()


async def tell(address: str, text: str = "hello") -> tuple[Run, Running]:
    """One turn with it."""
    async with talking(address) as chat:
        return await chat.say(text), chat


@pytest.mark.parametrize("name", sample(CASES, 15))
def test_a_fault_is_one_sentence_and_the_next_turn_works(
    fake: FakeOpenAI, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.setattr(retries, "RETRY_PAUSES_SECONDS", (0.01, 0.02))

    async def story() -> None:
        async with talking(fake.base_url, IDLE_SECONDS if case.sentence is IN_TIME else PATIENT_SECONDS) as chat:
            asked = len(fake.requests)
            fake.script(*[case.reply] * case.tries)
            run = await asyncio.wait_for(chat.say("hello"), SOON)
            assert run.state is RunState.FAILED
            assert case.sentence in str(run.error)
            assert KEY[:8] not in str(run.error)
            assert len(fake.requests) - asked == case.tries
            kept = "".join(event.text for event in chat.events if isinstance(event, TextDelta))
            assert (kept, chat.said()[1:]) == (case.text, [("ai", "partial", kept)] if kept else [])
            fake.script(Say("Here again."))
            assert (await chat.say("and now?")).state is RunState.DONE
            assert chat.said()[-1] == ("ai", "done", "Here again.")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (Call("calculator", '{"expression": "1+'), "not a JSON object"),
        (Call("multi_tool_use.parallel", {}), "There is no tool 'multi_tool_use.parallel'"),
        (Call("", {}), "There is no tool 'unknown'"),
        (Call("calculator", {"expression": "2+3"}, id="chatcmpl-tool-" + "0123456789abcdef" * 2), "5"),
    ],
    ids=["invalid arguments", "unknown tool", "tool without a name", "id longer than OpenAI takes"],
)
def test_a_call_that_cannot_be_sent_back_as_it_came_is_mended(fake: FakeOpenAI, call: Call, told: str) -> None:
    async def story() -> None:
        async with talking(fake.base_url) as chat:
            fake.script(call, Say("I see."), Say("Again."))
            assert (await chat.say("hello")).state is RunState.DONE
            assert told in chat.said()[2][2]
            assert (await chat.say("and now?")).state is RunState.DONE

    asyncio.run(story())


def test_a_passing_failure_is_tried_again_after_growing_pauses_and_the_user_sees_only_the_answer(fake: FakeOpenAI) -> None:
    fake.script(refused(503), Fault("reset"), SAID)
    asked, times = len(fake.requests), len(fake.first_byte_times)
    run, chat = asyncio.run(tell(fake.base_url))
    assert run.state is RunState.DONE
    assert len(fake.requests) - asked == 3
    refusal, answer = fake.first_byte_times[times:]
    assert answer - refusal > 0.75 * sum(RETRY_PAUSES_SECONDS)
    assert chat.heard() == "one two three four"


def test_a_stop_ends_the_pause_before_the_next_try(fake: FakeOpenAI) -> None:
    async def story() -> None:
        async with talking(fake.base_url) as chat:
            asked = len(fake.requests)
            fake.script(refused(503, retry_after="3"), SAID)
            run = await chat.send("hello")
            await chat.until(lambda: len(fake.requests) > asked)
            await asyncio.wait_for(chat.runner.stop(chat.thread_id), SOON)
            assert (await chat.end(run)).state is RunState.STOPPED
            assert len(fake.requests) - asked == 1

    asyncio.run(story())


def test_a_provider_that_cannot_be_reached_is_said_to_be_so(fake: FakeOpenAI) -> None:
    without_tls = fake.base_url.replace("http", "https")
    with silent_port() as port:
        for address, sentence in ((f"http://127.0.0.1:{port}/v1", "Nothing answers"), (without_tls, "secure connection")):
            run, _ = asyncio.run(tell(address))
            assert run.state is RunState.FAILED
            assert sentence in str(run.error)
