"""A graph that was changed while it waited: an answer to a question whose node is gone reaches no other node."""

import asyncio
from pathlib import Path

import pytest

from checkpoints import Caller, Database, Run, RunState
from extensions.graphs.graph_run import GraphFailedError
from extensions.graphs.interrupts import QuestionGoneError
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import answer, hosting, one_node

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


ASKS_LATER = one_node(NEW).replace(
    'builder.add_edge("node", END)',
    "def last(state):\n    return {'messages': [AIMessage(interrupt('other?'))]}\n\n\n"
    "builder.add_node('last', last)\nbuilder.add_edge('node', 'last')",
)


def test_an_answer_that_is_asked_for_no_more_is_told_also_where_another_node_asks(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, one_node(OLD), database=Database.open_file(path)) as chat:
            await chat.say("go")
            thread_id = chat.thread_id
        folder = make_folder(tmp_path)
        async with hosting(folder, ASKS_LATER, database=Database.open_file(path), thread_id=thread_id) as chat:
            run = await reply(chat, "yes")
            assert run.state is RunState.FAILED
            assert "nothing in it asks for this answer any more" in str(run.error)
            assert [each.value for each in chat.runner.list_questions(thread_id)] == ["other?"]
            await reply(chat, "on")
            assert [text for _, _, text in chat.said()[1:]] == ["new", "on"]

    asyncio.run(story())


IN_TWO = OLD.replace("old: {interrupt('really?')}", "{interrupt('really?')} {interrupt('sure?')}")
PLAIN, NESTED = one_node(IN_TWO), one_node(IN_TWO.replace("def node", "def deep") + BELOW.replace("NAME", "deep"))


@pytest.mark.parametrize(("before", "after"), [(PLAIN, NESTED), (NESTED, PLAIN)])
@pytest.mark.parametrize("given", [[], ["first"]])
def test_a_node_that_became_a_subgraph_or_was_one_tells_that_it_asks_again(
    before: str, after: str, given: list[str], tmp_path: Path
) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, before, database=Database.open_file(path)) as chat:
            await chat.say("go")
            for each in given:
                await answer(chat, each)
            thread_id = chat.thread_id
        async with hosting(make_folder(tmp_path), after, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            run = await reply(chat, "yes")
            assert run.state is RunState.FAILED
            assert str(run.error).startswith("The graph was changed, and asks again: your answer was not used.")
            assert [each.value for each in chat.runner.list_questions(thread_id)] == ["really?"]
            chat.store.undo(thread_id)
            assert chat.runner.list_questions(thread_id) == [question]
            chat.store.redo(thread_id)
            assert (await reply(chat, "yes")).state is RunState.WAITING
            assert (await reply(chat, "on")).state is RunState.DONE
            assert [text for _, _, text in chat.said()[1:]] == ["yes on"]

    asyncio.run(story())


ASKS_ONE = one_node(IN_TWO.replace("{interrupt('really?')} ", "new: "))
ASKS_ONE_BELOW = NESTED.replace("{interrupt('really?')} ", "new: ")


@pytest.mark.parametrize(("before", "after"), [(PLAIN, ASKS_ONE), (NESTED, ASKS_ONE_BELOW)])
def test_an_answer_to_the_second_question_is_told_where_the_node_asks_one_alone(
    before: str, after: str, tmp_path: Path
) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, before, database=Database.open_file(path)) as chat:
            await chat.say("go")
            await answer(chat, "yes")
            thread_id = chat.thread_id
        async with hosting(make_folder(tmp_path), after, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            run = await reply(chat, "on")
            assert run.state is RunState.FAILED
            assert "nothing in it asks for this answer any more" in str(run.error)
            assert [text for _, _, text in chat.said()[1:]] == ["new: yes"]
            chat.store.undo(thread_id)
            assert chat.runner.list_questions(thread_id) == [question]

    asyncio.run(story())


CALLS = """
from langgraph.func import entrypoint, task
from langgraph.types import interrupt


@task
async def ask(text):
    return interrupt(text)


@entrypoint()
async def graph(given):
    return f"{await ask('one?')} {await ask('two?')}"
"""


def test_a_question_of_a_task_that_was_renamed_is_not_shown_beside_those_that_are_asked(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, CALLS, database=Database.open_file(path)) as chat:
            await chat.say('"go"')
            await answer(chat, "a")
            thread_id = chat.thread_id
        changed = CALLS.replace("ask(", "inquire(")
        async with hosting(make_folder(tmp_path), changed, database=Database.open_file(path), thread_id=thread_id) as chat:
            assert str((await reply(chat, "lost")).error).startswith("The graph was changed, and asks again")
            for asked, given in (("one?", "A"), ("two?", "B")):
                assert [each.value for each in chat.runner.list_questions(thread_id)] == [asked]
                assert (await reply(chat, given)).error is None
            assert "A B" in chat.said()[-1][2]

    asyncio.run(story())


async def reply(chat: Running, text: str) -> Run:
    """Answer the question that waits, and return the run once it rests."""
    (question,) = chat.runner.list_questions(chat.thread_id)
    await chat.runner.resume(chat.thread_id, {question.id: text}, caller=Caller())
    await chat.until(lambda: not chat.runs.list_running_threads())
    run = chat.runs.get_latest_run(chat.thread_id)
    assert run is not None
    return run


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
