"""A refused request is sent once more without what was refused, and only a success teaches."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, SecretStr

from agent.models import recent_refusals
from agent.models.catalog import load_chat_model
from agent.models.errors import read_status
from agent.models.keys import ProviderKeys
from agent.models.provider_words import read_provider_words
from agent.models.providers import _keep_reasoning
from agent.models.reasoning import restore_reasoning
from agent.models.recent_refusals import MAX_AGE_SECONDS
from checkpoints import RunState
from checkpoints.values.reasoning import Reasoning
from tests.agent.running import Running, model_at, running
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

CALL = {"name": "f", "args": {}, "id": "1"}
EXTRAS = Reasoning("Why?", source="s", text_field="reasoning_content", extras={"__gemini_signatures__": {"1": "x"}})
BLOCKS = Reasoning("Why?", source="s", blocks=[{"type": "reasoning_content", "reasoning_content": {"text": "Why?"}}])
REQUEST = [HumanMessage("hi"), AIMessage("See.", tool_calls=[CALL]), ToolMessage("42", tool_call_id="1")]


class ClientError(Exception):
    """As Google's library raises it."""

    code = 400


class StreamedError(Exception):
    """As OpenAI's client raises an error within a stream of OpenRouter."""

    code = "429"


class AwsError(Exception):
    """As botocore raises it."""

    response = {"ResponseMetadata": {"HTTPStatusCode": 400}}  # noqa: RUF012  as there


class Package(BaseChatModel):
    """A provider's package whose server refuses any reasoning, or everything."""

    api_key: SecretStr = SecretStr("open sesame")
    kind: type[Exception] = ClientError
    always: bool = False
    sent: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "package"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.sent.append(messages)
        if self.always or "Why?" in str(messages):
            raise self.kind("The request with open sesame is not valid")
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Yes."))])


class StreamingPackage(Package):
    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages).generations[0].message
        yield ChatGenerationChunk(message=AIMessageChunk(message.content))


def ask(model: Any, reasoning: Reasoning) -> str:
    async def whole() -> str:
        answer = REQUEST[1].model_copy(update={"additional_kwargs": reasoning.to_kwargs()})
        messages: Any = [REQUEST[0], answer, REQUEST[2]]
        sent = restore_reasoning(messages, "s", model)
        return "".join([chunk.text async for chunk in model.astream(sent)])

    return asyncio.run(whole())


@pytest.mark.parametrize("package", [Package, StreamingPackage])
@pytest.mark.parametrize("kind", [ClientError, AwsError])
@pytest.mark.parametrize("reasoning", [EXTRAS, BLOCKS], ids=["extras", "blocks"])
def test_any_provider_that_refuses_reasoning_is_asked_without_it(
    package: type[Package], kind: type[Exception], reasoning: Reasoning
) -> None:
    model: Any = _keep_reasoning(package)(kind=kind)
    assert ask(model, reasoning) == "Yes."
    assert [message.text for message in model.sent[-1]] == ["hi", "See.", "42"]
    assert model.sent[-1][1].tool_calls == [{**CALL, "type": "tool_call"}]
    assert len(model.sent) == 2


def test_a_request_without_reasoning_is_not_repeated_and_its_key_is_masked() -> None:
    model: Any = _keep_reasoning(Package)(always=True)
    with pytest.raises(ClientError) as caught:
        ask(model, Reasoning())
    assert len(model.sent) == 1
    assert read_provider_words(caught.value) == "HTTP 400: The request with *** is not valid"


def test_a_status_that_is_no_refusal_is_none() -> None:
    assert read_status(SystemExit(1)) == 0
    assert read_status(AwsError()) == 400
    assert read_status(StreamedError()) == 429


def play(story: Any, *replies: Any, spec: str = "openai:some", manner: Any = "openai", refused: int = 0) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake, spec) as model, running(model) as chat:
            await story(chat, fake, model)

    with FakeOpenAI() as fake:
        fake.manner = manner
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert len(fake.violations) == refused, fake.violations


def test_a_models_name_promises_nothing_about_its_server() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Any) -> None:
        assert (await chat.say("what is 6*7?")).state is RunState.DONE
        assert "reasoning_content" not in str(fake.requests)

    play(story, Call("calculator", {"expression": "6 * 7"}), Say("42."), spec="openai:deepseek-r1-distill")


@pytest.mark.parametrize(("host", "needs"), [("api.deepseek.com", (True, False)), ("gemini.example", (False, False)),
    ("generativelanguage.googleapis.com", (False, True))])  # fmt: skip
def test_the_services_that_demand_reasoning_are_known_by_their_hosts(host: str, needs: tuple[bool, bool]) -> None:
    keys = ProviderKeys(openai_api_key=SecretStr("k"), openai_base_url=f"https://{host}/v1")
    terms = load_chat_model("openai:gemini-or-deepseek", keys)._memory.terms  # type: ignore[attr-defined]
    assert (terms.needs_reasoning, terms.needs_signature) == needs


