"""A pass of a user graph on its own loop: its input, its stream, and whether it waits for a person."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.types import Command

from agent.preparation.requests import RunRequest
from agent.run.blocking import BlockingPool
from agent.run.outcome import OwnCodeError, locate_error
from checkpoints import StateError
from checkpoints.values.sentence import sentence
from checkpoints.values.standing_answers import StandingAnswers
from extensions.graphs.added_messages import AddedMessages
from extensions.graphs.adoption import adopt_graph, list_own_types
from extensions.graphs.definitions import GraphDefinition
from extensions.graphs.delegated_work import DelegatedWork
from extensions.graphs.fields import format_output, read_input
from extensions.graphs.importing import describe_error
from extensions.graphs.interrupts import collect_questions
from extensions.graphs.message_channel import find_messages_channel
from extensions.graphs.opening import AnyGraph, UserGraph
from extensions.graphs.path import GraphPath
from extensions.graphs.reporter import Reporter
from extensions.graphs.run_saver import RunSaver
from extensions.graphs.savers import Savers
from extensions.graphs.streaming import STREAM_MODES, StreamReader
from extensions.graphs.surroundings import choose_context, list_missing_context
from extensions.graphs.travel import TRAVEL_KEY, GraphTravel


class GraphFailedError(OwnCodeError):
    """A node of a user graph raised an error; the text names the last line of the author's files.

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
class GraphResult:
    """How a graph came to rest. `output` is the message that shows its outputs, where the turn added no other."""

    is_waiting: bool
    output: AIMessage | None = None
    problem: StateError | None = None  # of an answer that has reached no node
    is_placed: bool = False  # its last state belongs to the last message: the graph itself does not know the conversation


@dataclass(frozen=True, slots=True)
class GraphTurn:
    """The input of one pass of a graph. A run has one pass, and one more after each move through time."""

    request: RunRequest
    answers: StandingAnswers  # to earlier questions
    is_after_move: bool = False

    def answer_questions(self, answers: Mapping[str, Any]) -> "GraphTurn":
        return replace(self, request=replace(self.request, answers=answers), is_after_move=False)

    def begin_anew(self) -> "GraphTurn":
        """Return the turn after a move: the graph begins with the note."""
        request = replace(self.request, message=None, answers=None, decision=None, continues_answer=False)
        return GraphTurn(request, StandingAnswers(), is_after_move=True)


@dataclass(frozen=True, slots=True)
class GraphRun:
    """One pass of a user graph, on the loop of its graph."""

    user_graph: UserGraph
    savers: Savers
    saver: RunSaver
    request: RunRequest
    blocking: BlockingPool
    reporter: Reporter
    travel: GraphTravel
    delegated: DelegatedWork
    run_id: str
    traced: RunnableConfig  # the handlers of the tracer

    async def answer(self) -> GraphResult:
        place = {"thread_id": self.travel.thread_id, TRAVEL_KEY: self.travel}
        config: RunnableConfig = {**self.traced, "configurable": place, "metadata": {"run_id": self.run_id}}
        missing: list[str] = []
        try:
            async with self.user_graph.open_graph(config) as made:
                missing = list_missing_context(made, self.user_graph.definition)
                opened = await self._open_pass(made, config)
                return await opened.answer()
        except StateError:
            raise
        except Exception as error:  # foreign code
            raise GraphFailedError(self.user_graph.definition, error, missing) from error

    async def _open_pass(self, made: AnyGraph, config: RunnableConfig) -> "_Pass":
        """Put the graph onto the saver of its messages, where the conversation stands."""
        channel = find_messages_channel(made, self.user_graph.definition.messages_key)
        added = AddedMessages(channel.name) if channel and not channel.is_input else None
        saver = self.savers.find_saver(channel)
        path = await self.blocking.run(GraphPath.load, self.travel.store, saver, self.travel.thread_id)
        own = self.saver.for_channel(saver, path.head_id, added).with_allowlist(list_own_types(made))
        graph = adopt_graph(made, own, self.user_graph.store)
        return _Pass(self, graph, own, config, path, channel.name if channel and channel.is_input else None, added)


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass whose graph is open. `channel` takes the user's messages; None for a graph whose input takes none."""

    run: GraphRun
    graph: AnyGraph
    saver: RunSaver
    config: RunnableConfig
    path: GraphPath
    channel: str | None
    added: AddedMessages | None

    async def answer(self) -> GraphResult:
        graph, config = self.graph, self.config
        given = await self._choose_input()
        if self.added is not None:
            self.added.note_known((await graph.aget_state(config)).values)
        reader = StreamReader(self.run.reporter, self.run.delegated)
        options: Any = {"stream_mode": STREAM_MODES, "subgraphs": True, "version": "v2"}
        options["context"] = choose_context(graph, self.run.user_graph.definition)
        async with aclosing(cast("AsyncGenerator[Any]", graph.astream(given, config, **options))) as parts:
            async for part in parts:
                # With durability="sync", LangGraph fails in subgraphs that are compiled with checkpointer=False.
                if part["type"] == "tasks" and not part["ns"] and "input" in part["data"]:
                    await self.saver.wait_for_writes()
                reader.read_part(part)
        has_answer = self.path.has_answer() if self.channel else bool(self.added and self.added.count)
        stops_between = graph.interrupt_before_nodes or graph.interrupt_after_nodes
        if self.channel and not stops_between:  # LangGraph's answer reads all messages
            is_waiting = bool(collect_questions(self.saver.list_root_writes()))
            if is_waiting or has_answer:
                return await self._rest(GraphResult(is_waiting))
        reached = await graph.aget_state(config)
        is_waiting = bool(reached.next or reached.interrupts)
        output = None if is_waiting or has_answer else format_output(graph, reached.values, self.channel)
        return await self._rest(GraphResult(is_waiting, output, is_placed=self.channel is None and not is_waiting))

    async def _rest(self, result: GraphResult) -> GraphResult:
        answers = self.run.request.answers
        if result.is_waiting:
            await self.saver.note_rest(is_answer=answers is not None)
        return replace(result, problem=self.saver.find_problem(answers or ()))

    async def _choose_input(self) -> Any:
        """Return the input of a graph: answers, new messages, or None where it goes on from its last step."""
        request, channel = self.run.request, self.channel
        if request.answers is not None:
            return Command(resume=dict(request.answers)) if request.answers else None
        # Without a message of its own, another try: the graph has its input.
        may_go_on = request.continues_answer or (channel is None and request.message is None)
        if may_go_on and (await self.graph.aget_state(self.config)).next:
            return None
        if channel is None:
            return read_input(self.graph, self.path.list_last(), self.path.read_inputs())
        # Without a reducer, the input takes the place of all messages.
        is_replaced = isinstance(self.graph.channels[channel], LastValue)
        new = self.path.list_all() if is_replaced else self.path.list_new()
        if not new and not request.continues_answer and not (await self.graph.aget_state(self.config)).next:
            new = self.path.list_last()  # the graph is at rest, and knows the question already
        return {**self.path.read_inputs(), channel: new} if new else None
