"""Whatever a provider tells of an answer, the answer is kept, and what it told wrongly reaches no row and no page."""

import asyncio
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from agent.context import window
from agent.context.answer_notes import SIZE_NOTE_KEY
from agent.context.measurement import measure_context
from agent.context.prices import ModelPrice, read_usage
from agent.context.request import build_request
from agent.context.usage import combine_usage, readable_usage
from agent.context.window import Window
from agent.graph.answer import TOO_DEEP
from checkpoints import Caller, Database, NewMessage, Store
from checkpoints.values import limits, serde
from components.routes import growth
from components.routes.whole_text import find_text
from components.views import context_meter, message_view
from tests.agent.graph.test_answer import answer, call, finish, said
from tests.agent.running import model_at, running, tool
from tests.components.routes.test_growth import build_inputs
from tests.fakes import openai as fakes
from tests.fakes import responses
from tests.fakes.openai import Call, FakeOpenAI, Say
from tests.rounds import given_examples, sample
from tests.strategies import hostile_numbers, json_values

USAGE: dict[str, Any] = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
details = st.dictionaries(st.sampled_from(["cache_read", "reasoning", "audio"]), hostile_numbers, max_size=3)
usages = st.fixed_dictionaries(
    dict.fromkeys(USAGE, hostile_numbers),
    optional={"input_token_details": details, "output_token_details": details},
)
told_numbers = st.integers(-(10**45), 10**45)
told_usages = st.fixed_dictionaries(dict.fromkeys(USAGE, told_numbers))


def are_storable(counts: Any) -> bool:
    values = counts.values() if isinstance(counts, dict) else [counts]
    return all(are_storable(each) if isinstance(each, dict) else limits.to_tokens(each) == each for each in values)


@given(usages | json_values)
def test_readable_usage_holds_counts_alone_and_reads_itself(told: Any) -> None:
    found = readable_usage(told)
    if found is not None:
        assert are_storable({key: value for key, value in found.items() if key != "total_tokens"})
        assert readable_usage(found) == found


@pytest.mark.parametrize(
    ("reports", "counted"),
    [
        ([(100, 1), (100, 2), (100, 3)], (100, 3)),
        ([(100, 1), (100, 20), (0, 0)], (100, 20)),
        ([(100, 20), (0, 0)], (100, 20)),
        ([(100, 20), (100, 0)], (100, 20)),
        ([(100, 20), (90, 3)], (90, 3)),
        ([(0, 0), (0, 5), (100, 20)], (100, 20)),
        ([(0, 0), (0, 0)], (0, 0)),
        ([(100, 3), (0, 5), (0, 7)], (100, 15)),  # the tokens that were added, as Google's package reports them
        ([], None),
    ],
    ids=str,
)
def test_of_all_reports_the_last_with_tokens_counts(reports: list[tuple[int, int]], counted: Any) -> None:
    told = [{"input_tokens": read, "output_tokens": written} for read, written in reports]
    found = combine_usage([None, *told, None])
    assert (found and (found["input_tokens"], found["output_tokens"])) == counted


@given(told_usages)
def test_an_answer_keeps_its_text_and_a_usage_that_can_be_stored(told: Any) -> None:
    whole = answer(said("Hello"), AIMessageChunk(content="", usage_metadata=told), finish("stop"))
    assert whole.text == "Hello"
    assert whole.usage_metadata == readable_usage(told)


@given_examples(20, 100, usages)
def test_a_stored_answer_with_any_usage_is_shown_measured_plotted_and_priced(told: Any) -> None:
    database = Database.in_memory()
    store = Store(database)
    thread_id = store.create_thread().id
    note = {SIZE_NOTE_KEY: {"estimated": told["input_tokens"], "left_out": told["total_tokens"]}, "spec": "demo"}
    body = {"type": "ai", "data": {"content": "yes", "usage_metadata": told, "response_metadata": note}}
    store.append(
        thread_id, [NewMessage(serde.to_body(HumanMessage("hi"))), NewMessage(body)], caller=Caller(undo_group="run")
    )
    path = store.list_messages(thread_id)
    found = measure_context(store, thread_id, Window(1_000, 100), "Be good.", 100)
    assert found is not None
    shown = [
        message_view.describe_messages(path, message_view.MessageExtras(prices={"demo": ModelPrice(1.0, 1.0)})),
        context_meter.describe_context(found),
        growth.measure_growth(store, build_inputs(store), thread_id),
        read_usage(path[-1], {"demo": ModelPrice(1.0, 1.0)}),
        window.fit_to_window(build_request("Be good.", path), 1_000).tokens,
    ]
    orjson.dumps(shown)  # as Dash writes it: it refuses what has more than 64 bits
    store.save(thread_id, tokens=found.tokens)
    database.close()