@pytest.mark.parametrize("words", ["stream_options is not supported", "max_completion_tokens: unknown field"])
def test_what_a_server_refused_it_is_asked_for_again_after_an_hour(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(chat: Running, fake: FakeOpenAI, model: Any) -> None:
        model.max_tokens = 9
        for seconds in (0.0, MAX_AGE_SECONDS - 1, MAX_AGE_SECONDS):
            monkeypatch.setattr(recent_refusals, "monotonic", lambda seconds=seconds: seconds)
            assert (await chat.say("hello")).state is RunState.DONE
        assert [field in request for request in fake.requests] == [True, False, False, True]

    field = words.split(maxsplit=1)[0].rstrip(":")
    play(story, Fault("status", status=400, message=words), *[Say("Hi.")] * 3)


@pytest.mark.usefixtures("refusals_expected")
def test_a_demand_is_unlearned_where_its_field_is_refused() -> None:
    async def story(chat: Running, fake: FakeOpenAI, model: Any) -> None:
        await chat.say("what is 6*7?")
        fake.manner = "deepseek"  # from now on it demands a field, which another server behind it refuses
        await chat.say("thanks")
        assert model._memory.terms.needs_reasoning
        fake.manner = "openai"
        assert (await chat.say("bye")).state is RunState.DONE
        assert not model._memory.terms.needs_reasoning

    play(story, Call("calculator", {"expression": "6 * 7"}), Say("42."), Say("Welcome."), Say("Bye."), refused=2)


@pytest.mark.usefixtures("refusals_expected")
def test_the_rules_of_mistrals_models_are_learned_on_any_server() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Any) -> None:
        assert (await chat.say("what is 6*7?")).state is RunState.FAILED
        fake.manner = "mistral"  # it refuses the wish for usage, the id of the call, and a question after its result
        assert (await chat.say("again?")).state is RunState.DONE
        assert [message["role"] for message in fake.requests[-1]["messages"]][1:] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
        ]
        assert (await chat.say("thanks")).state is RunState.DONE

    called = Call("calculator", {"expression": "6 * 7"})
    play(story, called, Fault("status", status=403), Say("42."), Say("Welcome."), refused=3)


def test_questions_in_a_row_are_joined_for_a_template_that_refuses_them() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Any) -> None:
        assert (await chat.say("one")).state is RunState.FAILED
        assert (await chat.say("two")).state is RunState.DONE
        assert (await chat.say("three")).state is RunState.DONE
        sent = [message["content"] for message in fake.requests[-1]["messages"] if message["role"] != "system"]
        assert sent == ["one\n\ntwo", "Hello.", "three"]

    refusal = "Conversation roles must alternate user/assistant/user/assistant/..."
    replies = [Fault("status", status=403), Fault("status", status=400, message=refusal), Say("Hello."), Say("Yes.")]
    play(story, *replies)


@pytest.mark.usefixtures("refusals_expected")
def test_a_server_that_knows_only_max_tokens_gets_them() -> None:
    async def story(chat: Running, fake: FakeOpenAI, model: Any) -> None:
        model.max_tokens = 500
        assert (await chat.say("hello")).state is RunState.DONE
        assert (await chat.say("again")).state is RunState.DONE
        assert [request.get("max_tokens") for request in fake.requests] == [None, 500, 500]

    refusal = (
        '{"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"], "msg": "Extra inputs are not permitted"}'
    )
    play(story, Fault("status", status=422, message=refusal), Say("Hello."), Say("Again."))


def test_a_server_that_demands_a_field_and_refuses_it_is_not_asked_for_ever() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Any) -> None:
        assert (await chat.say("hello")).state is RunState.FAILED
        assert len(fake.requests) == 2

    words = ["The reasoning_content must be passed back.", "Unknown field: reasoning_content"] * 3
    play(story, *[Fault("status", status=400, message=each) for each in words])


@pytest.mark.parametrize(
    "message",
    ["Your prompt must include a question.", "Unsupported value: 'include me'.", "I cannot summarize that.",
     "Unsupported parameter: 'reasoning.summary'."],
)  # fmt: skip
def test_a_refusal_that_only_sounds_like_an_option_teaches_nothing(message: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Any) -> None:
        await chat.say("hello")
        await chat.say("again")
        assert ["include" in request and "reasoning" in request for request in fake.requests][-1]

    refusal = Fault("status", status=400, message=message)
    play(story, refusal, refusal, Say("Hello."), Say("Again."), spec="openai-responses:some")


def test_copies_of_a_model_with_other_parameters_learn_together() -> None:
    async def story(chat: Running, fake: FakeOpenAI, model: Any) -> None:
        copy = model.model_copy(update={"temperature": 0.5})
        await _read(copy.astream("hello"))
        await chat.say("again")
        assert ["reasoning" in request for request in fake.requests] == [True, False, False]

    refusal = Fault("status", status=400, message="You must be verified to generate reasoning summaries.")
    play(story, refusal, Say("Hello."), Say("Again."), spec="openai-responses:some")


async def _read(chunks: AsyncIterator[Any]) -> None:
    async for _ in chunks:
        pass
