"""A model that takes no tools is used without them: the same question again, learned once, and noted at the answer."""

import asyncio
import json

import pytest

from agent.context.answer_notes import WITHOUT_TOOLS_KEY
from agent.graph.tool_calls import NO_TOOLS_TEXT
from agent.models import recent_refusals
from agent.models.errors import refuses_tools
from agent.models.recent_refusals import MAX_AGE_SECONDS
from agent.tools.calculator import calculator
from checkpoints import RunState
from tests.agent.running import Running, Several, model_at, running, tool
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say

OLLAMA = Fault("status", status=400, message="registry.ollama.ai/library/gemma3:4b does not support tools")


def notes(chat: Running) -> list[bool]:
    answers = [message.langchain for message in chat.path() if message.type == "ai"]
    return [answer.response_metadata.get(WITHOUT_TOOLS_KEY, False) for answer in answers]


def test_the_request_is_repeated_without_tools_and_the_next_ones_have_none() -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, time_travel="allow") as chat:
            assert (await chat.say("hello")).state is RunState.DONE
            assert (await chat.say("and now?")).state is RunState.DONE
            assert ["tools" in request for request in fake.requests] == [True, False, False]
            assert [text for kind, _, text in chat.said() if kind == "ai"] == ["Hi.", "Hi again."]
            assert notes(chat) == [True, True]
            assert "[msg_" not in str(fake.requests[1]["messages"])  # nothing could address a message by its number

    with FakeOpenAI() as fake:
        fake.reply(OLLAMA, Say("Hi."), Say("Hi again."))
        asyncio.run(story(fake))
        assert fake.violations == []


def test_after_an_hour_tools_are_offered_again_and_a_router_may_take_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model) as chat:
            for seconds in (0.0, MAX_AGE_SECONDS - 1, MAX_AGE_SECONDS):
                monkeypatch.setattr(recent_refusals, "monotonic", lambda seconds=seconds: seconds)
                await chat.say("hello")
            assert ["tools" in request for request in fake.requests] == [True, False, False, True]
            assert notes(chat) == [True, True, False]

    with FakeOpenAI() as fake:
        fake.reply(OLLAMA, Say("Hi."), Say("Hi."), Say("Hi."))
        asyncio.run(story(fake))


def test_another_address_of_the_same_model_has_refused_nothing() -> None:
    async def story(one: FakeOpenAI, other: FakeOpenAI) -> None:
        async with model_at(one) as model, model_at(other) as moved:
            catalog = Several({"openai:some": model}, "openai:some")
            async with running(model, models=catalog) as chat:
                await chat.say("hello")
                catalog.models["openai:some"] = moved
                await chat.say("hello")
            assert ["tools" in request for request in (*one.requests, *other.requests)] == [True, False, True]

    with FakeOpenAI() as one, FakeOpenAI() as other:
        one.reply(OLLAMA, Say("Hi."))
        other.reply(Say("Hi."))
        asyncio.run(story(one, other))


def test_a_model_that_takes_tools_keeps_them_and_its_answers_have_no_note() -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model) as chat:
            await chat.say("hello")
            assert ["tools" in request for request in fake.requests] == [True, True]
            assert notes(chat) == [False, False]

    with FakeOpenAI() as fake:
        fake.reply(Call("calculator", {"expression": "1+1"}), Say("2."))
        asyncio.run(story(fake))


def test_another_refusal_ends_the_run_as_ever_and_takes_no_tools_away() -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model) as chat:
            assert (await chat.say("hello")).state is RunState.FAILED
            await chat.say("again")
            assert ["tools" in request for request in fake.requests] == [True, True]

    with FakeOpenAI() as fake:
        fake.reply(Fault("status", status=400, message="temperature is out of range"), Say("Hi."))
        asyncio.run(story(fake))


def place(*location: str | int) -> dict[str, object]:
    """The body of a refusal by FastAPI: a field of the request that it does not know."""
    return {"detail": [{"type": "extra_forbidden", "loc": location, "msg": "Extra inputs are not permitted", "input": []}]}


FASTAPI = place("body", "tools")


