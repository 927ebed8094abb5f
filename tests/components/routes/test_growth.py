"""The plot of tokens: what the context took after each message, and what a summary saved."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.context.answer_notes import SIZE_NOTE_KEY
from agent.context.measurement import measure_path_growth as grown
from agent.context.numbering import DEFAULT_NUMBERS
from agent.context.tokens import estimate_stored_tokens
from agent.demo.model import DemoChatModel
from agent.graph.state import Limits
from agent.preparation import compaction
from agent.preparation.compaction import SummaryScope, select_passage
from agent.preparation.inputs import RunInputs
from agent.tracing.protocol import NO_TRACING
from checkpoints import Caller, NewMessage, Runs, Store
from checkpoints.values import serde
from components.routes import growth
from tests.agent.running import Only

LONG = "A sentence that is long enough to be worth a summary. " * 20


def build_inputs(store: Store) -> RunInputs:
    return RunInputs(
        store=store,
        runs=Runs(store),
        catalog=Only(DemoChatModel()),
        limits=Limits(),
        tracer=NO_TRACING,
        agents={},
        numbers=DEFAULT_NUMBERS,
    )


def measure(store: Store, thread_id: str) -> growth.GrowthView:
    return growth.measure_growth(store, build_inputs(store), thread_id)


def counted(tokens: int, estimated: int = 1) -> AIMessage:
    usage: Any = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10}
    return AIMessage("yes", usage_metadata=usage, response_metadata={SIZE_NOTE_KEY: {"estimated": estimated, "left_out": 0}})


def talked(store: Store, *messages: BaseMessage) -> str:
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in messages], caller=Caller(undo_group="a-run"))
    return thread_id


def test_a_provider_s_count_holds_and_what_follows_is_added_to_it(memory_store: Store) -> None:
    thread_id = talked(memory_store, HumanMessage("a"), counted(300), HumanMessage(LONG), counted(900), HumanMessage("b"))
    path = memory_store.list_messages(thread_id)
    first, long, last = (estimate_stored_tokens(path[place]) for place in (0, 2, 4))
    assert grown(path) == [first, 310, 310 + long, 910, 910 + last]


def test_a_sub_agent_s_messages_are_not_in_the_context(memory_store: Store) -> None:
    thread_id = talked(memory_store, HumanMessage("a"))
    memory_store.append(thread_id, [NewMessage(serde.to_body(HumanMessage(LONG)), agent="critic")])
    first, second = grown(memory_store.list_messages(thread_id))
    assert first == second


def test_the_line_is_thinned_out_and_ends_where_the_conversation_stands(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "MAX_POINTS", 4)
    thread_id = talked(memory_store, *(HumanMessage(str(number)) for number in range(10)))
    points = measure(memory_store, thread_id)["points"]
    assert [point["messages"] for point in points] == [1, 4, 7, 10]
    context = build_inputs(memory_store).load_context(thread_id)
    assert context is not None
    assert points[-1]["tokens"] == context.tokens  # as the meter counts it


def test_a_summary_is_told_with_what_it_saved(memory_store: Store) -> None:
    thread_id = talked(memory_store, HumanMessage(LONG), HumanMessage(LONG), HumanMessage("?"))
    note = compaction.build_note(select_passage(memory_store.list_messages(thread_id), SummaryScope()), "Short.")
    memory_store.append(thread_id, [note.build_message()], after=None)
    seen = measure(memory_store, thread_id)
    (drop,) = seen["drops"]
    assert drop["messages"] == 1
    assert drop["text"].startswith("At message 1, about ")
    assert seen["text"].endswith(f"after 1 message. {drop['text']}")
    assert seen["end"].startswith("message 1: ")
    assert seen["most"] == drop["before"] > 2 * drop["after"] > 0


def test_a_drop_begins_and_ends_at_the_height_of_the_line(memory_store: Store) -> None:
    thread_id = talked(memory_store, *(HumanMessage(LONG) for _ in range(6)))
    before = [point["tokens"] for point in measure(memory_store, thread_id)["points"]]
    found = select_passage(
        memory_store.list_messages(thread_id), SummaryScope("from", memory_store.list_messages(thread_id)[3].id)
    )
    memory_store.append(
        thread_id, [compaction.build_note(found, "Short.").build_message()], after=found.messages[0].parent_id
    )
    seen = measure(memory_store, thread_id)
    (drop,) = seen["drops"]
    assert (drop["before"], drop["after"]) == (before[-1], seen["points"][-1]["tokens"])
    assert seen["most"] == drop["before"] > drop["after"] > before[2]


def test_the_most_is_no_matter_of_which_points_are_drawn(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "MAX_POINTS", 2)
    thread_id = talked(memory_store, *(counted(tokens) for tokens in (100, 900, 200, 300)))
    assert measure(memory_store, thread_id)["most"] == 910


def test_an_empty_conversation_has_no_line(memory_store: Store) -> None:
    empty: growth.GrowthView = {"points": [], "drops": [], "most": 0, "text": "No messages yet.", "end": ""}
    assert measure(memory_store, memory_store.create_thread().id) == empty


def test_plot_and_meter_count_alike_before_and_after_a_summary(memory_store: Store) -> None:
    """The provider counted 5,000 tokens more than the messages have: the instructions and the tools."""
    first, second = counted(5_300, estimated=620), counted(5_600, estimated=920)
    thread_id = talked(memory_store, HumanMessage(LONG), first, HumanMessage(LONG), second)
    whole = measure(memory_store, thread_id)["points"]
    assert 5_000 < whole[0]["tokens"] < whole[1]["tokens"] < whole[2]["tokens"] < whole[3]["tokens"] == 5_610
    found = select_passage(memory_store.list_messages(thread_id), SummaryScope())
    caller = Caller(undo_group="a-run")
    memory_store.append(thread_id, [compaction.build_note(found, "Short.").build_message()], after=None, caller=caller)
    seen, context = measure(memory_store, thread_id), build_inputs(memory_store).load_context(thread_id)
    assert context is not None
    assert context.tokens == seen["points"][0]["tokens"] > 5_000
    assert seen["drops"][0]["before"] == pytest.approx(5_610, rel=0.1)
