"""Two places side by side, as the page is told."""

import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agent.context.prices import ModelPrice
from checkpoints import BranchNotFoundError, CheckpointNotFoundError, MessageNotFoundError, NewMessage, Runs, Store
from checkpoints.values import serde
from components import comparing
from components.comparing import ComparisonView
from components.places import build_options, list_places
from components.views.comparison_view import ComparedMessage, SideView, align_turns
from components.views.word_differences import mark_cheap_differences
from tests.checkpoints.conversations import new, talked


def list_messages(side: SideView) -> list[ComparedMessage]:
    return [message for turn in side["turns"] for message in turn["messages"]]


def told(view: ComparisonView) -> tuple[int, str, list[str], list[str]]:
    sides = ([message["text"] for message in list_messages(view[side])] for side in ("one", "other"))
    return (view["shared"], re.sub("<[^>]*>", "", view["common"]).strip(), *sides)


def test_a_checkpoint_and_a_branch_are_held_against_where_the_conversation_stands(memory_store: Store) -> None:
    store, runs = memory_store, Runs(memory_store)
    thread_id = talked(store, "a", "b", "c", "d")
    saved = store.save(thread_id, name="There").result
    main = store.get_thread(thread_id).branch_id
    store.fork(thread_id, store.list_messages(thread_id)[1].id, name="Two")
    two = store.get_thread(thread_id).branch_id
    store.append(thread_id, new("C"))
    branches = comparing.compare_places(store, runs, thread_id, f"branch:{main}", "")
    assert told(branches) == (2, "b", ["c", "d"], ["C"])
    assert told(comparing.compare_places(store, runs, thread_id, f"branch:{main}", f"branch:{two}")) == told(branches)
    store.switch(thread_id, main)
    store.append(thread_id, new("e"))
    assert told(comparing.compare_places(store, runs, thread_id, f"checkpoint:{saved}", "")) == (4, "d", [], ["e"])
    assert told(comparing.compare_places(store, runs, thread_id, "", "")) == (5, "e", [], [])


def test_a_long_way_is_cut_and_the_rest_is_counted(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MAX_SIDE_MESSAGES", 2)
    thread_id = talked(memory_store, *"abcdef")
    first = memory_store.list_checkpoints(thread_id)[0].id
    other = comparing.compare_places(memory_store, Runs(memory_store), thread_id, f"checkpoint:{first}", "")["other"]
    assert ([message["text"] for message in list_messages(other)], other["length"], other["more"]) == (["c", "d"], 4, 2)


def test_a_cut_tears_no_call_from_its_result(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MAX_SIDE_MESSAGES", 3)
    thread_id = talked(memory_store, "a", "b")
    first = memory_store.list_checkpoints(thread_id)[0].id
    calling = AIMessage("Let me see.", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    said = (HumanMessage("c"), AIMessage("d"), calling, ToolMessage("seen", tool_call_id="1"), AIMessage("e"))
    memory_store.append(thread_id, [NewMessage(serde.to_body(message)) for message in said])
    other = comparing.compare_places(memory_store, Runs(memory_store), thread_id, f"checkpoint:{first}", "")["other"]
    assert ([message["text"] for message in list_messages(other)], other["more"]) == (["c", "d"], 3)


def test_a_result_whose_call_both_have_stands_in_its_card(memory_store: Store) -> None:
    store = memory_store
    thread_id = talked(store, "a", "b")
    calls = [{"name": "look", "args": {}, "id": number} for number in ("1", "2")]
    results = [ToolMessage(f"seen {number}", tool_call_id=number) for number in ("1", "2")]
    store.append(
        thread_id, [NewMessage(serde.to_body(AIMessage("", tool_calls=calls))), NewMessage(serde.to_body(results[0]))]
    )
    saved = store.save(thread_id).result
    store.append(thread_id, [NewMessage(serde.to_body(results[1])), new("", "done")[1]])
    found = comparing.compare_places(store, Runs(store), thread_id, f"checkpoint:{saved}", "")
    card, done = list_messages(found["other"])
    assert [tool["result"] for tool in card["tools"]] == ["seen 1", "seen 2"]
    assert (done["text"], found["shared"], found["other"]["length"]) == ("done", 4, 2)


def test_only_where_one_stands_is_something_at_work(memory_store: Store) -> None:
    store, runs = memory_store, Runs(memory_store)
    thread_id = talked(store, "a", "b")
    begin = store.list_messages(thread_id)[1].id
    main = store.get_thread(thread_id).branch_id
    calling = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in (HumanMessage("c"), calling)])
    store.fork(thread_id, begin)
    run = runs.begin_run(thread_id, new("d")[0])
    runs.commit_message(run, NewMessage(serde.to_body(calling)))
    found = comparing.compare_places(store, runs, thread_id, f"branch:{main}", "")
    assert [list_messages(found[side])[-1]["tools"][0]["status"] for side in ("one", "other")] == ["stopped", "running"]


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("branch:none", BranchNotFoundError),
        ("checkpoint:none", CheckpointNotFoundError),
        ("branch:", BranchNotFoundError),
        ("message:none", MessageNotFoundError),
        ("rubbish", CheckpointNotFoundError),
    ],
)
def test_a_place_that_is_not_there_is_refused(memory_store: Store, place: str, error: type[Exception]) -> None:
    thread_id = talked(memory_store, "a", "b")
    with pytest.raises(error):
        comparing.compare_places(memory_store, Runs(memory_store), thread_id, place, "")


def test_any_message_can_be_compared(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "c")
    first = memory_store.list_messages(thread_id)[0].id
    assert comparing.compare_places(memory_store, Runs(memory_store), thread_id, f"message:{first}", "")["shared"] == 1


