"""A graph that was changed while it waited: an answer to a question whose node is gone reaches no other node."""

import asyncio
from pathlib import Path

import pytest

from agent.user_graphs.graph_run import GraphFailedError
from agent.user_graphs.interrupts import QuestionGoneError
from checkpoints import Caller, Database, RunState
from tests.agent.user_graphs.running_graphs import hosting, one_node

OLD = "def node(state):\n    return {'messages': [AIMessage(f\"old: {interrupt('really?')}\")]}"
NEW = OLD.replace("old: {interrupt('really?')}", "new")
RENAMED = one_node(NEW).replace('"node"', '"other"')
BELOW = "\n\n\nnode = StateGraph(State).add_node('NAME', deep).add_edge(START, 'NAME').compile()"
FACTORY = "\n\nmade = graph\n\n\nasync def graph(config):\n    return made\n"


def below(name: str) -> str:
    return one_node(OLD.replace("def node", "def deep") + BELOW.replace("NAME", name))


def make_folder(tmp_path: Path) -> Path:
    """Make a folder for the changed file: a process imports each file once."""
    folder = tmp_path / "changed"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (one_node(OLD), RENAMED),
        (one_node(OLD), RENAMED + FACTORY),
        (below("deep"), below("deeper")),
        (below("deep"), RENAMED),
    ],
)
def test_an_answer_is_refused_where_its_node_is_gone_and_a_message_goes_on(before: str, after: str, tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, before, database=Database.open_file(path)) as chat:
            await chat.say("go")
            thread_id = chat.thread_id
        async with hosting(make_folder(tmp_path), after, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            version = chat.store.get_thread(thread_id).version
            with pytest.raises(QuestionGoneError, match="the node that asked this is gone"):
                await chat.runner.resume(thread_id, {question.id: "yes"}, caller=Caller())
            assert chat.store.get_thread(thread_id).version == version
            assert chat.runner.list_questions(thread_id) == [question]
            await chat.runner.send(thread_id, "on", caller=Caller())
            await chat.until(lambda: not chat.runs.list_running_threads())
            run = chat.runs.get_latest_run(thread_id)
            assert run is not None
            assert run.state in (RunState.DONE, RunState.WAITING)
            assert "yes" not in str(chat.said())

    asyncio.run(story())


@pytest.mark.parametrize("text", [one_node(OLD), one_node(OLD) + FACTORY, below("deep")])
def test_an_answer_is_taken_where_another_node_was_changed(text: str, tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, text, database=Database.open_file(path)) as chat:
            await chat.say("go")
            thread_id = chat.thread_id
        changed = text.replace(
            'builder.add_edge("node", END)',
            "builder.add_node('last', lambda state: None)\nbuilder.add_edge('node', 'last')",
        )
        async with hosting(make_folder(tmp_path), changed, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            await chat.runner.resume(thread_id, {question.id: "yes"}, caller=Caller())
            await chat.until(lambda: not chat.runs.list_running_threads())
            assert chat.said()[-1] == ("ai", "done", "old: yes")

    asyncio.run(story())


ENDS_BELOW = below("deep").replace("old: {interrupt('really?')}", "new")


@pytest.mark.parametrize(
    ("before", "after"), [(one_node(OLD), one_node(NEW)), (below("deep"), one_node(NEW)), (below("deep"), ENDS_BELOW)]
)
def test_an_answer_that_no_node_asks_for_any_more_is_told_and_undone(before: str, after: str, tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, before, database=Database.open_file(path)) as chat:
            await chat.say("go")
            thread_id = chat.thread_id
        async with hosting(make_folder(tmp_path), after, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            await chat.runner.resume(thread_id, {question.id: "yes"}, caller=Caller())
            await chat.until(lambda: not chat.runs.list_running_threads())
            run = chat.runs.get_latest_run(thread_id)
            assert run is not None
            assert run.state is RunState.FAILED
            assert str(run.error).startswith(
                "The graph was changed: nothing in it asks for this answer any more. It was not used"
            )
            assert [text for _, _, text in chat.said()[1:]] == ["new"]
            assert "yes" not in str(chat.said())
            chat.store.undo(thread_id)
            assert chat.runner.list_questions(thread_id) == [question]

    asyncio.run(story())


def open_once(raised: str) -> str:
    """A graph whose factory fails from its second call on."""
    return one_node(OLD) + (
        "\n\nclass Base(BaseException): pass\n\nmade, opened = graph, []\n\n\nasync def graph(config):\n"
        f"    opened.append(config)\n    if len(opened) > 1: raise {raised}\n    return made\n"
    )


@pytest.mark.parametrize(("raised", "told"), [("Base('boom')", "Base: boom"), ("sys.exit(3)", "SystemExit: 3")])
def test_an_answer_to_a_graph_that_does_not_open_is_told_as_its_failure(raised: str, told: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with hosting(tmp_path, open_once(raised)) as chat:
            await chat.say("go")
            (question,) = chat.runner.list_questions(chat.thread_id)
            with pytest.raises(GraphFailedError, match=f"The graph graph failed.*{told}"):
                await chat.runner.resume(chat.thread_id, {question.id: "yes"}, caller=Caller())
            assert chat.runner.list_questions(chat.thread_id) == [question]

    asyncio.run(story())


def test_an_answer_to_a_graph_that_cancels_its_opening_ends_its_run(tmp_path: Path) -> None:
    async def story() -> None:
        async with hosting(tmp_path, open_once("asyncio.CancelledError")) as chat:
            await chat.say("go")
            (question,) = chat.runner.list_questions(chat.thread_id)
            run = await chat.end(await chat.runner.resume(chat.thread_id, {question.id: "yes"}, caller=Caller()))
            assert run.state in (RunState.FAILED, RunState.STOPPED, RunState.INTERRUPTED)

    asyncio.run(story())
