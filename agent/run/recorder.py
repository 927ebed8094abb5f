"""Records a run. Each finished message is stored before it is shown, and each piece of text is shown at once."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from langchain_core.messages import BaseMessage

from agent.events import MessageAdded, ReasoningDelta, RunFinished, TextDelta, TextWithdrawn, ToolStarted, WorkEnded
from agent.run.answer_writer import AnswerWriter
from agent.run.blocking import BlockingPool
from agent.run.holding import HoldUnknownError, hold_alone, hold_no_candidates
from agent.run.open_calls import OpenCalls
from agent.run.pending_answers import PendingAnswers
from agent.subagents.delegation import OpenCall
from checkpoints import (
    MAIN,
    CandidateEnd,
    Draft,
    Message,
    MessageStatus,
    NewMessage,
    Run,
    RunEnd,
    RunState,
    RunTakenError,
    StateError,
    StoreUnavailableError,
)
from checkpoints.values import serde

T = TypeVar("T")
_log = logging.getLogger(__name__)


class RunEndedError(StateError):
    """The run ended while its work continued. All later actions of the work are refused."""

    def __init__(self) -> None:
        super().__init__("This run has ended.")


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A stored message, with the version of its thread after the write."""

    stored: Message
    version: int
    message: BaseMessage


class RunRecorder:
    """Records a run (see `state.Recorder`). After the run's end it refuses everything with `RunEndedError`."""

    def __init__(self, run: Run, writer: AnswerWriter, blocking: BlockingPool) -> None:
        self.run = run
        self.writer = writer
        # Locks the candidates that end with the run, and yields their ends.
        self.hold_candidates: Callable[[RunState], AbstractAsyncContextManager[Sequence[CandidateEnd]]] = hold_no_candidates
        self._blocking = blocking
        self._pending = PendingAnswers()
        self._has_ended = False
        self._has_drafts = True
        # Another process has taken the run, or is about to get it: then no more messages are written.
        self.is_taken = False
        self.is_handed_over = False
        self.confirm_hold: Callable[[], Awaitable[bool]] = hold_alone
        self.open_calls = OpenCalls()
        # The depths of each agent's messages, in their order.
        self._written_depths: defaultdict[str, list[int]] = defaultdict(list)
        # A draft must not be written after the message that it became, since a crash would then show the text twice.
        self._write_lock = asyncio.Lock()

    def reopen_calls(self, calls: Iterable[OpenCall]) -> None:
        self.open_calls.reopen_calls(calls)

    def unique_call_id(self, call_id: str) -> str:
        return self.open_calls.make_unique_id(call_id)

    def for_agent(self, agent: str, memory_length: int | None = None) -> "SubAgentRecorder":
        return SubAgentRecorder(self, agent, memory_length=memory_length, written_before=len(self._written_depths[agent]))

    def find_memory_offset(self, agent: str, depth: int, before: int) -> int:
        """Return the position of the message at this depth among an agent's messages after its first `before` in the run."""
        return self._written_depths[agent].index(depth, before) - before

    def append_text(self, delta: str) -> None:
        self.keep_text(delta, MAIN)
        self.writer.publish_event(TextDelta(delta))

    def append_reasoning(self, delta: str) -> None:
        self.keep_reasoning(delta, MAIN)
        self.writer.publish_event(ReasoningDelta(delta))

    def withdraw_text(self) -> None:
        self.keep_text_as_reasoning(MAIN)
        self.writer.publish_event(TextWithdrawn(self._pending.find_reasoning(MAIN).text))

    def keep_text_as_reasoning(self, agent: str) -> None:
        self.check_open()
        self._pending.keep_text_as_reasoning(agent)

    def keep_reasoning(self, delta: str, agent: str) -> None:
        self.check_open()
        self._pending.keep_reasoning(delta, agent)

    def keep_text(self, delta: str, agent: str) -> None:
        """Keep more of an agent's answer. It becomes a partial message if the answer is cut off."""
        self.check_open()
        self._pending.keep_text(delta, agent)

    def note_model(self, spec: str, agent: str = MAIN) -> None:
        self._pending.note_model(spec, agent)

    def find_text(self, agent: str) -> str:
        return self._pending.find_text(agent)

    async def begin_tool(self, call_id: str) -> None:
        self.check_open()
        if not await self.confirm_hold():
            raise HoldUnknownError
        # The wait may have shown that another process has taken the run.
        self.check_open()
        self.open_calls.note_start(call_id)
        self.writer.publish_event(ToolStarted(call_id))

    async def run_blocking(self, work: Callable[[], T]) -> T:
        self.check_open()
        return await self._blocking.run(work)

    def check_open(self) -> None:
        if self._has_ended:
            raise RunEndedError

    def drop_text(self, *, is_shown: bool = False) -> None:
        """Drop the main agent's uncommitted text. With `is_shown`, pages show it until the run's end."""
        if self._pending.drop_text(MAIN) and not is_shown:
            self.writer.publish_event(TextWithdrawn(self._pending.find_reasoning(MAIN).text))

    def forget_open_calls(self) -> None:
        self.open_calls.forget_calls()

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE, *, agent: str = MAIN) -> int:
        new = NewMessage(serde.to_body(message), agent=agent, status=status)

        def write() -> list[WrittenMessage]:
            return [WrittenMessage(*self.writer.commit_message(new), message)]

        return (await self.record_write(write))[0].stored.depth

    async def record_write(self, write: Callable[[], Sequence[WrittenMessage]]) -> Sequence[WrittenMessage]:
        """Run a write to its end, then note and publish the written messages."""
        # A stopped run still finishes the write: `end_run` would write a stored but unnoted message again, as a partial.
        writing = asyncio.create_task(self._write_and_note(write))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            if not writing.cancelled():
                # Nothing else reads the exception, and the event loop would report it as lost.
                writing.exception()
            raise

    async def _write_and_note(self, write: Callable[[], Sequence[WrittenMessage]]) -> Sequence[WrittenMessage]:
        with self.open_calls.expect_messages():
            async with self._write_lock:
                self.check_open()
                if self.is_handed_over:
                    # The work is being cancelled at this moment.
                    raise asyncio.CancelledError
                try:
                    written = await self._blocking.run(write)
                except StoreUnavailableError:
                    # The message may be on disk all the same, and its draft would then show the text twice.
                    self._has_drafts = False
                    raise
                for each in written:
                    self._pending.drop_text(each.stored.agent)
                    self._pending.drop_reasoning(each.stored.agent)
                    self._written_depths[each.stored.agent].append(each.stored.depth)
            for each in written:
                self.open_calls.note_message(each.message, each.stored.agent)
                self.writer.publish_event(MessageAdded(each.stored, each.version))
        return written

    def end_work(self, state: RunState, error: str | None = None) -> None:
        """Refuse everything from now on. Publish the end of the work although the database does not have the end yet."""
        self._has_ended = True
        if not self.is_taken:
            self.writer.publish_event(WorkEnded(self.run.id, state, error))

    def let_go(self) -> None:
        """Refuse everything and publish nothing from now on, because another process has taken the run."""
        self._has_ended = self.is_taken = True

    async def write_end(
        self, state: RunState, error: str | None = None, details: str | None = None, usage: str | None = None
    ) -> int:
        """Release the thread and return its version. Answers in progress become partial messages; open calls get results.

        Calls stay open when the run waits for a person. After `StoreUnavailableError` it may be called again.
        """
        self._has_ended = True
        async with self._write_lock, self.hold_candidates(state) as candidates:
            return await self._end(RunEnd(state, error, details, usage), candidates)

    def publish_end(self, state: RunState, version: int, error: str | None = None, details: str | None = None) -> None:
        """Publish the end, even an unwritten one (version 0), since followers must not wait for ever."""
        if not self.is_taken:
            self.writer.publish_event(RunFinished(self.run.id, state, version, error, details))

    async def _end(self, end: RunEnd, candidates: Sequence[CandidateEnd]) -> int:
        try:
            last = self.build_last_messages(end.state)
            return await self._blocking.run(self.writer.write_end, end, last, candidates)
        except (StoreUnavailableError, RunTakenError):
            raise
        except Exception:  # noqa: BLE001  the last messages cannot be written: the thread is released without them
            _log.exception("run %s ends without its last messages", self.run.id)
            return await self._blocking.run(self.writer.write_end, end)

    def build_last_messages(self, state: RunState) -> list[NewMessage]:
        """Build the partial messages, and results for the open calls. A writing agent waits for no call."""
        results = [] if state is RunState.WAITING else self.open_calls.make_results()
        return [
            *self._pending.make_partials(),
            *(NewMessage(serde.to_body(result), agent=agent) for result, agent in results),
        ]

    async def cut_off(self, agent: str = MAIN) -> None:
        """Commit an agent's uncommitted answer as a partial message, and a result for each of its open calls."""
        if (answer := self._pending.make_partial(agent)) is not None:
            await self.commit(answer, MessageStatus.PARTIAL, agent=agent)
        self._pending.drop_reasoning(agent)
        for result in self.open_calls.make_results_of(agent):
            await self.commit(result, agent=agent)

    @asynccontextmanager
    async def hold_draft(self) -> AsyncIterator[Draft]:
        """Yield the main agent's draft. It does not become a message during the block."""
        async with self._write_lock:
            yield Draft(self.find_text(MAIN), self._pending.find_reasoning(MAIN).text) if self._has_drafts else Draft()


