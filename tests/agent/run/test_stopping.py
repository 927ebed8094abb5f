"""Stop ends a run at once, also while the database takes nothing. The end is written when the database answers again."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent.events import RunFinished, WorkEnded
from agent.preparation.requests import EndDelayedError
from agent.run.active_runs import DELAYED_END_TEXT
from checkpoints import Database, RunState, Store, StoreUnavailableError
from checkpoints.values.answer_spec import read_spec
from tests.agent.running import Running, model_at, raising, running
from tests.fakes.openai import FakeOpenAI, Fault, Say

Story = Callable[[Running], Awaitable[None]]
FULL = StoreUnavailableError("The disk is full.")
BEGUN = Fault("hang", Say("one two three"), after_tokens=1)


def play(story: Story, *replies: Any, database: Database | None = None) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, database=database, watch_seconds=0.02) as chat:
            await chat.send("please")
            await chat.until(chat.heard)
            await story(chat)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))


def work_ends(chat: Running) -> list[tuple[RunState, str | None]]:
    return [(event.state, event.error) for event in chat.events if isinstance(event, WorkEnded)]


def has_finished(chat: Running) -> bool:
    return any(isinstance(event, RunFinished) for event in chat.events)


@contextmanager
def locked_file(file: Path) -> Iterator[None]:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


async def stop_while_locked(chat: Running) -> None:
    """Stop, and see the end of the work while the lock holds for certain."""
    work = chat.runner.active_runs.by_thread[chat.thread_id].work
    await chat.runner.stop(chat.thread_id, max_seconds=0)
    await chat.until(lambda: work_ends(chat)[:1] == [(RunState.STOPPED, None)])
    assert (work.done(), has_finished(chat)) == (True, False)


async def check_end(chat: Running) -> None:
    await chat.until(lambda: has_finished(chat))
    assert chat.runs.get_latest_run(chat.thread_id).state is RunState.STOPPED  # type: ignore[union-attr]
    assert chat.said()[-1] == ("ai", "partial", "one ")
    assert (await chat.say("and now?")).state is RunState.DONE


def test_a_stopped_answer_names_its_model() -> None:
    async def story(chat: Running) -> None:
        await chat.runner.stop(chat.thread_id)
        await check_end(chat)
        answers = [each for each in chat.store.list_messages(chat.thread_id) if each.type == "ai"]
        stopped, whole = [read_spec(each.body["data"].get("response_metadata")) for each in answers]
        assert stopped == whole != ""

    play(story, BEGUN, Say("four"))


def test_stop_ends_a_run_while_another_program_locks_the_file(file_store: Store, file: Path) -> None:
    async def story(chat: Running) -> None:
        with locked_file(file):
            await stop_while_locked(chat)
        await check_end(chat)

    play(story, BEGUN, database=file_store.database)


@pytest.mark.slow
def test_stop_ends_a_run_while_its_row_is_locked(postgres_url: str) -> None:
    async def story(chat: Running) -> None:
        with psycopg.connect(postgres_url.replace("+psycopg", "")) as other:
            other.execute("SELECT 1 FROM thread WHERE id = %s FOR UPDATE", [chat.thread_id])
            await stop_while_locked(chat)
            other.rollback()
        await check_end(chat)

    play(story, BEGUN, database=Database.open_url(postgres_url))


def test_an_end_that_the_database_refuses_is_reported_and_written_later(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running) -> None:
        end, tries = chat.runs.end_run, list[str]()

        def refuse(*_: Any, **__: Any) -> int:
            tries.append("refused")
            raise FULL

        chat.runs.end_run = refuse  # type: ignore[method-assign]
        assert await chat.runner.stop(chat.thread_id)
        await chat.until(lambda: len(tries) > 2)
        reason = DELAYED_END_TEXT.format(reason=FULL)
        assert work_ends(chat) == [(RunState.STOPPED, None), (RunState.STOPPED, reason)]
        live_run = chat.hub.find_live_run(chat.thread_id)
        assert live_run is not None
        assert live_run.work_ended == chat.events[-1]  # for a page that opens now
        with pytest.raises(EndDelayedError, match="not saved yet"):
            await chat.send("and now?")
        chat.runs.end_run = end  # type: ignore[method-assign]
        await check_end(chat)

    play(story, BEGUN)
    assert caplog.text.count("could not be written to its end: The disk is full. It is tried again.") == 1


def test_stop_waits_for_no_other_run_that_begins() -> None:
    async def story(chat: Running) -> None:
        async with chat.runner.active_runs.begin_lock, asyncio.timeout(60):
            assert await chat.runner.stop(chat.thread_id)
        await check_end(chat)

    play(story, BEGUN)


def test_an_end_that_is_never_written_holds_no_server_that_closes(caplog: pytest.LogCaptureFixture) -> None:
    events = []

    async def story(chat: Running) -> None:
        chat.runs.end_run = lambda *_, **__: raising(FULL)()  # type: ignore[method-assign]
        await chat.runner.stop(chat.thread_id)
        async with asyncio.timeout(60):
            await chat.runner.close()
        await chat.until(lambda: has_finished(chat))
        events.extend(chat.events)

    play(story, BEGUN)
    assert isinstance(events[-1], RunFinished)
    assert "could not be written to its end: The disk is full.\n" in caplog.text