def test_an_empty_conversation_can_be_compared(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    assert told(comparing.compare_places(memory_store, Runs(memory_store), thread_id, "", "")) == (0, "", [], [])


def build_answer(text: str, tokens: int, spec: str = "openai:a", tool: str = "") -> NewMessage:
    usage = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10}
    calls = [{"name": tool, "args": {}, "id": "1"}] if tool else []
    return NewMessage(
        serde.to_body(AIMessage(text, usage_metadata=usage, response_metadata={"spec": spec}, tool_calls=calls))
    )


def test_each_side_and_each_turn_has_its_figures(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b")
    saved = memory_store.save(thread_id).result
    result = NewMessage(serde.to_body(ToolMessage("4", tool_call_id="1")))
    memory_store.append(thread_id, [new("c")[0], build_answer("", 100, tool="look"), result, build_answer("d", 200)])
    memory_store.append(thread_id, [new("e")[0], build_answer("f", 300, "openai:b")])
    prices = {"openai:a": ModelPrice(1, 2)}
    runs = Runs(memory_store)
    one, other = (
        comparing.compare_places(memory_store, runs, thread_id, f"checkpoint:{saved}", "", prices=prices)[side]
        for side in ("one", "other")
    )
    figures = other["figures"]
    assert (figures["answers"], figures["input"], figures["output"], figures["unpriced"]) == (3, 600, 30, 1)
    assert figures["cost"] == pytest.approx((300 + 2 * 20) / 1e6)
    assert figures["tools"] == [{"name": "look", "count": 1}]
    assert [(model["spec"], model["answers"]) for model in figures["models"]] == [("openai:a", 2), ("openai:b", 1)]
    assert [turn["figures"]["input"] for turn in other["turns"]] == [300, 300]
    assert (one["figures"]["cost"], one["turns"]) == (None, [])


def test_the_words_that_differ_are_marked_in_pairs(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "Say red", "Red it is. <b>x</b>")
    main = memory_store.get_thread(thread_id).branch_id
    memory_store.fork(thread_id, memory_store.list_messages(thread_id)[1].id)
    memory_store.append(thread_id, new("Say blue", "Blue it is. <b>x</b>"))
    found = comparing.compare_places(memory_store, Runs(memory_store), thread_id, f"branch:{main}", "")
    one, other = (list_messages(found[side]) for side in ("one", "other"))
    assert [each["html"] for each in one] == ["Say <del>red</del>", "<p><del>Red</del> it is. &lt;b&gt;x&lt;/b&gt;</p>\n"]
    assert [each["html"] for each in other] == [
        "Say <ins>blue</ins>",
        "<p><ins>Blue</ins> it is. &lt;b&gt;x&lt;/b&gt;</p>\n",
    ]
    assert {each["difference"] for each in [*one, *other]} == {"words"}


def align(one: list[str], other: list[str]) -> list[tuple[list[int], list[int], bool]]:
    sides: Any = [
        {"turns": [{"messages": [{"role": "user", "text": text, "html": text}]} for text in side]} for side in (one, other)
    ]
    return [(row["one"], row["other"], row["is_same"]) for row in align_turns(sides, mark_cheap_differences)]


def test_only_turns_with_the_same_or_an_edited_question_are_beside_each_other() -> None:
    assert align(["12·(3+4) = 84"], ["tell me about coffee"]) == [([0], [0], False)]
    assert align(["Red?", "Green?"], ["green?"]) == [([0], [], False), ([1], [0], True)]
    assert align(["Red?", "Tea?", "Blue?"], ["Red?", "Coffee?", "Milk?", "blue?"]) == [
        ([0], [0], True),
        ([1], [1, 2], False),
        ([2], [3], True),
    ]
    assert align(["About red wine", "Why?"], ["About white wine", "Why?"]) == [([0], [0], True), ([1], [1], True)]
    assert align([], ["Red?"]) == [([], [0], False)]


def test_nothing_is_marked_in_turns_with_other_questions(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "What is 12·(3+4)?", "It is 84.")
    main = memory_store.get_thread(thread_id).branch_id
    memory_store.fork(thread_id, memory_store.list_messages(thread_id)[1].id)
    memory_store.append(thread_id, new("Tell me about coffee", "It is a drink."))
    found = comparing.compare_places(memory_store, Runs(memory_store), thread_id, f"branch:{main}", "")
    messages = [each for side in ("one", "other") for each in list_messages(found[side])]
    assert [each["difference"] for each in messages] == [None] * 4
    assert not any("<ins>" in each["html"] or "<del>" in each["html"] for each in messages)


def test_every_place_has_a_name_in_the_lists(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b")
    place = f"message:{memory_store.list_messages(thread_id)[0].id}"
    assert list_places(memory_store, thread_id, ["", place])[""] == "Current position"
    memory_store.fork(thread_id, memory_store.list_messages(thread_id)[0].id, name="Two")
    saved = memory_store.save(thread_id, name="There").result
    main = next(branch.id for branch, _ in memory_store.list_branches(thread_id) if branch.name == "main")
    names = list_places(memory_store, thread_id, [place, "branch:none"])
    assert {**names, f"checkpoint:{saved}": ""}.items() >= {
        "": "Two · current position",
        place: "Message 1: “a”",
        f"branch:{main}": "main",
        "branch:none": "(no longer exists)",
    }.items()
    options = build_options(names)
    assert [each["value"] for each in options if each.get("disabled")] == ["branch", "checkpoint"]
    assert options[0] == {"value": "current", "label": "Two · current position"}