class Refused(Exception):
    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status_code = status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("'tools' is not supported with this model.", 400),
        ("`tool calling` is not supported with this model", 400),
        ("deepseek-reasoner does not support Function Calling", 400),
        ("No endpoints found that support tool use.", 404),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 400),
        ("tools param requires --jinja flag", 500),
        (f"Error code: 422 - {FASTAPI}", 422),
        (json.dumps(FASTAPI, separators=(",", ":")), 422),
        (json.dumps({"detail": [{"msg": "extra fields not permitted", "loc": ["body", "tools"]}]}), 422),
        ("tools: Extra inputs are not permitted", 400),
    ],
)
def test_the_words_of_the_servers_are_known(text: str, status: int) -> None:
    assert refuses_tools(Refused(text, status))


WORDS = "registry.ollama.ai/library/gemma3:4b does not support tools"
BODIES = [WORDS, {"error": WORDS}, {"detail": WORDS}, [{"error": {"code": 400, "message": WORDS}}], FASTAPI]


@pytest.mark.parametrize("body", BODIES, ids=["a text", "Ollama", "a detail", "Gemini", "FastAPI"])
def test_the_words_are_read_from_any_shape_of_a_refusal(body: object) -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model) as chat:
            assert (await chat.say("hello")).state is RunState.DONE
            assert ["tools" in request for request in fake.requests] == [True, False]

    with FakeOpenAI() as fake:
        fake.reply(Fault("status", status=400, body=body), Say("Hi."))
        asyncio.run(story(fake))


@pytest.mark.parametrize(
    "text",
    [
        "Function tools with reasoning_effort are not supported for gpt-5.6. Use /v1/responses.",
        "An assistant message with 'tool_calls' must be followed by tool messages.",
        "This model does not support images.",
        str(place("body", "tools", 0, "function", "strict")),
        str(place("body", "messages", 2, "tool_calls")),
        str(place("body", "temperature")),
        "tools.0.custom: Extra inputs are not permitted",
        "This model does not support parallel tool calls.",
        "This model does not support this tool_choice value.",
        "This model does not support strict function schemas.",
        "This model does not support tool type 'custom'.",
    ],
)
def test_other_words_about_tools_are_no_refusal_of_all_tools(text: str) -> None:
    assert not refuses_tools(Refused(text, 400))


def test_earlier_tool_work_is_plain_text_where_no_tool_is_offered() -> None:
    async def story(fake: FakeOpenAI) -> None:
        tools = [calculator]
        async with model_at(fake) as model, running(model, tools, graph_tools=()) as chat:
            await chat.say("both")
            tools.clear()
            assert (await chat.say("and now?")).state is RunState.DONE
        roles, texts = zip(*((each["role"], each["content"]) for each in fake.requests[-1]["messages"]), strict=True)
        assert roles == ("system", "user", "assistant", "user", "assistant", "user")
        assert (
            texts[2]
            == '(calculator was called with {"expression":"1+1"}.)\n(calculator was called with {"expression":"1+2"}.)'
        )
        assert "\n2\n" in texts[3]
        assert "\n3\n" in texts[3]
        assert "tool" not in str([sorted(each) for each in fake.requests[-1]["messages"]])

    with FakeOpenAI() as fake:
        fake.reply(
            Calls((Call("calculator", {"expression": "1+1"}), Call("calculator", {"expression": "1+2"}))), Say("2, 3.")
        )
        asyncio.run(story(fake))
        assert fake.violations == []


@pytest.mark.parametrize("approval", [[], ["note"]])
def test_a_model_without_tools_that_calls_one_all_the_same_runs_nothing(approval: list[str]) -> None:
    ran: list[str] = []
    tools = (tool("note", lambda: ran.append("note") or "noted"),)

    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, tools, approval=approval, time_travel="allow") as chat:
            assert (await chat.say("hello")).state is RunState.DONE
            assert [text for kind, _, text in chat.said() if kind == "tool"] == [NO_TOOLS_TEXT] * 3
            assert (ran, chat.store.list_checkpoints(chat.thread_id), chat.said()[-1][2]) == ([], [], "So.")

    calls = Calls(
        (Call("note", {}), Call("save_checkpoint", {"name": "x"}), Call("goto", {"position": 0, "message": "On."}))
    )
    with FakeOpenAI() as fake:
        fake.reply(OLLAMA, calls, Say("So."))
        asyncio.run(story(fake))
        assert fake.violations == []