@dataclass(frozen=True, slots=True)
class SubAgentRecorder:
    """Records a sub-agent. Its text is not shown while it is written, since the page shows the main agent's text."""

    recorder: RunRecorder
    agent: str
    # False: a cut-off answer is dropped.
    keeps_text: bool = True
    # Length of the agent's memory, if its messages have positions there, and how many messages of this run it contains.
    memory_length: int | None = None
    written_before: int = 0

    def append_text(self, delta: str) -> None:
        self.recorder.check_open()
        if self.keeps_text:
            self.recorder.keep_text(delta, self.agent)

    def append_reasoning(self, delta: str) -> None:
        self.recorder.check_open()
        if self.keeps_text:
            self.recorder.keep_reasoning(delta, self.agent)

    def note_model(self, spec: str) -> None:
        self.recorder.note_model(spec, self.agent)

    def withdraw_text(self) -> None:
        self.recorder.keep_text_as_reasoning(self.agent)

    async def begin_tool(self, call_id: str) -> None:
        await self.recorder.begin_tool(call_id)

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        depth = await self.recorder.commit(message, status, agent=self.agent)
        if self.memory_length is None:
            return depth
        return self.memory_length + self.recorder.find_memory_offset(self.agent, depth, self.written_before)

    async def cut_off(self) -> None:
        await self.recorder.cut_off(self.agent)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self.recorder.run_blocking(work)

    def unique_call_id(self, call_id: str) -> str:
        return self.recorder.unique_call_id(call_id)

    def for_agent(self, agent: str, memory_length: int | None = None) -> "SubAgentRecorder":
        return self.recorder.for_agent(agent, memory_length)
