"""Driving a run of a guest graph: its input, its stream, and whether it waits for a person."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from agent.guests.adoption import adopt_graph, find_messages_channel, list_own_types, read_messages
from agent.guests.catalog import GuestCatalog
from agent.guests.definitions import GraphDefinition
from agent.guests.fields import format_output, read_input
from agent.guests.guest_loop import ThreadExitError
from agent.guests.importing import describe_error
from agent.guests.interrupts import collect_questions
from agent.guests.opening import AnyGraph, GuestGraph
from agent.guests.path import GuestPath
from agent.guests.reporter import Reporter
from agent.guests.run_saver import RunSaver
from agent.guests.states import StateRecorder
from agent.guests.streaming import STREAM_MODES, StreamReader
from agent.run.blocking import BlockingPool
from agent.run.graph_inputs import InputForm
from agent.run.hub import RunHub
from agent.run.outcome import OwnCodeError, locate_error
from agent.run.preparation import PreparedRun
from agent.run.questions import GraphQuestion
from agent.run.recorder import RunRecorder
from agent.run.requests import RunRequest
from agent.settings import GraphOffer
from agent.tools.approval import AwaitingDecision
from checkpoints import MAIN, Runs, StateError, Store, UnfitMessageError
from checkpoints.graph_states import WaymarkSaver
from checkpoints.limits import MAX_ANSWER_CHARS
from checkpoints.sentence import sentence


class GraphFailedError(OwnCodeError):
    """A node of a guest graph raised an error; the text names the last line of the author's files."""

    def __init__(self, definition: GraphDefinition, error: BaseException) -> None:
        reason = describe_error(error, definition.path)
        text = sentence("The graph {name} failed. {reason}", name=definition.name, reason=reason)
        super().__init__(text, locate_error(error))


@dataclass(frozen=True, slots=True)
class GuestDriver:
    """The parts that every run of a guest uses."""

    store: Store
    runs: Runs
    hub: RunHub
    catalog: GuestCatalog
    saver: WaymarkSaver
    blocking: BlockingPool

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder) -> None:
        """Let the graph answer on its own loop. Raises `GraphFailedError`, and `AwaitingDecision` where it waits."""
        run = prepared.run
        guest = self.catalog.find_graph(prepared.graph)
        path = await self.blocking.run(GuestPath.load, self.store, run.thread_id)
        publish = partial(self.hub.publish, run.thread_id)
        reporter = Reporter(recorder, publish, MAX_ANSWER_CHARS)
        states = StateRecorder(self.store, self.saver, recorder, reporter, publish, path.head_id)
        loop = asyncio.get_running_loop()
        is_same_turn = await self.blocking.run(self.runs.waits_since, run.thread_id, other_than=run.id)
        saver = RunSaver(self.saver, states, self.blocking, loop, keeps_answers=is_same_turn)
        work = GuestRun(self.store, guest, saver, prepared.request, path, reporter, run.thread_id, run.id)
        try:
            result = await guest.loop.run_work(work.answer)
        except ThreadExitError as error:
            raise GraphFailedError(guest.definition, error.error) from error
        reporter.deliver_all()
        if result.is_waiting:
            raise AwaitingDecision
        recorder.forget_open_calls()  # it ended by itself, with the calls that its author left open
        recorder.drop_text()
        if result.output is not None:
            await recorder.commit(result.output)
            await self.blocking.run(self.saver.place_latest, run.thread_id)

    @property
    def offer(self) -> GraphOffer:
        return self.catalog.offer

    def close(self) -> None:
        """End the loops of the graphs."""
        for guest in self.catalog.graphs.values():
            guest.loop.close()

    def find_form(self, graph: str) -> InputForm | None:
        found = self.catalog.graphs.get(graph)
        return found.form if found else None

    def list_channels(self, graph: str) -> Collection[str] | None:
        found = self.catalog.graphs.get(graph)
        return found.channels if found else None

    def list_questions(self, thread_id: str) -> list[GraphQuestion]:
        found = self.saver.get_tuple({"configurable": {"thread_id": thread_id}})
        return collect_questions(found, keeps_answers=self.runs.waits_since(thread_id))


@dataclass(frozen=True, slots=True)
class GuestResult:
    """How a graph came to rest. `output` is the message that stands for the outputs of a graph without messages."""

    is_waiting: bool
    output: AIMessage | None = None


@dataclass(frozen=True, slots=True)
class GuestRun:
    """One run of a guest, on the loop of its graph."""

    store: Store
    guest: GuestGraph
    saver: RunSaver
    request: RunRequest
    path: GuestPath
    reporter: Reporter
    thread_id: str
    run_id: str

    async def answer(self) -> GuestResult:
        config: RunnableConfig = {"configurable": {"thread_id": self.thread_id}, "metadata": {"run_id": self.run_id}}
        try:
            async with self.guest.open_graph(config) as made:
                graph = adopt_graph(made, self.saver.with_allowlist(list_own_types(made)))
                return await self._stream(graph, config)
        except StateError:
            raise
        except Exception as error:  # foreign code
            raise GraphFailedError(self.guest.definition, error) from error

    async def _stream(self, graph: AnyGraph, config: RunnableConfig) -> GuestResult:
        channel = find_messages_channel(graph)
        known = await self._load_messages(channel) if channel else []
        is_at_rest = not (await graph.aget_state(config)).next
        given = self._choose_input(graph, channel, known, is_at_rest=is_at_rest)
        reader = StreamReader(self.reporter)
        options: Any = {"stream_mode": STREAM_MODES, "subgraphs": True, "durability": "sync", "version": "v2"}
        async for part in graph.astream(given, config, **options):
            reader.read_part(part)
        reached = await graph.aget_state(config)
        if channel:
            self._check_last_message(await self._load_messages(channel))
        is_waiting = bool(reached.next or reached.interrupts)
        output = None if is_waiting or channel else format_output(graph, reached.values)
        return GuestResult(is_waiting, output)

    async def _load_messages(self, channel: str) -> list[BaseMessage]:
        """Return the messages of the state where the conversation stands."""
        stored = await self.saver.aget_tuple({"configurable": {"thread_id": self.thread_id}})
        return read_messages(stored, channel) if stored else []

    def _check_last_message(self, known: Sequence[BaseMessage]) -> None:
        """Refuse a message that the saver could not keep as one of the conversation. Raises `UnfitMessageError`."""
        newest = self.store.list_messages(self.thread_id, last=1, agent=MAIN)
        if known and (not newest or known[-1].id not in (newest[0].id, newest[0].body["data"].get("id"))):
            raise UnfitMessageError

    def _choose_input(self, graph: AnyGraph, channel: str | None, known: Sequence[BaseMessage], *, is_at_rest: bool) -> Any:
        """Return what a graph begins with: answers, new messages, or None where it goes on from its last step."""
        if self.request.answers is not None:
            return Command(resume=dict(self.request.answers)) if self.request.answers else None
        if self.request.continues_answer and not is_at_rest:
            return None
        new = self.path.list_after(known)
        if channel is None:
            is_begun = self.request.message is None and not is_at_rest  # another try: it has its input
            return None if is_begun else read_input(graph, new)
        return {**self.path.read_inputs(new), channel: new} if new else None
