"""What a person chooses for a conversation is what its runs do: the model, the instructions, and going back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from agent.context.prompts import DEFAULTS_HEADING, INSTRUCTIONS_HEADING, SYSTEM_PROMPT
from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys
from agent.models.parameters import DEFAULT_PARAMETERS, ModelParameters
from agent.settings import GraphOffer, InvalidSettingsError, ThreadSettings
from agent.tracing.events import ModelAnswered
from checkpoints import Caller, RunState
from checkpoints.default_instructions import DefaultInstructions
from checkpoints.storage import schema
from checkpoints.values.limits import MAX_INSTRUCTIONS_CHARS
from tests.agent.running import KEY, Only, Running, running
from tests.agent.tracing.test_run_trace import Listener
from tests.checkpoints import tables
from tests.checkpoints.conversations import new
from tests.fakes.openai import Call, FakeOpenAI, Say

FRENCH = "Answer in French."
Story = Callable[[Running, FakeOpenAI, Listener], Awaitable[None]]


@asynccontextmanager
async def two_models(fake: FakeOpenAI) -> AsyncIterator[ConfiguredModels]:
    """The default `openai:some` and `openai:other`, whose clients are closed with this test's event loop."""
    keys = ProviderKeys(openai_api_key=SecretStr(KEY), openai_base_url=fake.base_url)
    models = ConfiguredModels(keys, "openai:some", offered=("openai:other",))
    yield models
    for name in ("openai:some", "openai:other"):
        model: Any = models.load_model(name)
        await model.root_async_client.close()


def play(story: Story, *replies: Any, **options: Any) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        listener = Listener()
        async with (
            two_models(fake) as models,
            running(models.load_model(), models=models, tracer=listener, **options) as chat,
        ):
            await story(chat, fake, listener)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert fake.violations == []


def choose(chat: Running, **values: str) -> None:
    chat.store.change_settings(chat.thread_id, values)


def system(request: dict[str, Any]) -> str:
    return str(request["messages"][0]["content"])


def offered(request: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request["tools"]}


def test_the_chosen_model_answers_and_the_answer_and_the_trace_name_it() -> None:
    async def story(chat: Running, fake: FakeOpenAI, listener: Listener) -> None:
        await chat.say("hello")
        choose(chat, model="openai:other")
        await chat.say("and now?")
        assert [request["model"] for request in fake.requests] == ["some", "other"]
        answers = [message.langchain for message in chat.path() if message.type == "ai"]
        assert [answer.response_metadata["spec"] for answer in answers] == ["openai:some", "openai:other"]
        assert listener.last(ModelAnswered).model == "other"

    play(story, Say("Hi."), Say("Hi again."))


def test_a_model_that_is_not_offered_any_more_fails_with_a_sentence_and_no_other_answers() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        choose(chat, model="openai:gone")
        ended = await chat.say("hello")
        assert ended.state is RunState.FAILED
        sentence = "The model of this conversation, openai:gone, cannot be used any more; choose another"
        assert str(ended.error).startswith(sentence)
        assert (fake.requests, chat.said()) == ([], [("human", "done", "hello")])
        choose(chat, model="")
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said()[1:] == [("ai", "done", "Hi.")]

    play(story, Say("Hi."))


def test_a_model_that_cannot_be_loaded_any_more_fails_with_the_same_sentence() -> None:
    class Broken(Only):
        def load_model(self, spec: str | None = None, parameters: ModelParameters = DEFAULT_PARAMETERS) -> BaseChatModel:
            raise ModelConfigurationError("OPENAI_API_KEY is missing.")

    async def whole() -> None:
        async with running(None, models=Broken(None, specs=("openai:other",))) as chat:  # type: ignore[arg-type]
            choose(chat, model="openai:other")
            ended = await chat.say("hello")
            assert "The model of this conversation, openai:other, cannot be used any more" in str(ended.error)

    asyncio.run(whole())


def test_a_conversation_has_model_parameters_of_its_own() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        await chat.say("hello")
        choose(chat, temperature="0.2", max_tokens="99", extra_body='{"seed": 7}')
        await chat.say("and now?")
        choose(chat, temperature="")
        await chat.say("and now?")
        assert [request.get("temperature") for request in fake.requests] == [None, 0.2, None]
        assert [request.get("max_completion_tokens") for request in fake.requests] == [None, 99, 99]
        assert [request.get("seed") for request in fake.requests] == [None, 7, 7]
        assert all(request["tools"] for request in fake.requests)

    play(story, Say("Hi."), Say("Hi again."), Say("Still here."))


def test_instructions_stand_after_the_general_ones_in_every_request_of_a_run() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        choose(chat, instructions=FRENCH)
        await chat.say("hello")
        general, heading, own = system(fake.requests[0]).partition(f"\n\n{INSTRUCTIONS_HEADING}\n\n")
        assert (general, bool(heading), own) == (SYSTEM_PROMPT, True, FRENCH)
        assert {system(request) for request in fake.requests} == {system(fake.requests[0])}
        assert len(fake.requests) == 3

    goto = Call("goto", {"position": "msg_0", "message": "Again."})
    play(story, Call("calculator", {"expression": "1+1"}), goto, Say("Bonjour."), time_travel="allow")


