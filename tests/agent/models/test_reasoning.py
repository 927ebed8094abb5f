"""Reasoning is kept with the answer and sent back as its provider wants it, and nothing else is sent."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage

from agent.models.reasoning import restore_reasoning
from checkpoints import Caller, RunState
from checkpoints.values.reasoning import Reasoning
from tests.agent.running import Running, model_at, running
from tests.fakes.faults import Frame
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say

SUM = Call("calculator", {"expression": "6 * 7"}, thought="The user wants a product.")
TOTAL = Say("It is 42.", thought="The tool says 42.")
CHAT, RESPONSES = "openai:some", "openai-responses:some"
BOTH = pytest.mark.parametrize("spec", [CHAT, RESPONSES])
Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


def play(story: Story, *replies: Any, spec: str = CHAT, manner: Any = "openai", refused: int = 0) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake, spec) as model, running(model) as chat:
            await story(chat, fake)

    with FakeOpenAI() as fake:
        fake.manner = manner
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert len(fake.violations) == refused, fake.violations


def thoughts(chat: Running) -> list[str]:
    """The reasoning kept with each answer of the main path."""
    return [kept.text if (kept := Reasoning.of(each.langchain)) else "" for each in chat.path() if each.type == "ai"]


def test_an_answer_of_deepseek_that_calls_a_tool_goes_back_with_its_reasoning() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("what is 6*7?")).state is RunState.DONE
        answers = [message for message in fake.requests[-1]["messages"] if message["role"] == "assistant"]
        assert [message["reasoning_content"] for message in answers] == ["The user wants a product."]
        assert (await chat.say("thanks")).state is RunState.DONE

    play(story, SUM, TOTAL, Say("Welcome."), manner="deepseek")


def test_a_call_of_gemini_goes_back_with_its_signature() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("what is 6*7?")).state is RunState.DONE
        assert (await chat.say("thanks")).state is RunState.DONE
        call = fake.requests[-1]["messages"][2]["tool_calls"][0]
        assert call["extra_content"]["google"]["thought_signature"].startswith("signature of")

    play(story, Calls((SUM, Call("calculator", {"expression": "1 + 1"}))), TOTAL, Say("Welcome."), manner="gemini")


@BOTH
def test_reasoning_is_heard_as_it_comes_and_kept_with_its_answer(spec: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("what is 6*7?")
        assert chat.thought() == "The user wants a product.The tool says 42."
        assert thoughts(chat) == ["The user wants a product.", "The tool says 42."]
        assert chat.heard() == "It is 42."

    play(story, SUM, TOTAL, spec=spec, manner="deepseek")


class OpenModelServer(FakeOpenAI):
    """Responses of an open model: the reasoning itself comes where OpenAI sends a summary."""

    SPELLINGS = ((b"reasoning_summary_text", b"reasoning_text"), (b'"summary_index"', b'"content_index"'),
        (b'"summary":[{"type":"summary_text"', b'"summary":[],"content":[{"type":"reasoning_text"'))  # fmt: skip

    def answer(self, *given: Any) -> tuple[list[Frame], str]:
        frames, kind = super().answer(*given)
        for old, new in self.SPELLINGS:
            frames = [Frame(frame.data.replace(old, new), frame.token) for frame in frames]
        return [frame for frame in frames if b"summary_part" not in frame.data], kind


@pytest.mark.parametrize("refusals", [0, 1], ids=["streamed", "whole"])
def test_the_reasoning_of_open_models_is_read_in_responses(refusals: int) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake, RESPONSES) as model, running(model) as chat:
            await chat.say("what is 6*7?")
            assert thoughts(chat) == ["The user wants a product.", "The tool says 42."]
            assert chat.said()[-1][2] == "It is 42."

    with OpenModelServer() as fake:
        fake.reply(*[Fault("status", status=400, message="Cannot stream.")] * refusals, SUM, TOTAL)
        asyncio.run(whole(fake))


def test_items_of_responses_go_back_in_their_places_while_a_turn_calls_tools() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("what is 6*7?")
        kinds = [item.get("type", "message") for item in fake.requests[-1]["input"]]
        assert kinds == ["message", "message", "reasoning", "message", "function_call", "function_call_output"]
        assert fake.requests[-1]["input"][2]["encrypted_content"] == "enc_1"
        await chat.say("thanks")
        assert (await chat.say("and?")).state is RunState.DONE
        plain = [item for item in fake.requests[-1]["input"] if item.get("type") == "reasoning"]
        assert [item["encrypted_content"] for item in plain] == ["enc_1", "enc_2"]  # not that of “Welcome.”

    called = Call("calculator", {"expression": "6 * 7"}, text="Let me see.", thought="A product.")
    play(story, called, TOTAL, Say("Welcome."), Say("Yes."), spec=RESPONSES)


@pytest.mark.parametrize(
    ("message", "missing"),
    [
        ("Your organization must be verified to generate reasoning summaries.", "reasoning"),
        ("Encrypted content is not supported with this model.", "include"),
    ],
)
def test_what_a_server_of_responses_refuses_is_not_asked_again(message: str, missing: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert (await chat.say("again")).state is RunState.DONE
        assert [missing in request for request in fake.requests] == [True, False, False]

    play(story, Fault("status", status=400, message=message), Say("Hello."), Say("Again."), spec=RESPONSES)


@pytest.mark.usefixtures("refusals_expected")
@pytest.mark.parametrize(("manner", "now"), [("deepseek", "reasoning_content"), ("gemini", "extra_content")])
def test_a_call_of_another_model_never_leads_to_a_refusal(manner: Any, now: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("what is 6*7?")
        fake.manner = manner  # the same conversation, now with a server of other rules
        assert (await chat.say("thanks")).state is RunState.DONE
        assert (await chat.say("bye")).state is RunState.DONE
        assert now in str(fake.requests[-1]["messages"])

    play(story, Call("calculator", {"expression": "6 * 7"}), Say("It is 42."), refused=1)


@pytest.mark.usefixtures("refusals_expected")
def test_reasoning_that_is_refused_is_left_out_of_that_request() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("what is 6*7?")
        fake.issued.clear()  # as after a change of the key: the service cannot read its own items any more
        assert (await chat.say("thanks")).state is RunState.DONE
        assert "reasoning" not in [item.get("type") for item in fake.requests[-1]["input"]]

    play(story, SUM, TOTAL, Say("Welcome."), spec=RESPONSES, refused=1)


THINK = "<think>\nIt is easy.\n</think>\n\nHello there."


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_tags_of_local_models_are_reasoning_however_they_are_cut(size: int) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert (chat.said()[-1][2], chat.heard()) == ("Hello there.", "Hello there.")
        assert thoughts(chat) == ["It is easy.\n"]

    pieces = tuple(THINK[at : at + size] for at in range(0, len(THINK), size))
    play(story, Say(THINK, tokens=pieces))


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("<think>\n\n</think>\n\nHello", "Hello", ""),
        ("  <think>a</think>b", "b", "a"),
        ("Use <think> tags", "Use <think> tags", ""),
        ("<th", "<th", ""),
        ("<thinking>a</thinking>b", "b", "a"),
    ],
)
def test_tags_count_only_at_the_beginning_and_need_no_end(text: str, said: str, thought: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert (chat.said()[-1][2], thoughts(chat)) == (said, [thought])

    play(story, Say(text, tokens=tuple(text)))


LONE = "[msg_2] The user greets.\nI greet.\n</think>\n\nHello there."


@pytest.mark.parametrize("size", [1, 7, 100])
def test_text_before_a_lone_closing_tag_is_withdrawn_and_becomes_reasoning(size: int) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert (chat.said()[-1][2], chat.heard()) == ("Hello there.", "Hello there.")
        assert thoughts(chat) == [LONE.partition("</think>")[0]]
        assert thoughts(chat)[0].endswith(chat.thought())

    play(story, Say(LONE, tokens=tuple(LONE[at : at + size] for at in range(0, len(LONE), size))))


def test_what_is_kept_of_a_stopped_answer_has_no_withdrawn_text() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(after_tokens=3)
        run = await chat.send("hello")
        await chat.until(lambda: chat.heard() == "Hello ")
        await chat.runner.stop(run.thread_id)
        await chat.end(run)
        assert (chat.said()[-1], thoughts(chat)) == (("ai", "partial", "Hello "), ["Hm. So."])

    play(story, Say("Hm. So.</think>Hello there.", tokens=("Hm. ", "So.</think>", "Hello ", "there.")))


def test_a_lone_closing_tag_beside_a_field_of_reasoning_is_text() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("which tag?")
        assert (chat.said()[-1][2], thoughts(chat)) == ("It is </think> here.", ["Hm."])

    play(story, Say("It is </think> here.", thought="Hm."), manner="deepseek")


def test_a_thought_without_an_end_and_an_answer_is_no_answer() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.say("hello")
        assert (chat.said()[-1], run.error) == (("ai", "partial", ""), "The model reasoned but gave no answer; try again.")
        assert thoughts(chat) == ["for ever"]

    play(story, Say("<think>for ever", tokens=tuple("<think>for ever")))


def test_thoughts_are_kept_when_the_run_is_stopped_before_its_answer_and_not_sent_again() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(after_tokens=2)
        run = await chat.send("hello")
        await chat.until(chat.thought)
        await chat.runner.stop(run.thread_id)
        await chat.end(run)
        assert (chat.said()[-1], len(thoughts(chat))) == (("ai", "partial", ""), 1)
        assert chat.thought().startswith(thoughts(chat)[0])
        fake.release()
        await chat.end(await chat.runner.continue_answer(chat.thread_id, caller=Caller()))
        assert [message["role"] for message in fake.requests[-1]["messages"]] == ["system", "user"]

    play(story, Say("Hi.", thought="One two three four"), Say("Hi."), manner="deepseek")


def test_an_answer_that_is_stopped_keeps_its_reasoning() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(after_tokens=5)
        run = await chat.send("hello")
        await chat.until(chat.heard)
        await chat.runner.stop(run.thread_id)
        await chat.end(run)
        assert chat.said()[-1][:2] == ("ai", "partial")
        assert thoughts(chat) == ["One two three"]
        fake.release()
        assert (await chat.say("go on")).state is RunState.DONE

    play(
        story,
        Say("four five six", tokens=("four ", "five ", "six"), thought="One two three"),
        Say("Six."),
        manner="deepseek",
    )


def test_another_model_or_address_gets_no_reasoning_and_no_fields_back() -> None:
    kept = Reasoning("Why?", source="openai:a#1", text_field="reasoning_content", call_fields=[{"extra_content": {}}])
    call = {"name": "f", "args": {}, "id": "1"}
    answer = AIMessage("", tool_calls=[call], additional_kwargs=kept.to_kwargs())
    model = FakeListChatModel(responses=[])
    assert restore_reasoning([HumanMessage("hi"), answer], "openai:a#2", model)[-1].additional_kwargs == {}
    own = restore_reasoning([HumanMessage("hi"), answer], "openai:a#1", model)[-1]
    assert own.additional_kwargs == {"reasoning_content": "Why?"}


@pytest.mark.parametrize("spec", [CHAT, RESPONSES])
def test_a_call_that_cannot_be_read_keeps_its_place_and_its_signature(spec: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("what is 6*7?")).state is RunState.DONE
        assert (await chat.say("thanks")).state is RunState.DONE
        sent = fake.requests[-1]
        calls = sent["messages"][2]["tool_calls"] if spec == CHAT else [i for i in sent["input"] if "arguments" in i]
        assert ["unreadable" in str(call) for call in calls] == [True, False]

    broken = Calls((Call("calculator", "{"), Call("calculator", {"expression": "1 + 1"})), thought="Two sums.")
    play(story, broken, TOTAL, Say("Welcome."), spec=spec, manner="gemini" if spec == CHAT else "openai")
