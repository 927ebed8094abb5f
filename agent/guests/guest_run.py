"""A pass of a guest graph on its own loop: its input, its stream, and whether it waits for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.types import Command

from agent.guests.adoption import adopt_graph, find_messages_channel, list_own_types
from agent.guests.definitions import GraphDefinition
from agent.guests.delegated_work import DelegatedWork
from agent.guests.fields import format_output, read_input
from agent.guests.importing import describe_error
from agent.guests.opening import AnyGraph, GuestGraph
from agent.guests.path import GuestPath
from agent.guests.reporter import Reporter
from agent.guests.run_saver import RunSaver
from agent.guests.streaming import STREAM_MODES, StreamReader
from agent.guests.surroundings import choose_context, list_missing_context
from agent.guests.travel import TRAVEL_KEY, GuestTravel
from agent.run.outcome import OwnCodeError, locate_error
from agent.run.requests import RunRequest
from checkpoints import StateError
from checkpoints.sentence import sentence


class GraphFailedError(OwnCodeError):
    """A node of a guest graph raised an error; the text names the last line of the author's files.

    Names that its context lacks may be the reason.
    """

    def __init__(self, definition: GraphDefinition, error: BaseException, missing: Sequence[str] = ()) -> None:
        reason = describe_error(error, definition.path)
        if missing:
            reason = sentence(
                "{reason} Its context has no {names}: waymark.toml can give it, under [graphs.{graph}] as context.",
                reason=reason,
                names=", ".join(missing),
                graph=definition.name,
            )
        text = sentence("The graph {name} failed. {reason}", name=definition.name, reason=reason)
        super().__init__(text, locate_error(error))


@dataclass(frozen=True, slots=True)
class GuestResult:
    """How a graph came to rest. `output` is the message that stands for the outputs of a graph without messages."""

    is_waiting: bool
    output: AIMessage | None = None


@dataclass(frozen=True, slots=True)
class GuestTurn:
    """The input of one pass of a graph. A run has one pass, and one more after each move through time."""

    request: RunRequest
    keeps_answers: bool  # earlier questions have their answers: the run goes on in the turn that waited
    is_after_move: bool = False

    def answer_questions(self, answers: Mapping[str, Any]) -> "GuestTurn":
        return replace(self, request=replace(self.request, answers=answers), is_after_move=False)

    def begin_anew(self) -> "GuestTurn":
        """Return the turn after a move: the graph begins with the note."""
        request = replace(self.request, message=None, answers=None, decision=None, continues_answer=False)
        return GuestTurn(request, keeps_answers=False, is_after_move=True)


@dataclass(frozen=True, slots=True)
class GuestRun:
    """One pass of a guest, on the loop of its graph."""

    guest: GuestGraph
    saver: RunSaver
    request: RunRequest
    path: GuestPath
    reporter: Reporter
    travel: GuestTravel
    delegated: DelegatedWork
    run_id: str

    @property
    def thread_id(self) -> str:
        return self.travel.thread_id

    async def answer(self) -> GuestResult:
        place = {"thread_id": self.thread_id, TRAVEL_KEY: self.travel}
        config: RunnableConfig = {"configurable": place, "metadata": {"run_id": self.run_id}}
        missing: list[str] = []
        try:
            async with self.guest.open_graph(config) as made:
                missing = list_missing_context(made, self.guest.definition)
                graph = adopt_graph(made, self.saver.with_allowlist(list_own_types(made)), self.guest.store)
                return await self._stream(graph, config)
        except StateError:
            raise
        except Exception as error:  # foreign code
            raise GraphFailedError(self.guest.definition, error, missing) from error

    async def _stream(self, graph: AnyGraph, config: RunnableConfig) -> GuestResult:
        channel = find_messages_channel(graph)
        given = await self._choose_input(graph, channel, config)
        reader = StreamReader(self.reporter, self.delegated)
        options: Any = {"stream_mode": STREAM_MODES, "subgraphs": True, "durability": "sync", "version": "v2"}
        options["context"] = choose_context(graph, self.guest.definition)
        async for part in graph.astream(given, config, **options):
            reader.read_part(part)
        if channel:
            self.path.check_last_message()
            if not (graph.interrupt_before_nodes or graph.interrupt_after_nodes):  # LangGraph's answer reads all messages
                return GuestResult(is_waiting=bool(self.path.list_questions()))
        reached = await graph.aget_state(config)
        is_waiting = bool(reached.next or reached.interrupts)
        output = None if is_waiting or channel else format_output(graph, reached.values)
        return GuestResult(is_waiting, output)

    async def _choose_input(self, graph: AnyGraph, channel: str | None, config: RunnableConfig) -> Any:
        """Return what a graph begins with: answers, new messages, or None where it goes on from its last step."""
        if self.request.answers is not None:
            return Command(resume=dict(self.request.answers)) if self.request.answers else None
        # Without a message of its own, another try: the graph has its input.
        may_go_on = self.request.continues_answer or (channel is None and self.request.message is None)
        if may_go_on and (await graph.aget_state(config)).next:
            return None
        if channel is None:
            return read_input(graph, self.path.list_last())
        # Without a reducer, the input takes the place of all messages.
        is_replaced = isinstance(graph.channels[channel], LastValue)
        new = self.path.list_all() if is_replaced else self.path.list_new()
        return {**self.path.read_inputs(), channel: new} if new else None
