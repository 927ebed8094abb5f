"""Graphs that are right and unusual: approval, edit, retry, restore and undo work with each, and move all its channels."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from checkpoints import Caller, NothingToUndoError, Run, RunState
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import answer
from tests.extensions.graphs.stacks import read_identities
from tests.extensions.graphs.strange_graphs import HEAD, STRANGE_GRAPHS
from tests.extensions.graphs.test_driving import play

pytestmark = pytest.mark.slow

MAX_ANSWERS = 5
OTHERWISE_TESTED = {  # in the quick suite, with fewer ways
    "a state without messages",
    "messages under another key",
    "a function that is an entrypoint",
    "a store and a context",
    "values that it streams itself",
}


async def approve(chat: Running, run: Run) -> None:
    """Answer every question of a run, one by one."""
    run = await chat.end(run)
    for _ in range(MAX_ANSWERS):
        if run.state is not RunState.WAITING:
            break
        if chat.runner.list_questions(chat.thread_id):
            run = await answer(chat, "yes")
        else:
            run = await chat.end(await chat.runner.resume(chat.thread_id, {}, caller=Caller()))
    assert (run.state, run.error) == (RunState.DONE, None)


def look(chat: Running) -> tuple[Any, ...]:
    """The conversation, and the identity of every channel."""
    return chat.said(), read_identities(chat.store, chat.thread_id)


def count_steps(move: Callable[[str], object], thread_id: str) -> int:
    """Undo, or redo, as long as there is something; return how often."""
    count = 0
    with suppress(NothingToUndoError):
        while True:
            move(thread_id)
            count += 1
    return count


@pytest.mark.parametrize(
    "graph", [pytest.param(name, marks=pytest.mark.slow if name in OTHERWISE_TESTED else ()) for name in STRANGE_GRAPHS]
)
def test_a_strange_graph_is_approved_edited_tried_again_restored_and_undone(graph: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        seen = [look(chat)]
        asked = await chat.send("one")
        assert (await chat.end(asked)).state is RunState.WAITING
        await approve(chat, asked)
        assert "one" in chat.said()[-1][2]
        seen.append(look(chat))
        saved = str(chat.store.save(chat.thread_id, name="here").result)
        await approve(chat, await chat.send("two"))
        assert "two" in chat.said()[-1][2]
        seen.append(look(chat))

        question = next(each for each in reversed(chat.path()) if each.type == "human")
        await approve(chat, await chat.runner.edit(chat.thread_id, question.id, "three", caller=Caller()))
        assert "three" in chat.said()[-1][2]
        assert not any("two" in text for _, _, text in chat.said())
        edited = look(chat)
        await approve(chat, await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said() == edited[0]

        before = look(chat)
        chat.store.restore(chat.thread_id, saved)
        assert look(chat) == seen[1]
        chat.store.undo(chat.thread_id)
        assert look(chat) == before
        chat.store.restore(chat.thread_id, saved)
        await approve(chat, await chat.send("four"))
        assert "four" in chat.said()[-1][2]
        assert not any(text in said for _, _, said in chat.said() for text in ("two", "three"))

        reached = look(chat)
        undone = count_steps(chat.store.undo, chat.thread_id)
        assert look(chat) == seen[0]
        assert count_steps(chat.store.redo, chat.thread_id) == undone
        assert look(chat) == reached

    play(tmp_path, story, HEAD + STRANGE_GRAPHS[graph])
