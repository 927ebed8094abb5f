"""A user graph asks: its questions are on disk, and an answer that a person took back is forgotten."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.events import GraphProgress
from agent.preparation.requests import NothingToDecideError
from agent.tools.decisions import UNDONE_CALL_TEXT
from checkpoints import Caller, Database, RunState, Store
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import AGENT, answer, decide, hosting, one_node, read_channels
from tests.extensions.graphs.test_driving import play


def test_a_run_waits_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        assert (await chat.say("ask 7A")).state is RunState.WAITING
        (question,) = chat.runner.list_questions(chat.thread_id)
        assert question.value == {"action_requests": [{"name": "book", "args": {"seat": "7A"}}]}
        assert (await answer(chat, decide("approve"))).state is RunState.DONE
        assert [text for _, _, text in chat.said()] == ["ask 7A", "", "approve 7A", "The tool says: approve 7A"]
        assert chat.runner.list_questions(chat.thread_id) == []
        with pytest.raises(NothingToDecideError):
            await chat.runner.resume(chat.thread_id, {question.id: decide("approve")}, caller=Caller())

    play(tmp_path, story)


def test_another_process_shows_the_question_and_passes_on_the_answer(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, database=Database.open_file(path)) as chat:
            await chat.say("ask 7A")
            thread_id = chat.thread_id
        async with hosting(tmp_path, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            await chat.runner.resume(thread_id, {question.id: decide("approve")}, caller=Caller())
            await chat.until(lambda: not chat.runs.list_running_threads())
            assert chat.said()[-1] == ("ai", "done", "The tool says: approve 7A")

    asyncio.run(story())


@pytest.mark.parametrize("way", ["undo", "restore"])
def test_after_going_back_the_question_is_asked_again_and_the_old_answer_is_forgotten(way: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("ask 7A")
        saved = chat.store.save(chat.thread_id, name="asked").result
        await answer(chat, decide("approve"))
        if way == "undo":
            chat.store.undo(chat.thread_id)
        else:
            chat.store.restore(chat.thread_id, str(saved))
        assert len(chat.runner.list_questions(chat.thread_id)) == 1
        await answer(chat, decide("reject"))
        assert chat.said()[-1] == ("ai", "done", "The tool says: reject 7A")

    play(tmp_path, story)


def test_a_subgraph_that_had_an_answer_asks_again_as_well(tmp_path: Path) -> None:
    text = one_node(
        "def deep(state):\n    return {'messages': [AIMessage(interrupt('really?'))]}\n"
        "node = StateGraph(State).add_node('deep', deep).add_edge(START, 'deep').compile()"
    )

    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "yes")
        assert chat.said()[-1] == ("ai", "done", "yes")
        chat.store.undo(chat.thread_id)
        await answer(chat, "no")
        assert chat.said() == [("human", "done", "go"), ("ai", "done", "no")]

    play(tmp_path, story, text)


def test_a_message_in_the_place_of_an_answer_closes_the_call(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("ask 7A")
        await chat.say("never mind")
        said = [text for _, _, text in chat.said()]
        assert said == ["ask 7A", "", "Not approved: the user went on without it.", "never mind", "1: never mind"]
        assert chat.runner.list_questions(chat.thread_id) == []

    play(tmp_path, story)


def test_questions_one_after_the_other_in_a_node_keep_their_answers(tmp_path: Path) -> None:
    text = one_node(
        "def node(state):\n    one = interrupt('first?')\n    two = interrupt('second?')\n"
        "    return {'messages': [AIMessage(f'{one} {two}')]}"
    )

    async def story(chat: Running) -> None:
        await chat.say("go")
        assert (await answer(chat, "a")).state is RunState.WAITING
        assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == ["second?"]
        await answer(chat, "b")
        assert chat.said()[-1] == ("ai", "done", "a b")

    play(tmp_path, story, text)


def test_several_questions_at_once_are_answered_one_by_one(tmp_path: Path) -> None:
    text = one_node(
        "def one(state):\n    return {'messages': [AIMessage('one ' + interrupt('one?'))]}\n"
        "def node(state):\n    return {'messages': [AIMessage('two ' + interrupt('two?'))]}"
    ).replace(
        'builder.add_node("node", node)',
        'builder.add_node("node", node)\nbuilder.add_node("one", one)\nbuilder.add_edge(START, "one")',
    )

    async def story(chat: Running) -> None:
        await chat.say("go")
        assert {each.value for each in chat.runner.list_questions(chat.thread_id)} == {"one?", "two?"}
        saved = str(chat.store.save(chat.thread_id, name="asked").result)
        second = chat.runner.list_questions(chat.thread_id)[1]
        assert (await answer(chat, "x")).state is RunState.WAITING
        assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == [second.value]
        assert (await answer(chat, "y")).state is RunState.DONE
        assert len(chat.said()) == 3
        chat.store.restore(chat.thread_id, saved)  # to before both answers: neither is known any more
        assert {each.value for each in chat.runner.list_questions(chat.thread_id)} == {"one?", "two?"}
        for _ in range(2):
            await answer(chat, "z")
        assert {text for _, _, text in chat.said()} == {"go", "one z", "two z"}

    play(tmp_path, story, text)


def test_a_graph_that_stops_before_a_node_is_let_go_on(tmp_path: Path) -> None:
    text = AGENT.replace("graph = builder.compile()", 'graph = builder.compile(interrupt_before=["answer"])')

    async def story(chat: Running) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert chat.runner.list_questions(chat.thread_id) == []
        run = await chat.end(await chat.runner.resume(chat.thread_id, {}, caller=Caller()))
        assert run.state is RunState.DONE
        assert read_channels(chat)["turns"] == 1

    play(tmp_path, story, text)


def test_an_answer_whose_run_was_stopped_is_forgotten_as_well(tmp_path: Path) -> None:
    text = one_node(
        "async def node(state):\n    answer = interrupt('really?')\n    get_stream_writer()(answer)\n"
        "    await asyncio.sleep(600 if answer == 'yes' else 0)\n    return {'messages': [AIMessage(answer)]}"
    )

    async def story(chat: Running) -> None:
        await chat.say("go")
        (question,) = chat.runner.list_questions(chat.thread_id)
        await chat.runner.resume(chat.thread_id, {question.id: "yes"}, caller=Caller())
        await chat.until(lambda: any(isinstance(each, GraphProgress) and each.lines == ("yes",) for each in chat.events))
        await chat.runner.stop(chat.thread_id)
        await answer(chat, "no")
        assert chat.said() == [("human", "done", "go"), ("ai", "done", "no")]

    play(tmp_path, story, text)


def test_a_question_in_the_form_of_a_move_is_a_question_where_no_call_asks_for_one(tmp_path: Path) -> None:
    body = "def node(state):\n    return {'messages': [AIMessage(interrupt({'waymark_move': 'call-1'}))]}"

    async def story(chat: Running) -> None:
        await chat.say("go")
        assert chat.runner.list_move_calls(chat.thread_id) == []
        (question,) = chat.runner.list_questions(chat.thread_id)
        assert question.value == {"waymark_move": "call-1"}
        await answer(chat, "yes")
        assert chat.said()[-1] == ("ai", "done", "yes")

    play(tmp_path, story, one_node(body))


def test_an_answer_is_not_given_to_another_question_of_the_same_id(tmp_path: Path) -> None:
    body = (
        "def node(state):\n    one = interrupt('City?')\n    two = interrupt(f'Street in {one}?')\n"
        "    return {'messages': [AIMessage(f'{one}, {two}')]}"
    )

    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "Rome")
        (seen,) = chat.runner.list_questions(chat.thread_id)
        chat.store.undo(chat.thread_id)
        await answer(chat, "Oslo")
        (asked,) = chat.runner.list_questions(chat.thread_id)
        assert (asked.id, asked.value) == (seen.id, "Street in Oslo?")
        with pytest.raises(NothingToDecideError):
            await chat.runner.resume(chat.thread_id, {seen.id: "Via"}, caller=Caller(), seen={seen.id: seen.key})
        await chat.end(
            await chat.runner.resume(chat.thread_id, {seen.id: "Gata"}, caller=Caller(), seen={asked.id: asked.key})
        )
        assert chat.said()[-1] == ("ai", "done", "Oslo, Gata")

    play(tmp_path, story, one_node(body))


SCHEMA = one_node(
    "from pydantic import BaseModel\n\n\nclass Seat(BaseModel):\n    row: int\n    aisle: bool = False\n\n\n"
    "def node(state):\n    seat = interrupt('Which seat?', response_schema=Seat)\n"
    "    return {'messages': [AIMessage(f'row {seat.row}')]}"
)


def test_the_schema_of_an_answer_is_on_disk_and_an_answer_that_does_not_fit_is_asked_for_again(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, SCHEMA, database=Database.open_file(path)) as chat:
            await chat.say("go")
            thread_id = chat.thread_id
        async with hosting(tmp_path, SCHEMA, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            assert question.response_schema is not None
            assert question.response_schema["properties"]["row"] == {"title": "Row", "type": "integer"}
            for given, state in (({"row": "no"}, RunState.FAILED), ({"row": 7}, RunState.DONE)):
                assert chat.runner.list_questions(thread_id) == [question]
                run = await chat.runner.resume(thread_id, {question.id: given}, caller=Caller())
                await chat.until(lambda: not chat.runs.list_running_threads())
                ended = chat.runs.get_run(run.id)
                assert ended is not None
                assert ended.state is state
                if ended.error:
                    assert "ValidationError: Seat, row: Input should be a valid integer" in ended.error
            assert chat.said() == [("human", "done", "go"), ("ai", "done", "row 7")]

    asyncio.run(story())


def test_a_call_of_a_graph_that_was_undone_is_told_to_have_had_a_result(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("ask 3")
        await answer(chat, decide("approve"))
        chat.store.undo(chat.thread_id)
        await chat.say("go on")
        assert [text for kind, _, text in chat.said() if kind == "tool"] == [UNDONE_CALL_TEXT]

    play(tmp_path, story)


def test_what_a_graph_waits_for_is_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = list[str]()
    list_operations = Store.list_operations

    def note(store: Store, thread_id: str, **options: Any) -> Any:
        loaded.append(thread_id)
        return list_operations(store, thread_id, **options)

    async def story(chat: Running) -> None:
        await chat.say("go")
        monkeypatch.setattr(Store, "list_operations", note)
        rest = chat.runner.read_rest(chat.thread_id, with_drafts=True)
        assert [each.value for each in rest.questions] == ["really?"]
        assert (rest.move_ids, rest.drafts, loaded) == ([], [], [chat.thread_id])

    play(tmp_path, story, one_node("def node(state):\n    return {'messages': [AIMessage(interrupt('really?'))]}"))


SIDE_BY_SIDE = one_node(
    """
