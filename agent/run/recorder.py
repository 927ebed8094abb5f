"""What one run writes: each finished message to the store before it is shown, and what comes of the next one."""

import asyncio
import logging
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agent.events import MessageAdded, RunFinished, TextDelta, ToolStarted
from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.subagents.delegation import OpenCall
from checkpoints import (
    MAIN,
    MessageStatus,
    NewMessage,
    Run,
    Runs,
    RunState,
    StateError,
    StoreUnavailableError,
    make_partial_messages,
    serde,
)

STOPPED_TEXT = "Stopped before it finished."
T = TypeVar("T")
_log = logging.getLogger(__name__)


class RunEndedError(StateError):
    """The run was let go of while its work went on: what the work does afterwards is refused."""

    def __init__(self) -> None:
        super().__init__("This run has ended.")


class RunRecorder:
    """The recorder of one run (see state.Recorder). After its end it refuses everything with `RunEndedError`."""

    def __init__(self, run: Run, runs: Runs, hub: RunHub, blocking: BlockingPool) -> None:
        self.run = run
        self._runs = runs
        self._hub = hub
        self._blocking = blocking
        self._pending_texts: defaultdict[str, list[str]] = defaultdict(
            list
        )  # of the answers that are being written, by agent
        self._has_ended = False
        self._open_calls: dict[
            str, tuple[str, str]
        ] = {}  # calls without a result yet: by their ids, the tools and the agents
        self._call_ids: set[str] = set()  # of all calls so far
        # A draft must not be written after the message that it became: a crash then would show the text twice.
        self._write_lock = asyncio.Lock()

    def reopen_calls(self, calls: Iterable[OpenCall]) -> None:
        """Calls from before that are to be answered now, innermost first."""
        for each in reversed(list(calls)):
            self._open_calls[each.call["id"] or ""] = (each.call["name"], each.agent)
        self._call_ids.update(self._open_calls)

    def unique_call_id(self, call_id: str) -> str:
        free = call_id if call_id not in self._call_ids else f"call_{uuid.uuid4().hex[:24]}"
        self._call_ids.add(free)
        return free

    def for_agent(self, agent: str) -> "SubAgentRecorder":
        return SubAgentRecorder(self, agent)

    def append_text(self, delta: str) -> None:
        self.keep_text(delta, MAIN)
        self._hub.publish(self.run.thread_id, TextDelta(delta))

    def keep_text(self, delta: str, agent: str) -> None:
        """More of an agent's answer, which is a partial message if it comes no further."""
        self.check_open()
        self._pending_texts[agent].append(delta)

    def find_text(self, agent: str) -> str:
        """What an agent has written of its answer so far."""
        return "".join(self._pending_texts.get(agent, ()))

    def report_tool_start(self, call_id: str) -> None:
        self.check_open()
        self._hub.publish(self.run.thread_id, ToolStarted(call_id))

    async def run_blocking(self, work: Callable[[], T]) -> T:
        self.check_open()
        return await self._blocking.run(work)

    def check_open(self) -> None:
        if self._has_ended:
            raise RunEndedError

    def forget_open_calls(self) -> None:
        """The head is somewhere else: calls that were open are not on the path any more."""
        self._open_calls.clear()

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE, *, agent: str = MAIN) -> int:
        # To its end even when the run is stopped meanwhile: a message on disk of which nothing is noted here would be
        # written once more by `end`, as what was cut off.
        writing = asyncio.create_task(self._write_message(message, status, agent))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    async def _write_message(self, message: BaseMessage, status: MessageStatus, agent: str) -> int:
        async with self._write_lock:
            self.check_open()
            new = NewMessage(serde.to_body(message), agent=agent, status=status)
            stored, version = await self._blocking.run(self._runs.commit_message, self.run, new)
            self._pending_texts.pop(agent, None)
        if isinstance(message, AIMessage):
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            self._open_calls.update({call["id"] or "": (call["name"] or "", agent) for call in calls})
        elif isinstance(message, ToolMessage):
            self._open_calls.pop(message.tool_call_id, None)
        self._hub.publish(self.run.thread_id, MessageAdded(stored, version))
        return stored.depth

    async def end_run(self, state: RunState, error: str | None = None) -> None:
        """Let go of the thread: what was being written is kept as a partial message, open calls get a result.

        When the run waits for a person, they stay open.
        """
        version = 0
        self._has_ended = True
        try:
            async with self._write_lock:
                version = await self._end(state, error)
        finally:  # those who watch must not wait for ever, also when the disk is full
            self._hub.publish(self.run.thread_id, RunFinished(self.run.id, state, version, error))

    async def _end(self, state: RunState, error: str | None) -> int:
        try:
            last = self._last_messages(state)
            return await self._blocking.run(self._runs.end_run, self.run, state, error=error, last_messages=last)
        except StoreUnavailableError:
            raise
        except Exception:  # noqa: BLE001  what is left over cannot be written: the thread is let go of without it
            _log.exception("run %s ends without its last messages", self.run.id)
            return await self._blocking.run(self._runs.end_run, self.run, state, error=error)

    def _last_messages(self, state: RunState) -> list[NewMessage]:
        """What the agents were writing, and results for the calls that are open. An agent that writes waits for none."""
        texts = [
            replace(new, agent=agent)
            for agent, text in self._pending_texts.items()
            for new in make_partial_messages("".join(text))
        ]
        open_calls = [] if state is RunState.WAITING else self._order_innermost_first()
        return [
            *texts,
            *(NewMessage(serde.to_body(_make_stopped_result(*call)), agent=agent) for *call, agent in open_calls),
        ]

    async def cut_off(self, agent: str = MAIN) -> None:
        if text := self.find_text(agent):
            await self.commit(AIMessage(serde.sanitize_text(text)), MessageStatus.PARTIAL, agent=agent)
        for call_id, (name, caller) in list(self._open_calls.items()):
            if caller == agent:
                await self.commit(_make_stopped_result(call_id, name), agent=agent)

    def _order_innermost_first(self) -> list[tuple[str, str, str]]:
        """The open calls with their tools and agents. An agent's stand after those of the one that asked it."""
        calls = [(call_id, *about) for call_id, about in self._open_calls.items()]
        agents = dict.fromkeys(agent for *_, agent in calls)
        return [call for agent in reversed(agents) for call in calls if call[2] == agent]

    @asynccontextmanager
    async def hold_draft(self) -> AsyncIterator[str]:
        """What has been written of an answer; until the end of the block it becomes no message."""
        async with self._write_lock:
            yield self.find_text(MAIN)


@dataclass(frozen=True, slots=True)
class SubAgentRecorder:
    """The recorder of a sub-agent. Its text is not shown while it is written: the bubble is the main agent's."""

    recorder: RunRecorder
    agent: str
    keeps_text: bool = True  # False: what is cut off of an answer is worth nothing

    def append_text(self, delta: str) -> None:
        self.recorder.check_open()
        if self.keeps_text:
            self.recorder.keep_text(delta, self.agent)

    def report_tool_start(self, call_id: str) -> None:
        self.recorder.report_tool_start(call_id)

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        return await self.recorder.commit(message, status, agent=self.agent)

    async def cut_off(self) -> None:
        await self.recorder.cut_off(self.agent)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self.recorder.run_blocking(work)

    def unique_call_id(self, call_id: str) -> str:
        return self.recorder.unique_call_id(call_id)

    def for_agent(self, agent: str) -> "SubAgentRecorder":
        return SubAgentRecorder(self.recorder, agent)


def _make_stopped_result(call_id: str, name: str) -> ToolMessage:
    return ToolMessage(STOPPED_TEXT, tool_call_id=call_id, name=name, status="error")