def in_words_of_responses(usage: dict[str, Any]) -> dict[str, Any]:
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
    return {names.get(name) or f"{names[name.removesuffix('_details')]}_details": value for name, value in usage.items()}


HOSTILE = [10**40, 2**31, -1, "nan", "12", True, 1.5, [1], {"a": 1}]


@pytest.mark.parametrize("spec", ["openai:some", "openai-responses:some"])
@pytest.mark.parametrize("number", sample(HOSTILE, 4))
def test_a_provider_that_counts_wrongly_costs_no_answer(spec: str, number: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"prompt_tokens": number, "completion_tokens": 1, "total_tokens": number if isinstance(number, int) else 1}
    details = {"prompt_tokens_details": {"cached_tokens": number}, "completion_tokens_details": {"reasoning_tokens": number}}
    right = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    told = [counts | details, right | details, counts | details, right | details]
    monkeypatch.setattr(fakes, "_usage", lambda *_: told.pop(0))
    monkeypatch.setattr(responses, "_usage", in_words_of_responses)

    async def story(fake: FakeOpenAI) -> None:
        fake.reply(Say("one"), Say("two"))
        async with model_at(fake, spec) as model, running(model) as here:
            await here.say("first")
            await here.say("second")
            assert [text for _, _, text in here.said()] == ["first", "one", "second", "two"]
            kept = [message.body["data"].get("usage_metadata") for message in here.path() if message.type == "ai"]
            assert kept[0] is None
            assert {name: kept[1][name] for name in USAGE} == USAGE
            assert are_storable(kept[1])
            orjson.dumps(context_meter.describe_context(here.runner.inputs.load_context(here.thread_id)))  # type: ignore[arg-type]

    with FakeOpenAI() as fake:
        asyncio.run(story(fake))


@given(
    st.text(max_size=30) | st.text(min_size=600, max_size=700), st.text(st.characters(categories=["Cs", "Lu"]), max_size=9)
)
def test_ids_names_and_labels_can_be_stored_whatever_they_hold(name: str, identifier: str) -> None:
    labels = AIMessageChunk(
        content="", response_metadata={"model_name": name, "system_fingerprint": {"a": 10**40}, "id": identifier}
    )
    whole = answer(call("{}", name=name, id=identifier), labels, finish("tool_calls"))
    body = serde.to_body(whole)
    assert serde.to_body(serde.to_message(body)) == body
    assert len(whole.tool_calls[0]["name"]) <= limits.MAX_LABEL_CHARS
    assert "system_fingerprint" not in whole.response_metadata


def test_arguments_that_are_nested_too_deep_are_unreadable_and_the_model_is_told() -> None:
    def arguments(levels: int) -> str:
        return '{"a":' * levels + "1" + "}" * levels

    async def story(fake: FakeOpenAI) -> None:
        most = limits.MAX_ARGUMENT_LEVELS
        fake.reply(Call("act", arguments(most + 1), id="1"), Call("act", arguments(most), id="2"), Say("done"))
        async with model_at(fake) as model, running(model, [tool("act", lambda: "acted")]) as here:
            await here.say("go")
            results = [text for kind, _, text in here.said() if kind == "tool"]
            assert TOO_DEEP in results[0]
            assert "acted" in results[1]
            assert here.unanswered() == set()

    with FakeOpenAI() as fake:
        asyncio.run(story(fake))


def test_a_result_that_cannot_be_written_as_it_is_costs_no_run() -> None:
    async def story(fake: FakeOpenAI) -> None:
        fake.reply(Call("act", {}, id="1"), Say("done"))
        async with model_at(fake) as model, running(model, [tool("act", lambda: "half \ud800 and \0")]) as here:
            await here.say("go")
            assert [text for _, _, text in here.said()][2:] == ["half � and �", "done"]

    with FakeOpenAI() as fake:
        asyncio.run(story(fake))


def test_deep_arguments_of_an_older_version_are_shown(memory_store: Store) -> None:
    value: Any = 1
    for _ in range(600):
        value = [value]
    thread_id = memory_store.create_thread().id
    made = AIMessage("", tool_calls=[{"name": "act", "args": {"a": value}, "id": "1"}])
    memory_store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("go"))), NewMessage(serde.to_body(made))])
    messages = memory_store.list_messages(thread_id)
    [tool] = message_view.describe_messages(messages)[-1]["tools"]
    whole = find_text(messages[-1].langchain, "arguments", "1")
    assert whole is not None
    assert json.loads(whole) == {"a": value}
    assert whole.startswith(tool["arguments"])
