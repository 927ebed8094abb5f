"""A pass of a guest graph on its own loop: its input, its stream, and whether it waits for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.types import Command

from agent.guests.adoption import adopt_graph, find_messages_channel, list_own_types, read_messages
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
from agent.subagents.delegation import load_last_turn
from checkpoints import MAIN, StateError, Store, UnfitMessageError
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
    """What a pass of a graph begins with. A run has one pass, and one more after each move through time."""

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

    store: Store
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
        is_at_rest = not (await graph.aget_state(config)).next
        # Nothing refers to these messages afterwards: the graph gets the same copies of them.
        known = await self._load_messages(channel) if channel else []
        given = self._choose_input(graph, channel, known, is_at_rest=is_at_rest)
        del known
        reader = StreamReader(self.reporter, self.delegated)
        options: Any = {"stream_mode": STREAM_MODES, "subgraphs": True, "durability": "sync", "version": "v2"}
        options["context"] = choose_context(graph, self.guest.definition)
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
        turn = load_last_turn(self.store, self.thread_id) if known else []
        newest = next((each for each in reversed(turn) if each.agent == MAIN), None)
        if known and (newest is None or known[-1].id not in (newest.id, newest.body["data"].get("id"))):
            raise UnfitMessageError

    def _choose_input(self, graph: AnyGraph, channel: str | None, known: Sequence[BaseMessage], *, is_at_rest: bool) -> Any:
        """Return what a graph begins with: answers, new messages, or None where it goes on from its last step."""
        if self.request.answers is not None:
            return Command(resume=dict(self.request.answers)) if self.request.answers else None
        if self.request.continues_answer and not is_at_rest:
            return None
        # Without a reducer, the input takes the place of all messages.
        new = self.path.list_after([] if channel and isinstance(graph.channels[channel], LastValue) else known)
        if channel is None:
            is_begun = self.request.message is None and not is_at_rest  # another try: it has its input
            return None if is_begun else read_input(graph, new)
        return {**self.path.read_inputs(new), channel: new} if new else None
