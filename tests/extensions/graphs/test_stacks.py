"""Agents of LangChain and deepagents as their authors write them: every channel goes with the conversation."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from checkpoints import RunState
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import answer, decide, hosting
from tests.extensions.graphs.stacks import (
    AFTER_APPROVAL,
    CHANGE,
    CREATE_AGENT,
    DEEP_AGENT,
    PLAN,
    read_all_identities,
    read_identities,
    write_agent,
)
from tests.fakes.openai import Call, FakeOpenAI, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


def play(tmp_path: Path, text: str, story: Story) -> None:
    async def whole() -> None:
        with FakeOpenAI() as fake:
            async with hosting(tmp_path, write_agent(text, fake)) as chat:
                await story(chat, fake)
            assert fake.violations == []

    asyncio.run(whole())


def look(chat: Running) -> object:
    """All that goes with the conversation."""
    return chat.said(), read_all_identities(chat.store, chat.thread_id)


def undo_and_redo_all(chat: Running, seen: list[object]) -> None:
    """Undo each step and do it again: each time it is as it was then, hash for hash."""
    for earlier in seen[-2::-1]:
        chat.store.undo(chat.thread_id)
        assert look(chat) == earlier
    for later in seen[1:]:
        chat.store.redo(chat.thread_id)
        assert look(chat) == later


def test_an_agent_of_langchain_answers_asks_and_goes_back(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        seen = [look(chat)]
        fake.script(Call("weather", {"city": "Ulm"}), Say("It is sunny."), Call("book", {"seat": "7A"}), Say("Booked."))
        await chat.say("How is Ulm?")
        assert chat.said()[2:] == [("tool", "done", "sunny in Ulm"), ("ai", "done", "It is sunny.")]
        seen.append(look(chat))
        assert (await chat.say("Book 7A")).state is RunState.WAITING
        seen.append(look(chat))
        await answer(chat, decide("approve"))
        assert chat.said()[-2:] == [("tool", "done", "booked 7A"), ("ai", "done", "Booked.")]
        seen.append(look(chat))
        undo_and_redo_all(chat, seen)
        assert chat.unanswered() == set()

    play(tmp_path, CREATE_AGENT, story)


def test_todos_and_files_of_a_deep_agent_go_with_the_conversation(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        seen = [look(chat)]
        fake.script(*PLAN, *AFTER_APPROVAL, *CHANGE)
        assert (await chat.say("Plan a trip to Ulm.")).state is RunState.WAITING
        seen.append(look(chat))
        assert "files" not in read_identities(chat.store, chat.thread_id)
        await answer(chat, decide("approve"))
        assert chat.said()[-1] == ("ai", "done", "The plan is written.")
        seen.append(look(chat))
        planned = read_identities(chat.store, chat.thread_id)
        saved = str(chat.store.save(chat.thread_id, name="Planned").result)
        seen.append(look(chat))
        await chat.say("It will rain.")
        seen.append(look(chat))
        changed = read_identities(chat.store, chat.thread_id)
        assert {name for name in changed if changed[name] != planned.get(name)} >= {"files", "messages"}
        assert changed["todos"] == planned["todos"]
        undo_and_redo_all(chat, seen)
        chat.store.restore(chat.thread_id, saved)
        assert read_identities(chat.store, chat.thread_id) == planned
        fake.script(Call("read_file", {"file_path": "/plan.md"}), Say("It says: sunny."))
        await chat.say("Read the plan.")
        assert "Ulm: sunny" in chat.said()[-2][2]

    play(tmp_path, DEEP_AGENT, story)


@pytest.mark.parametrize("kind", ["approve", "reject"])
def test_an_approval_that_was_undone_is_asked_for_again(kind: str, tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.script(*PLAN, Say("First."), Say("Second."))
        await chat.say("Plan a trip to Ulm.")
        await answer(chat, decide("approve" if kind == "reject" else "reject"))
        chat.store.undo(chat.thread_id)
        await answer(chat, decide(kind))
        assert chat.said()[-1] == ("ai", "done", "Second.")
        assert ("files" in read_identities(chat.store, chat.thread_id)) is (kind == "approve")

    play(tmp_path, DEEP_AGENT, story)
