"""The real package of Anthropic against its service's rules: tools, reasoning, the cache, and another model in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import SecretStr

from agent.models.anthropic import AnthropicTerms
from agent.models.catalog import load_chat_model
from agent.models.keys import ProviderKeys
from agent.models.parameters import ModelParameters, apply_parameters
from agent.models.request_bodies import find_prepared, prepare_request
from checkpoints import RunState
from checkpoints.values.reasoning import Reasoning
from tests.agent.running import Running, Several, model_at, running
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

# To import the package takes a second in each process that collects these tests.
pytestmark = pytest.mark.skipif(not find_spec("langchain_anthropic"), reason="requirements-dev.txt installs it")
CLAUDE, CHOSEN, OTHER = "anthropic:claude-opus-5", "anthropic:claude-opus-5 chosen", "openai-responses:some"
KEYS = ProviderKeys(other_keys={"ANTHROPIC_API_KEY": SecretStr("plain key of Claude")})
SUM = Call("calculator", {"expression": "6 * 7"}, text="Let me see.", thought="A product.")
TOTAL = Say("It is 42.", thought="The tool says 42.")
HI: list[Any] = [HumanMessage("hi")]


@pytest.fixture
def claude(monkeypatch: pytest.MonkeyPatch) -> Any:
    with FakeAnthropic() as fake:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.origin)
        yield fake


@asynccontextmanager
async def claude_model(spec: str = CLAUDE) -> AsyncIterator[Any]:
    model: Any = load_chat_model(spec, KEYS)
    try:
        yield model
    finally:
        await model._async_client.close()


Story = Callable[[Running, Several, FakeOpenAI], Awaitable[None]]


def play(story: Story) -> None:
    async def whole(other: FakeOpenAI) -> None:
        async with claude_model() as model, model_at(other, OTHER) as second:
            models = Several({CLAUDE: model, OTHER: second}, CLAUDE)
            async with running(model, models=models) as chat:
                await story(chat, models, other)
                assert chat.unanswered() == set()

    with FakeOpenAI() as other:
        asyncio.run(whole(other))
        assert other.violations == []


def ask(messages: Sequence[Any], spec: str = CLAUDE, **options: Any) -> str:
    async def whole() -> str:
        async with claude_model(spec) as model:
            return "".join([chunk.text async for chunk in model.astream(list(messages), **options)])

    return asyncio.run(whole())


def list_kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"]]


def test_three_turns_with_tools_and_redacted_reasoning_are_taken(claude: FakeAnthropic) -> None:
    async def story(chat: Running, _: Several, __: FakeOpenAI) -> None:
        for _turn in range(3):
            claude.reply(SUM, TOTAL)
            assert (await chat.say("what is 6*7?")).state is RunState.DONE
        thoughts = [kept.text for each in chat.path() if (kept := Reasoning.of(each.langchain))]
        assert thoughts == ["A product.", "The tool says 42."] * 3
        assert chat.said()[-1] == ("ai", "done", "It is 42.")

    claude.redacts = True
    play(story)
    answers = [list_kinds(message) for message in claude.requests[-1]["messages"] if message["role"] == "assistant"]
    assert answers[-1] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert len(claude.requests) == 6
    assert claude.violations == []


def test_a_model_outlives_the_connections_of_another(claude: FakeAnthropic) -> None:
    async def story() -> str:
        async with claude_model() as lasting:
            async with claude_model():
                pass
            return (await lasting.ainvoke(HI)).text

    claude.reply(Say("Hi."))
    assert asyncio.run(story()) == "Hi."


def test_an_extra_body_of_the_conversation_is_sent(claude: FakeAnthropic) -> None:
    async def story(chat: Running, models: Several, _: FakeOpenAI) -> None:
        extra = ModelParameters(extra_body='{"service_tier": "standard_only", "thinking": {"type": "disabled"}}')
        models.models[CHOSEN], models.default_spec = apply_parameters(models.models[CLAUDE], extra), CHOSEN
        assert (await chat.say("hello")).state is RunState.DONE

    claude.reply(Say("Hi."))
    play(story)
    assert (claude.requests[0]["service_tier"], claude.requests[0]["thinking"]) == ("standard_only", {"type": "disabled"})


def test_a_conversation_goes_to_another_model_and_back(claude: FakeAnthropic) -> None:
    async def story(chat: Running, models: Several, other: FakeOpenAI) -> None:
        for spec in (OTHER, CLAUDE, OTHER, CLAUDE):
            models.default_spec = spec
            (claude if spec == CLAUDE else other).reply(SUM, TOTAL)
            assert (await chat.say("what is 6*7?")).state is RunState.DONE
        assert [text for kind, _, text in chat.said() if kind == "tool"] == ["42"] * 4
        own = [item for item in other.requests[-1]["input"] if item.get("type") == "reasoning"]
        assert [item["encrypted_content"] for item in own] == ["enc_1", "enc_2", "enc_3"]

    play(story)
    assert claude.violations == []


@pytest.mark.parametrize("parameters", [ModelParameters(temperature=0.2), ModelParameters(top_p=0.5)], ids=str)
def test_thinking_is_not_asked_for_beside_a_temperature(claude: FakeAnthropic, parameters: ModelParameters) -> None:
    async def story(chat: Running, models: Several, _: FakeOpenAI) -> None:
        claude.reply(SUM, TOTAL)
        await chat.say("what is 6*7?")
        models.models[CHOSEN] = apply_parameters(models.models[CLAUDE], parameters)
        models.default_spec = CHOSEN  # the same model from now on with a temperature
        claude.reply(SUM, TOTAL)
        assert (await chat.say("and again?")).state is RunState.DONE
        assert {"temperature", "top_p"} & claude.requests[-1].keys()
        assert "thinking" not in claude.requests[-1]

    play(story)
    assert claude.violations == []


@pytest.mark.usefixtures("refusals_expected")
def test_a_call_of_another_model_is_answered_without_thinking(claude: FakeAnthropic) -> None:
    call = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "call_1"}])
    claude.reply(Say("Done."))
    assert ask([*HI, call, ToolMessage("42", tool_call_id="call_1")]) == "Done."
    assert claude.requests[-1]["thinking"] == {"type": "disabled"}
    assert len(claude.violations) == 1


@pytest.mark.usefixtures("refusals_expected")
def test_blocks_of_another_key_are_left_out_and_teach_nothing(claude: FakeAnthropic) -> None:
    async def story(chat: Running, _: Several, __: FakeOpenAI) -> None:
        claude.reply(SUM, TOTAL)
        await chat.say("what is 6*7?")
        claude.issued.clear()
        claude.reply(TOTAL)
        assert (await chat.say("thanks")).state is RunState.DONE
        assert claude.requests[-1]["thinking"]["type"] == "adaptive"
        assert "signature" not in str(claude.requests[-1]["messages"])

    play(story)
    assert len(claude.violations) == 1


@pytest.mark.parametrize("extra", ["cache_control", "thinking"])
def test_an_extra_that_is_refused_is_not_sent_again(claude: FakeAnthropic, extra: str) -> None:
    async def story(chat: Running, _: Several, __: FakeOpenAI) -> None:
        claude.reply(Fault("status", status=400, message=f"{extra}: not permitted"), Say("Hello."), Say("Again."))
        await chat.say("hello")
        await chat.say("again")
        assert [extra in str(request) for request in claude.requests] == [True, False, False]

    play(story)


def test_a_refusal_for_another_reason_teaches_nothing(claude: FakeAnthropic) -> None:
    async def story(chat: Running, _: Several, __: FakeOpenAI) -> None:
        refusal = Fault("status", status=400, message="Your thinking, and its cache_control, are not welcome.")
        claude.reply(*[refusal] * 3, Say("Hello."))
        assert (await chat.say("hello")).state is RunState.FAILED
        await chat.say("hello")
        assert all(name in str(claude.requests[-1]) for name in ("thinking", "cache_control"))

    play(story)


@pytest.mark.usefixtures("refusals_expected")
@pytest.mark.parametrize(
    "broken",
    [
        {"temperature": 0.2, "thinking": {"type": "adaptive"}},
        {"top_p": 0.5, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"thinking": {"type": "sometimes"}},
        {"system": " "},
        {"max_tokens": None},
        {"messages": [{"role": "user", "content": ""}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "for ever"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "42"}]}]},
    ],
    ids=str,
)  # fmt: skip
def test_the_fake_refuses_what_the_service_refuses(claude: FakeAnthropic, broken: dict[str, Any]) -> None:
    body = {"model": "claude-opus-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"x-api-key": "x", "anthropic-version": "2023-06-01"}
    address = f"{claude.origin}/v1/messages"
    assert httpx.post(address, headers=headers, json=body).json()["content"][0]["type"] == "text"
    refused = httpx.post(address, headers=headers, json=body | broken)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.usefixtures("refusals_expected")
def test_a_long_request_that_was_prepared_is_sent_like_any_other(claude: FakeAnthropic) -> None:
    messages = [SystemMessage("Be brief."), *HI, AIMessage("Hello."), HumanMessage("So?")]
    tools = [{"name": "f", "description": "Do it.", "input_schema": {"type": "object", "properties": {}}}]

    async def whole() -> None:
        async with claude_model() as model:
            for sent in (messages, prepare_request(model, list(messages))):
                claude.reply(Fault("status", status=400, message="cache_control: not permitted"), Say("So."))
                model._memory.terms = AnthropicTerms()
                assert [each.text async for each in model.bind_tools(tools).astream(sent)]
            assert find_prepared(sent) is not None

    asyncio.run(whole())
    assert len(claude.requests) == 4
    assert claude.requests[2:] == claude.requests[:2]
    assert "cache_control" in str(claude.requests[2])
    assert len(claude.requests[2]["messages"]) == 3