async def left(state):
    interrupt("left?")
    await asyncio.Event().wait()


def node(state):
    return {"messages": [AIMessage(interrupt("right?"))]}
"""
).replace(
    'builder.add_edge(START, "node")', 'builder.add_edge(START, "node")\nbuilder.add_node(left).add_edge(START, "left")'
)


@pytest.mark.parametrize("end", [RunState.STOPPED, RunState.INTERRUPTED])
def test_a_conversation_waits_while_its_questions_are_open_after_a_run_was_cut_off(end: RunState, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        asked = chat.runner.list_questions(chat.thread_id)
        assert [each.value for each in asked] == ["left?", "right?"]
        run = await chat.runner.resume(chat.thread_id, {asked[0].id: "L"}, caller=Caller())
        if end is RunState.INTERRUPTED:  # as the next start does after a crash
            chat.runs.end_run(run, end)
        await chat.runner.stop(chat.thread_id)
        assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == ["left?", "right?"]
        assert chat.runs.list_waiting_threads() == {chat.thread_id}

    play(tmp_path, story, SIDE_BY_SIDE)


CALLS_BESIDE = """
from langgraph.func import entrypoint, task
from langgraph.types import interrupt


@task
async def ask(text):
    return interrupt(text)


async def ask_both():
    asked = ask("one?"), ask("two?")
    return " ".join([await each for each in asked])
"""
IN_AN_ENTRYPOINT = (
    CALLS_BESIDE
    + """

@entrypoint()
async def graph(given):
    return await ask_both()
"""
)
IN_A_NODE = one_node(
    CALLS_BESIDE
    + """

async def node(state):
    return {"messages": [AIMessage(await ask_both())]}
"""
)


@pytest.mark.parametrize("text", [IN_AN_ENTRYPOINT, IN_A_NODE])
def test_questions_of_tasks_side_by_side_are_shown_as_langgraph_returns_them(text: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say('"go"')
        for asked in ("one?", "two?"):
            assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == [asked]
            await answer(chat, asked[:-1])
        assert "one two" in chat.said()[-1][2]
        for asked in ("two?", "one?"):
            chat.store.undo(chat.thread_id)
            assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == [asked]
        for each in ("first", "second"):
            assert (await answer(chat, each)).error is None
        assert "first second" in chat.said()[-1][2]

    play(tmp_path, story, text)
