"""A file has the answers that stand where a conversation waits: none that was taken back goes along, or comes back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from checkpoints.interchange import reading, transfer
from checkpoints.langgraph import WaymarkSaver
from extensions.graphs.interrupts import InputMissingError
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import one_node
from tests.extensions.graphs.test_driving import play
from tests.extensions.graphs.test_earlier_answers import (
    ASKS_TWICE,
    IN_A_SUBGRAPH,
    NODES_OF_A_SUBGRAPH,
    SUBGRAPHS_BESIDE,
    answer_to,
    list_answers,
    list_asked,
    list_drafts,
)

BESIDE = one_node(
    "def one(state):\n    said = interrupt('one?')\n    return {'messages': [AIMessage(f'one {said}')]}\n\n\n"
    "def node(state):\n    return {'messages': [AIMessage(f\"two {interrupt('two?')} {interrupt('three?')}\")]}"
).replace(
    'builder.add_node("node", node)',
    'builder.add_node("node", node)\nbuilder.add_node("one", one)\nbuilder.add_edge(START, "one")',
)


def move_by_file(chat: Running) -> str:
    """Export the conversation, and go on in the one that is made of the file. Return the file."""
    text = transfer.export(chat.store, chat.thread_id)
    chat.thread_id = str(transfer.import_thread(chat.store, reading.read_document(text), graphs=["graph"]).result)
    return text


def read_rest(chat: Running) -> Any:
    return sorted(map(str, list_asked(chat))), list_drafts(chat), chat.said()


@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
@pytest.mark.parametrize("kept", [(), ("kept",)])
@pytest.mark.parametrize("way", ["undo", "restore"])
def test_an_answer_that_was_taken_back_is_not_in_a_file_after_another_one(
    way: str, body: str, kept: Sequence[str], tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for each in kept:
            await answer_to(chat, list_asked(chat)[0], each)
        saved = str(chat.store.save(chat.thread_id, name="here").result)
        await answer_to(chat, list_asked(chat)[0], "undone")
        if way == "undo":
            chat.store.undo(chat.thread_id)
        else:
            chat.store.restore(chat.thread_id, saved)
        before = read_rest(chat)
        original, text = chat.thread_id, move_by_file(chat)
        assert ("undone" in text, read_rest(chat)) == (False, before)
        chat.thread_id = original
        await answer_to(chat, list_asked(chat)[0], "other")
        before = read_rest(chat)
        text = move_by_file(chat)
        assert ("undone" in text, read_rest(chat)) == (False, before)
        given = [*kept, "other"]
        while list_asked(chat):
            given.append(f"answer {len(given)}")
            await answer_to(chat, list_asked(chat)[0], given[-1])
        assert chat.said()[-1] == ("ai", "done", " ".join(given))

    play(tmp_path, story, one_node(body))


@pytest.mark.parametrize("taken_back", ["one?", "two?"])
@pytest.mark.parametrize("answered", ["one?", "two?"])
def test_an_undone_answer_beside_others_is_not_in_a_file(taken_back: str, answered: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer_to(chat, taken_back, "undone")
        chat.store.undo(chat.thread_id)
        await answer_to(chat, answered, "other")
        before = read_rest(chat)
        text = move_by_file(chat)
        assert ("undone" in text, read_rest(chat)) == (False, before)
        while list_asked(chat):
            await answer_to(chat, list_asked(chat)[0], "last")
        assert [text for kind, _, text in chat.said() if kind == "ai"] == [
            "two other last" if answered == "two?" else "two last last",
            "one other" if answered == "one?" else "one last",
        ]

    play(tmp_path, story, BESIDE)


@pytest.mark.parametrize("order", [("alpha", "beta", "gamma"), ("beta", "gamma", "alpha")])
def test_an_undone_answer_in_a_subgraph_beside_others_is_not_in_a_file(order: Sequence[str], tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer_to(chat, "beta", "undone")
        chat.store.undo(chat.thread_id)
        for tag in order[:-1]:
            await answer_to(chat, tag, "NEW")
            before = read_rest(chat)
            text = move_by_file(chat)
            assert ("undone" in text, read_rest(chat)) == (False, before)
        for tag in (order[-1], "beta again"):
            await answer_to(chat, tag, "LAST")
        expected = {f"{each} {'LAST' if each == order[-1] else 'NEW'}" for each in ("alpha", "beta", "gamma")}
        assert list_answers(chat) == expected | {"beta LAST"}

    play(tmp_path, story, SUBGRAPHS_BESIDE)


NODES = one_node(
    "def first(state):\n    return {'thing': interrupt('first?')}\n\n\n"
    "def node(state):\n    return {'messages': [AIMessage(f\"{state['thing']} {interrupt('second?')}\")]}"
).replace(
    'builder.add_edge(START, "node")', 'builder.add_node(first)\nbuilder.add_edge(START, "first").add_edge("first", "node")'
)
SENDS = one_node(
    "from langgraph.types import Send\n\n\n"
    "def node(state):\n    return {'messages': [AIMessage(f\"{state['who']} {interrupt(state['who'])}\")]}\n\n\n"
    "def split(state):\n    last = state['messages'][-1]\n"
    "    return [Send('node', {'who': each, 'last': last}) for each in ('a?', 'b?', 'c?')]"
).replace('builder.add_edge(START, "node")', 'builder.add_conditional_edges(START, split, ["node"])')
CALLS_A_GRAPH = one_node(
    NODES_OF_A_SUBGRAPH.replace("node = StateGraph", "inner = StateGraph")
    + "\n\n\nasync def node(state):\n    made = await inner.ainvoke({'messages': []})\n"
    "    return {'messages': [AIMessage(f\"{made['messages'][-1].text} {interrupt('fourth?')} {interrupt('fifth?')}\")]}"
)
CALLS_BY_A_TASK = CALLS_A_GRAPH.replace("{interrupt('fourth?')} {interrupt('fifth?')}", "{await call()}").replace(
    "async def node(state):",
    "from langgraph.func import task\n\n\ndef low(state):\n"
    "    return {'messages': [AIMessage(f\"{interrupt('fourth?')} {interrupt('fifth?')}\")]}\n\n\n"
    "lower = StateGraph(State).add_node(low).add_edge(START, 'low').compile()\n\n\n"
    "@task\nasync def call():\n    return (await lower.ainvoke({'messages': []}))['messages'][-1].text\n\n\n"
    "async def node(state):",
)
IN_AN_ENTRYPOINT = """
from langgraph.func import entrypoint, task
from langgraph.types import interrupt


