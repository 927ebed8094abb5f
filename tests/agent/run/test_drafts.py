"""Drafts of all runs are saved together, and none of them waits for another run's message."""

import asyncio
import threading
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage

from agent.run.answer_writer import RunWriter
from agent.run.drafts import Drafts
from agent.run.recorder import RunRecorder
from checkpoints import Draft, Runs, RunState, Store
from tests.agent.running import Running, running
from tests.checkpoints.conversations import new

PATIENCE = 60.0


class SlowRuns(Runs):
    """Runs whose messages are committed once they are let."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_at_work, self.is_let = threading.Event(), threading.Event()

    def commit_message(self, *arguments: Any, **options: Any) -> Any:
        self.is_at_work.set()
        assert self.is_let.wait(PATIENCE)
        return super().commit_message(*arguments, **options)


def begin(chat: Running, thread_id: str, runs: Runs) -> RunRecorder:
    run = chat.runs.begin_run(thread_id, new("please")[0])
    return RunRecorder(run, RunWriter(run, runs, chat.hub), chat.runner.parts.blocking)


def read_draft(chat: Running, recorder: RunRecorder) -> Draft:
    latest = chat.runs.get_latest_run(recorder.run.thread_id)
    assert latest is not None
    return latest.draft


def test_a_slow_commit_of_one_run_holds_up_neither_draft_nor_message_of_another() -> None:
    async def story() -> None:
        async with running(FakeListChatModel(responses=[])) as chat:
            slow_runs = SlowRuns(chat.store)
            quick = begin(chat, chat.thread_id, chat.runs)
            slow = begin(chat, chat.store.create_thread().id, slow_runs)
            drafts = Drafts(runs=chat.runs, blocking=chat.runner.parts.blocking, interval_seconds=0.001)
            slow.append_text("half")
            writing = asyncio.create_task(slow.commit(AIMessage("half of it")))
            await chat.until(slow_runs.is_at_work.is_set)
            try:
                async with drafts.keep_draft(quick), drafts.keep_draft(slow):
                    quick.append_text("seen")
                    await chat.until(lambda: read_draft(chat, quick) == Draft("seen"), PATIENCE)
                    await asyncio.wait_for(quick.commit(AIMessage("seen")), PATIENCE)
                    assert not writing.done()
                    slow_runs.is_let.set()
                    await writing
                    slow.append_text("more")
                    await chat.until(lambda: read_draft(chat, slow) == Draft("more"), PATIENCE)
            finally:
                slow_runs.is_let.set()
            for each in (quick, slow):
                chat.runs.end_run(each.run, RunState.STOPPED)

    asyncio.run(story())