def test_default_instructions_stand_before_those_of_the_conversation_and_count_from_the_next_message() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        defaults = DefaultInstructions(chat.store)
        await chat.say("hello")
        defaults.save_text("I am a teacher. " * 50)
        await chat.say("and now?")
        choose(chat, instructions=FRENCH)
        await chat.say("and now?")
        defaults.save_text("")
        choose(chat, instructions="")
        await chat.say("and now?")
        taught = f"{SYSTEM_PROMPT}\n\n{DEFAULTS_HEADING}\n\n{('I am a teacher. ' * 50).strip()}"
        french = f"{taught}\n\n{INSTRUCTIONS_HEADING}\n\n{FRENCH}"
        assert [system(request) for request in fake.requests] == [SYSTEM_PROMPT, taught, french, SYSTEM_PROMPT]
        assert "teacher" not in str(tables.read(chat.store))

    play(story, Say("Hi."), Say("Hi again."), Say("Bonjour."), Say("Hi."))


def test_the_meter_counts_default_instructions() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        chat.store.append(chat.thread_id, new("hello"))
        measured = chat.runner.inputs.count_tokens(chat.thread_id)
        DefaultInstructions(chat.store).save_text("I am a teacher. " * 50)
        filled = chat.runner.inputs.count_tokens(chat.thread_id)
        assert measured is not None
        assert filled is not None
        assert filled > measured + 50
        assert fake.requests == []

    play(story)


def test_default_instructions_of_another_owner_are_not_sent() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        defaults = DefaultInstructions(chat.store)
        with chat.store.database.begin_write() as connection:
            connection.execute(sa.insert(schema.default_instructions).values(owner="bob", text="Answer bob."))
        await chat.say("hello")
        assert (defaults.read_for("bob"), [system(request) for request in fake.requests]) == ("", [SYSTEM_PROMPT])

    play(story, Say("Hi."))


def test_what_was_chosen_before_the_first_message_is_there_with_it() -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        choice = {"model": "openai:other", "instructions": f" {FRENCH} ", "time_travel": "off", "else": "x"}
        run = await chat.runner.send(None, "hello", caller=Caller(request_id="once"), chosen_settings=choice)
        again = await chat.runner.send(None, "hello", caller=Caller(request_id="once"), chosen_settings={})
        await chat.until(lambda: not chat.runs.list_running_threads())
        kept = {"model": "openai:other", "instructions": FRENCH, "time_travel": "off"}
        assert (again.id, chat.store.get_thread(run.thread_id).settings) == (run.id, kept)
        assert (fake.requests[0]["model"], system(fake.requests[0]).endswith(FRENCH)) == ("other", True)
        assert "goto" not in offered(fake.requests[0])

    play(story, Say("Bonjour."), time_travel="ask")


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"model": "openai:gpt-9"}, "There is no model 'openai:gpt-9' to choose."),
        ({"instructions": "x" * (MAX_INSTRUCTIONS_CHARS + 1)}, "The instructions are longer than 8,000 characters."),
        ({"temperature": "3"}, "The temperature must be a number from 0 to 2."),
        ({"time_travel": "always"}, "Going back can be asked for, allowed or off."),
    ],
)
def test_a_choice_that_cannot_be_made_begins_no_conversation(choice: dict[str, str], sentence: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI, _: Listener) -> None:
        before = chat.store.list_threads()
        with pytest.raises(InvalidSettingsError) as refused:
            await chat.runner.send(None, "hello", caller=Caller(), chosen_settings=choice)
        assert (str(refused.value), chat.store.list_threads(), fake.requests) == (sentence, before, [])

    play(story)


def test_where_going_back_is_off_for_all_no_conversation_can_allow_it() -> None:
    assert ThreadSettings(time_travel="allow").resolve_policy("off") == "off"
    assert ThreadSettings(time_travel="off").resolve_policy("allow") == "off"
    assert ThreadSettings().resolve_policy("ask") == "ask"


def test_a_model_that_a_conversation_has_can_be_kept_when_something_else_is_changed() -> None:
    before = ThreadSettings(model="openai:gone")
    after = before.with_changes({"model": "openai:gone", "instructions": FRENCH}, Only(None))  # type: ignore[arg-type]
    assert after.changes_since(before) == {"instructions": FRENCH}


def test_a_graph_is_chosen_before_the_first_message_and_stays() -> None:
    catalog: Any = Only(None)  # type: ignore[arg-type]
    offer = GraphOffer(("research",), "research")
    assert ThreadSettings().with_changes({"graph": "research"}, catalog, offer).graph == "research"
    with pytest.raises(InvalidSettingsError, match="There is no graph 'other' to choose"):
        ThreadSettings().with_changes({"graph": "other"}, catalog, offer)
    for before, after in (("", "research"), ("research", "")):
        with pytest.raises(InvalidSettingsError, match="keeps the graph that it began with"):
            ThreadSettings(graph=before).with_changes({"graph": after}, catalog)