@task
async def ask(text):
    return interrupt(text)


@entrypoint()
async def graph(given, *, previous=None):
    if given == "no questions":
        return entrypoint.final(value=given, save=given)
    said = [await ask("first?"), interrupt("second?"), await ask("third?")]
    return entrypoint.final(value=[previous, given, said], save=said)
"""
ALL = [*map(one_node, (ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH)), NODES, BESIDE, SUBGRAPHS_BESIDE, SENDS]
ALL += [CALLS_A_GRAPH, IN_AN_ENTRYPOINT]


@pytest.mark.parametrize("is_imported", [False, True])
@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("kept", [0, 1])
def test_an_undone_answer_is_in_no_later_file(kept: int, text: str, is_imported: bool, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for number in range(kept):
            await answer_to(chat, list_asked(chat)[0], f"kept {number}")
        if is_imported:
            move_by_file(chat)
        await answer_to(chat, list_asked(chat)[0], "undone")
        chat.store.undo(chat.thread_id)
        assert "undone" not in transfer.export(chat.store, chat.thread_id)
        while list_asked(chat):
            await answer_to(chat, list_asked(chat)[-1], "last")
            assert "undone" not in transfer.export(chat.store, chat.thread_id)

    play(tmp_path, story, text)


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("way", ["undo", "restore", "checkpoint", "branch"])
def test_an_answer_that_was_taken_back_is_not_in_the_file_of_a_copy(way: str, kept: int, text: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for number in range(kept):
            await answer_to(chat, list_asked(chat)[0], f"kept {number}")
        saved = str(chat.store.save(chat.thread_id, name="here").result)
        head_id = chat.store.get_thread(chat.thread_id).head_id
        await answer_to(chat, list_asked(chat)[0], "undone")
        if way == "restore":
            chat.store.restore(chat.thread_id, saved)
        elif way != "checkpoint":
            chat.store.undo(chat.thread_id)
        if way == "branch":
            chat.store.fork(chat.thread_id, head_id, name="other")
        from_id = saved if way == "checkpoint" else None
        chat.thread_id = str(chat.store.fork_thread(chat.thread_id, head_id, checkpoint_id=from_id).result)
        before = read_rest(chat)
        assert ("undone" in move_by_file(chat), read_rest(chat)) == (False, before)

    play(tmp_path, story, text)


def test_a_message_after_an_undone_answer_in_an_import_brings_it_into_no_file(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        move_by_file(chat)
        await answer_to(chat, "first?", "undone")
        chat.store.undo(chat.thread_id)
        await chat.send("on")
        await chat.until(lambda: not chat.runs.list_running_threads())
        text = move_by_file(chat)
        assert ("undone" in text, "undone" in read_states(chat)) == (False, False)

    play(tmp_path, story, NODES)


def read_states(chat: Running) -> str:
    """Return all states, and where the conversation stands, as a program sees them."""
    return str([*WaymarkSaver(chat.store).list({"configurable": {"thread_id": chat.thread_id}})])


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("kept", [0, 1, 2])
@pytest.mark.parametrize("again", [False, True])
def test_an_answer_that_a_restore_left_behind_is_in_no_file(
    again: bool, kept: int, place: int, text: str, tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for number in range(kept):
            await answer_to(chat, list_asked(chat)[place], f"kept {number}")
        if not list_asked(chat):
            return
        saved = str(chat.store.save(chat.thread_id, name="here").result)
        await answer_to(chat, list_asked(chat)[place], "undone")
        chat.store.restore(chat.thread_id, saved)
        while list_asked(chat):
            await answer_to(chat, list_asked(chat)[place], "last")
            if again and list_asked(chat):
                saved = str(chat.store.save(chat.thread_id, name="later").result)
                await answer_to(chat, list_asked(chat)[place], "undone")
                chat.store.restore(chat.thread_id, saved)
            assert "undone" not in transfer.export(chat.store, chat.thread_id)
        before = chat.said()
        assert "undone" not in move_by_file(chat) + read_states(chat)
        assert chat.said() == before

    play(tmp_path, story, text)


@pytest.mark.parametrize("text", ALL)
def test_an_answer_between_two_restores_is_in_no_file(text: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        first = str(chat.store.save(chat.thread_id, name="first").result)
        asked = list_asked(chat)[0]
        await answer_to(chat, asked, "kept")
        second = str(chat.store.save(chat.thread_id, name="second").result)
        chat.store.restore(chat.thread_id, first, keep_future=True)
        await answer_to(chat, asked, "undone")
        chat.store.restore(chat.thread_id, second)
        while list_asked(chat):
            await answer_to(chat, list_asked(chat)[0], "last")
            assert "undone" not in transfer.export(chat.store, chat.thread_id)
        assert "undone" not in move_by_file(chat) + read_states(chat)

    play(tmp_path, story, text)


@pytest.mark.parametrize("order", [("a?", "b?", "c?"), ("c?", "a?", "b?")])
def test_the_questions_of_sends_go_along_with_their_answers(order: Sequence[str], tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for place, asked in enumerate(order):
            before = read_rest(chat)
            assert sorted(list_asked(chat)) == sorted(order[place:])
            move_by_file(chat)
            assert read_rest(chat) == before
            await answer_to(chat, asked, f"answer {place}")
        assert list_answers(chat) == {f"{asked} answer {place}" for place, asked in enumerate(order)}

    play(tmp_path, story, SENDS)


@pytest.mark.parametrize("given", ["a text", '"a text in JSON"', '{"n": 2, "deep": {"of": [1, null]}}', "7", "[]", "[1]"])
@pytest.mark.parametrize("moves", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_function_with_entrypoint_is_answered_elsewhere_as_here(moves: Sequence[int], given: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("no questions")
        await chat.say(given)
        for place, asked in enumerate(("first?", "second?", "third?")):
            if is_moved and place in moves:
                move_by_file(chat)
            assert list_asked(chat) == [asked]
            await answer_to(chat, asked, f"answer {place}")
        results.append(chat.said())
        chat.store.undo(chat.thread_id)
        await answer_to(chat, "third?", "another")
        results.append(chat.said())

    results: list[Any] = []
    for is_moved in (False, True):
        folder = tmp_path / str(is_moved)
        folder.mkdir()
        play(folder, story, IN_AN_ENTRYPOINT)
    assert results[:2] == results[2:]
    assert "answer 2" in results[0][-1][2]


@pytest.mark.parametrize("given", ["a text", '{"n": 2}', '{"n": [2]}'])
@pytest.mark.parametrize("way", ["undo", "restore"])
def test_a_function_that_has_ended_has_its_input_at_its_questions(way: str, given: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say(given)
        chat.store.save(chat.thread_id)
        for each in ("first?", "second?", "third?"):
            await answer_to(chat, each, "kept")
        if way == "undo":
            chat.store.undo(chat.thread_id)
        move_by_file(chat)
        if way == "restore":
            (saved,) = chat.store.list_checkpoints(chat.thread_id)
            chat.store.restore(chat.thread_id, saved.id)
        while list_asked(chat):
            await answer_to(chat, list_asked(chat)[0], "other")
        assert json.loads(chat.said()[-1][2].strip("`json\n"))["output"][1] == (
            json.loads(given) if given[0] == "{" else given
        )
        assert "other" in chat.said()[-1][2]

    play(tmp_path, story, IN_AN_ENTRYPOINT)


def test_an_answer_to_a_function_without_its_input_is_refused_with_a_true_sentence(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        document = transfer.export_document(chat.store, chat.thread_id)
        del document["states"][-1]["values"]["__start__"]
        text = transfer.waymark.write_document(document).text
        chat.thread_id = str(transfer.import_thread(chat.store, reading.read_document(text), graphs=["graph"]).result)
        assert list_asked(chat) == ["first?"]
        with pytest.raises(InputMissingError):
            await answer_to(chat, "first?", "lost")
        assert list_asked(chat) == ["first?"]
        await chat.send("no questions")
        await chat.until(lambda: not chat.runs.list_running_threads())
        assert "no questions" in chat.said()[-1][2]

    play(tmp_path, story, IN_AN_ENTRYPOINT)


@pytest.mark.parametrize("text", [CALLS_A_GRAPH, CALLS_BY_A_TASK])
@pytest.mark.parametrize("place", range(5))
def test_a_graph_that_a_node_calls_has_its_answers_elsewhere(place: int, text: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for each in range(5):
            if each == place:
                before = read_rest(chat)
                move_by_file(chat)
                assert read_rest(chat) == before
            await answer_to(chat, list_asked(chat)[0], f"a{each}")
        assert chat.said()[-1] == ("ai", "done", "a0 a1 a2 a3 a4")

    play(tmp_path, story, text)
