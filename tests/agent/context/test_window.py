"""A request is cut to the model's window where nothing is torn, and what is said of its size is said as exact as it is."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import _convert_message_to_dict
from pydantic import SecretStr

from agent.context.answer_notes import SIZE_NOTE_KEY
from agent.context.measurement import measure_context
from agent.context.recent_messages import read_recent_messages
from agent.context.request import build_request, read_position
from agent.context.tokens import estimate_stored_tokens, estimate_tokens
from agent.context.window import DEFAULT_WINDOW_TOKENS, LEFT_OUT_TEXT, ModelRequest, Window, find_window, fit_to_window
from checkpoints import Database, Message, MessageStatus, NewMessage, Store
from checkpoints.values import serde
from checkpoints.values.limits import MAX_READ_VALUES, count_values
from checkpoints.values.reasoning import Reasoning
from tests.agent.context.test_request import asking, done, paths, stored
from tests.agent.running import Running, model_at, running, tool
from tests.fakes.openai import Call, FakeOpenAI, Say
from tests.fakes.pairing import check_messages

PLENTY = 1_000_000
WINDOW = Window(1_000, 200)
LONG = "a longer text " * 400  # 1,400 tokens


def counted(text: str, tokens: int, estimated: int, left_out: int = 0, **more: Any) -> AIMessage:
    """An answer whose provider told its usage: what was estimated at so much was so many tokens."""
    usage: Any = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10} | more
    return AIMessage(
        text, usage_metadata=usage, response_metadata={SIZE_NOTE_KEY: {"estimated": estimated, "left_out": left_out}}
    )


def asked(path: list[Message], most: int) -> ModelRequest:
    return fit_to_window(build_request("Be good.", path), most)


def shape(messages: list[AnyMessage]) -> list[tuple[type, Any]]:
    return [(type(message), message.content) for message in messages]


@given(paths, st.integers(0, 600))
def test_whatever_the_window_a_request_obeys_the_pairing_rules(
    path: list[tuple[BaseMessage, MessageStatus]], most: int
) -> None:
    sent = asked(stored(path), most).messages
    check_messages([_convert_message_to_dict(message) for message in sent])
    assert [message.content for message in sent if isinstance(message, SystemMessage)] == ["Be good."]


@given(paths, st.integers(0, 600))
def test_a_request_is_cut_at_a_user_message_and_never_loses_the_last_turn(
    path: list[tuple[BaseMessage, MessageStatus]], most: int
) -> None:
    whole, cut = build_request("Be good.", stored(path)), asked(stored(path), most)
    kept = cut.messages[1:]
    assert [type(message) for message in kept] == [type(message) for message in whole[len(whole) - len(kept) :]]
    if len(kept) < len(whole) - 1:
        assert isinstance(kept[0], HumanMessage)
        assert cut.left_out_count == read_position(kept[0])
        turns = [message for message in kept if isinstance(message, HumanMessage)]
        assert len(turns) == 1 or sum(map(estimate_tokens, cut.messages)) <= most
    last = [message.content for message in whole if isinstance(message, HumanMessage)][-1:]
    assert [message.content for message in kept if isinstance(message, HumanMessage)][-1:] == last


def test_of_a_turn_that_is_too_long_old_results_are_left_out_and_the_newest_stay() -> None:
    rounds = [asking("a"), ToolMessage(LONG, tool_call_id="a"), asking("b"), ToolMessage(LONG, tool_call_id="b")]
    cut = asked(done(HumanMessage("earlier"), HumanMessage("read"), *rounds), 1_000)
    assert [message.content for message in cut.messages[1:]] == ["read", "", LEFT_OUT_TEXT, "", LONG]
    assert cut.left_out_count == 1


def test_the_providers_count_of_an_earlier_request_corrects_the_estimate() -> None:
    path = done(HumanMessage("a" * 400), counted("yes", tokens=700, estimated=200), HumanMessage("b" * 400))
    whole = asked(path, PLENTY)
    assert whole.tokens == whole.estimated_tokens + 500
    assert asked(path, whole.tokens).left_out_count == 0
    assert asked(path, whole.tokens - 1).left_out_count == 2


@pytest.mark.parametrize("note", [None, "x", {}, {"estimated": "9"}, {"estimated": -9, "left_out": 0}])
def test_what_a_file_says_of_a_request_corrects_nothing_if_it_is_no_note_of_ours(note: Any) -> None:
    answer = counted("yes", tokens=700, estimated=1)
    answer.response_metadata = {SIZE_NOTE_KEY: note}
    assert asked(done(HumanMessage("a"), answer), PLENTY).correction_tokens == 0


def test_a_note_that_a_file_made_up_makes_no_long_request_a_short_one() -> None:
    path = done(HumanMessage("a"), counted("yes", tokens=1, estimated=1_000_000), HumanMessage("b" * 8_000))
    assert asked(path, 900).left_out_count == 2


def test_what_a_file_says_of_an_answer_corrects_nothing() -> None:
    huge = replace(done(counted("yes", tokens=10**9, estimated=1))[0], run_id=None)
    path = [*done(HumanMessage("a")), replace(huge, depth=1), replace(done(HumanMessage("b"))[0], depth=2)]
    assert (asked(path, 900).correction_tokens, asked(path, 900).left_out_count) == (0, 0)
    store, thread_id = in_store(HumanMessage("a"))
    store.append(thread_id, [NewMessage(huge.body)])
    found = measure_context(store, thread_id, WINDOW, "Be good.", 2_000)
    store.database.close()
    assert found is not None
    assert (found.is_exact, found.tokens < 100) == (False, True)


def test_what_holds_the_messages_of_a_sub_agent_alone_can_be_measured() -> None:
    store, thread_id = in_store()
    store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("a")), agent="researcher")])
    found = measure_context(store, thread_id, WINDOW, "Be good.", 2_000)
    store.database.close()
    assert found is not None
    assert (found.tokens, found.message_count, found.left_out_count) == (6, 1, 1)


def test_the_beginning_of_a_huge_last_turn_is_measured_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    call = {"name": "look", "args": {"row": [0] * 9_000}, "id": "a"}
    turn = [HumanMessage("a"), *[AIMessage("", tool_calls=[call])] * 24]
    store, thread_id = in_store(*turn)
    parsed, parse = list[Any](), serde.parse_canonical
    monkeypatch.setattr(serde, "parse_canonical", lambda text: (parsed.append(parse(text)), parsed[-1])[1])
    found = measure_context(store, thread_id, WINDOW, "Be good.", 2_000)
    store.database.close()
    assert found is not None
    assert sum(count_values(body, 10**6) for body in parsed) <= 3 * (MAX_READ_VALUES + 10_000)  # three reads
    assert (found.message_count, found.left_out_count) == (25, 0)
    assert found.tokens == pytest.approx(sum(map(estimate_tokens, turn)), rel=0.01)


def test_a_stored_message_takes_as_much_as_what_is_sent_of_it() -> None:
    image = {"type": "image", "file": "sha256:0", "name": "a.png", "mime_type": "image/png", "size": 9}
    picture = [{"type": "text", "text": "what is this?"}, image]
    for message in (HumanMessage("é" * 100), asking("a", text="yes"), HumanMessage(picture)):  # type: ignore[arg-type]
        assert estimate_stored_tokens(done(message)[0]) == estimate_tokens(message)


@pytest.mark.parametrize(
    ("profile", "most", "window"),
    [
        (None, None, Window(DEFAULT_WINDOW_TOKENS, 16_384)),
        (None, 6_000, Window(6_000, 2_000)),
        ({"max_input_tokens": 128_000, "max_output_tokens": 4_096}, None, Window(128_000, 4_096)),
        ({"max_input_tokens": 128_000, "max_output_tokens": 4_096}, 32_000, Window(32_000, 4_096)),
        ({"max_input_tokens": 128_000}, 500_000, Window(128_000, 16_384)),
    ],
)
def test_a_window_is_as_large_as_the_model_is_known_to_have_and_as_the_setting_allows(
    profile: Any, most: int | None, window: Window
) -> None:
    assert find_window(FakeListChatModel(responses=[], profile=profile), most) == window


@pytest.mark.parametrize(("max_tokens", "reserved"), [(100, 16_384), (40_000, 40_000), (400_000, 75_000), (None, 16_384)])
def test_a_window_keeps_free_the_longest_answer_that_is_asked_for(max_tokens: int | None, reserved: int) -> None:
    model = ChatOpenAI(model="some", api_key=SecretStr("k"), max_completion_tokens=max_tokens)
    assert find_window(model) == Window(DEFAULT_WINDOW_TOKENS, reserved)


def in_store(*messages: BaseMessage) -> tuple[Store, str]:
    store = Store(Database.in_memory())
    thread_id = store.create_thread().id
    if messages:
        store.append(thread_id, [NewMessage(serde.to_body(message), run_id="r") for message in messages])
    return store, thread_id


def context(*messages: BaseMessage, window: Window = WINDOW) -> tuple[int, bool, int, int] | None:
    store, thread_id = in_store(*messages)
    found = measure_context(store, thread_id, window, "Be good.", 2_000)
    store.database.close()
    return found and (found.tokens, found.is_exact, found.message_count, found.left_out_count)


def test_after_an_answer_that_was_counted_the_context_is_exact_and_without_its_reasoning() -> None:
    thinking = {"output_token_details": {"reasoning": 7}}
    assert context(HumanMessage("a"), counted("b", 500, 20, **thinking)) == (503, True, 2, 0)


def test_what_follows_the_last_count_is_estimated_and_said_to_be() -> None:
    assert context(HumanMessage("a"), counted("b", 500, 20), HumanMessage("c" * 400)) == (614, False, 3, 0)


def test_without_any_count_all_of_it_is_estimated() -> None:
    assert context() is None
    assert context(HumanMessage("a" * 40), AIMessage("b" * 40)) == (14 + 14 + 6, False, 2, 0)


def test_the_context_tells_how_many_messages_the_next_request_leaves_out() -> None:
    path = [HumanMessage("a" * 1_600), AIMessage("b" * 1_600), HumanMessage("c" * 1_600), AIMessage("d" * 800)]
    assert context(*path, window=WINDOW) == (404 + 204 + 6, False, 4, 2)


def test_a_count_that_is_over_the_window_tells_what_the_next_request_leaves_out() -> None:
    turns = [part for _ in range(40) for part in (HumanMessage("a" * 36), AIMessage("b" * 36))]  # 26 tokens each
    path = [*turns, HumanMessage("c"), counted("d", tokens=1_000, estimated=900, left_out=4)]
    assert context(*path) == (1_010 - 9 * 26, False, 82, 4 + 18)
    assert context(*path, window=Window(5_000, 200)) == (1_010, True, 82, 4)


def test_the_last_turn_stays_however_large_it_is() -> None:
    path = [HumanMessage("a"), AIMessage("b"), HumanMessage("c"), counted("d", tokens=5_000, estimated=900)]
    assert context(*path) == (5_010 - 8, False, 4, 2)


@pytest.mark.parametrize(
    ("most_tokens", "most_messages", "first"), [(PLENTY, PLENTY, 0), (PLENTY, 500, 603), (3_000, PLENTY, 702)]
)
def test_only_so_much_of_a_long_path_is_read_as_a_request_can_hold(most_tokens: int, most_messages: int, first: int) -> None:
    turns = [part for _ in range(367) for part in (HumanMessage("a"), asking("a"), ToolMessage("b", tool_call_id="a"))]
    store, thread_id = in_store(*turns)
    path = read_recent_messages(store, thread_id, most_tokens, most_messages)
    store.database.close()
    assert (path[0].type, path[-1].depth) == ("human", 1_100)
    assert path[0].depth == first


def play(story: Any, *replies: Any, **limits: Any) -> FakeOpenAI:
    async def staged(fake: FakeOpenAI) -> None:
        read = tool("read", lambda: LONG)
        async with model_at(fake) as model, running(model, (read,), **limits) as chat:
            await story(chat)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(staged(fake))
        assert fake.violations == []
    return fake


def test_a_run_that_reads_more_than_fits_is_cut_on_its_way_and_the_store_keeps_all() -> None:
    async def story(chat: Running) -> None:
        await chat.say("please")
        assert [text for kind, _, text in chat.said() if kind == "tool"] == [LONG, LONG, LONG]

    fake = play(story, *[Call("read", {})] * 3, Say("Done."), max_window_tokens=4_500)
    results = [message["content"] for message in fake.requests[-1]["messages"] if message["role"] == "tool"]
    assert results == [LEFT_OUT_TEXT, LEFT_OUT_TEXT, LONG]


def test_a_checkpoint_of_the_agent_says_how_many_tokens_its_state_takes() -> None:
    async def story(chat: Running) -> None:
        await chat.say("please")
        (saved,) = chat.store.list_checkpoints(chat.thread_id)
        asking_for_it: Any = chat.path()[1].langchain
        assert saved.tokens is not None
        assert saved.tokens > asking_for_it.usage_metadata["total_tokens"]

    play(story, Call("save_checkpoint", {"name": "Plan"}), Say("Saved."), time_travel="allow")


def test_after_a_run_the_context_is_what_the_provider_counted() -> None:
    async def story(chat: Running) -> None:
        await chat.say("please")
        usage = chat.path()[-1].langchain.usage_metadata  # type: ignore[attr-defined]
        found = chat.runner.inputs.load_context(chat.thread_id)
        assert found is not None
        assert (found.tokens, found.is_exact) == (usage["total_tokens"], True)
        await chat.say("again")
        assert chat.runner.inputs.load_context(chat.thread_id).tokens > found.tokens  # type: ignore[union-attr]

    play(story, Say("Yes."), Say("And yes."))


def test_reasoning_that_goes_back_counts_in_the_size_of_a_request_and_no_longer_after_its_turn() -> None:
    async def story(fake: FakeOpenAI) -> None:
        fake.manner = "deepseek"
        fake.reply(
            Call("read", {}, thought="x" * 40_000), Say("Yes.", thought="y" * 40_000), Say("Hi.", thought="z" * 40_000)
        )
        async with model_at(fake) as model, running(model, (tool("read", lambda: "A page."),)) as chat:
            for text in ("please", "hello", "and now?"):
                await chat.say(text)
            notes = [each.langchain.response_metadata[SIZE_NOTE_KEY] for each in chat.path() if each.type == "ai"]
            assert [note["estimated"] // 10_000 for note in notes] == [0, 1, 2, 2]  # the third thought is not sent

    with FakeOpenAI() as fake:
        asyncio.run(story(fake))
        assert fake.violations == []


def test_the_context_counts_the_reasoning_of_a_turn_that_calls_tools() -> None:
    kept = Reasoning("Why?", source="s", text_field="reasoning_content").to_kwargs()
    answer = counted("b", 500, 20, output_token_details={"reasoning": 7}).model_copy(update={"additional_kwargs": kept})
    assert context(HumanMessage("a"), asking("1"), ToolMessage("r", tool_call_id="1"), answer) == (510, True, 4, 0)
    assert context(HumanMessage("a"), asking("1"), HumanMessage("a"), answer) == (503, True, 4, 0)
