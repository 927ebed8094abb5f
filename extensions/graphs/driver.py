"""Driving a run of a user graph: from its first pass until it rests, over every move through time on the way."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import PendingWrite

from agent.events import HeadMoved
from agent.preparation.graph_inputs import InputForm
from agent.preparation.preparation import PreparedRun
from agent.preparation.questions import GraphDraft, GraphRest
from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.run.recorder import RunRecorder, WrittenMessage
from agent.settings import GraphOffer
from agent.subagents.delegation import load_last_turn
from agent.time_travel.executor import TimeTravelExecutor
from agent.tools.decisions import AwaitingDecision, Decision
from checkpoints import Run, Runs, StateError, Store
from checkpoints.langgraph.open_subgraphs import read_open_subgraphs
from checkpoints.values.limits import MAX_ANSWER_CHARS
from checkpoints.values.standing_answers import StandingAnswers
from extensions.graphs.catalog import GraphCatalog
from extensions.graphs.delegated_work import DelegatedWork
from extensions.graphs.graph_loop import Work
from extensions.graphs.graph_run import GraphFailedError, GraphResult, GraphRun, GraphTurn
from extensions.graphs.interrupts import collect_questions, require_nodes
from extensions.graphs.opening import UserGraph
from extensions.graphs.reporter import Reporter
from extensions.graphs.run_saver import RunSaver
from extensions.graphs.savers import Savers
from extensions.graphs.states import StateRecorder
from extensions.graphs.streaming import AGENT_SEPARATOR
from extensions.graphs.travel import GraphTravel, MoveStep, list_open_calls, read_move_call

T = TypeVar("T")
MAX_CHECK_SECONDS = 5.0  # of the graph, before it gets an answer


@dataclass(frozen=True, slots=True)
class GraphDriver:
    """The parts that every run of a user graph uses."""

    store: Store
    runs: Runs
    hub: RunHub
    catalog: GraphCatalog
    savers: Savers
    blocking: BlockingPool

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder, time_travel: TimeTravelExecutor | None) -> None:
        """Let the graph answer, over every move on the way. Raises `GraphFailedError`, and `AwaitingDecision` to wait."""
        run, decision = prepared.run, prepared.request.decision
        travel = GraphTravel(self.store, run.thread_id, time_travel)
        answers = await self.blocking.run(partial(self.runs.read_standing_answers, run.thread_id, other_than=run.id))
        turn = GraphTurn(prepared.request, answers)
        step = await self._settle_moves(travel, decision, answers) if decision else None
        while True:
            if step is not None and step.move is not None:
                if not await self._make_move(travel, step, decision, recorder):
                    return
                turn = turn.begin_anew()
            elif step is not None:
                turn = turn.answer_questions(step.answers)
            decision = None
            result = await self._pass(prepared, recorder, travel, turn)
            if not result.is_waiting:
                await self._end(recorder, result)
                if result.problem:
                    raise result.problem
                return
            turn = replace(turn, answers=turn.answers.after_rest(run.id))
            step = await self._settle_moves(travel, None, turn.answers)
            if step is None:
                if prepared.request.is_decision:
                    await recorder.record_write(partial(self._record_answer, run))
                raise result.problem or AwaitingDecision()

    def _record_answer(self, run: Run) -> Sequence[WrittenMessage]:
        self.runs.record_answer(run)
        return ()

    async def _settle_moves(
        self, travel: GraphTravel, decision: Decision | None, answers: StandingAnswers
    ) -> MoveStep | None:
        def settle() -> MoveStep | None:
            written = self.savers.usual.read_pending_writes(travel.thread_id)
            return travel.settle(collect_questions(answers.choose_writes(written).writes), decision)

        return await self.blocking.run(settle)

    async def _make_move(
        self, travel: GraphTravel, step: MoveStep, decision: Decision | None, recorder: RunRecorder
    ) -> bool:
        """Make a move, and return whether the graph has something to answer there."""
        changed = await travel.make_move(step, decision, recorder)
        recorder.drop_text()
        thread = await self.blocking.run(self.store.get_thread, travel.thread_id)
        self.hub.publish(travel.thread_id, HeadMoved(thread.version))
        return changed.continues

    async def _pass(self, prepared: PreparedRun, recorder: RunRecorder, travel: GraphTravel, turn: GraphTurn) -> GraphResult:
        """Let the graph work until it rests."""
        run = prepared.run
        user_graph, usual = self.catalog.find_graph(prepared.graph), self.savers.usual
        publish = partial(self.hub.publish, run.thread_id)
        reporter = Reporter(recorder, publish, MAX_ANSWER_CHARS)
        flush = travel.flush_checkpoints
        delegated = DelegatedWork(self.store, run.thread_id)
        states = StateRecorder(self.store, usual, recorder, reporter, publish, None, flush, delegated)
        saver = RunSaver(
            usual,
            states,
            self.blocking,
            asyncio.get_running_loop(),
            answers=turn.answers,
            begins_anew=turn.is_after_move,
        )
        work = GraphRun(
            user_graph=user_graph,
            savers=self.savers,
            saver=saver,
            request=turn.request,
            blocking=self.blocking,
            reporter=reporter,
            travel=travel,
            delegated=delegated,
            run_id=run.id,
            traced=prepared.trace.build_graph_config(),
        )
        try:
            result = await self._run_work(user_graph, work.answer)
        finally:
            reporter.deliver_all(is_end=True)  # also of a graph that failed: its text is kept as a partial message
        if result.is_waiting:
            reporter.keep_unsaved()
        return result

    async def _end(self, recorder: RunRecorder, result: GraphResult) -> None:
        recorder.forget_open_calls()  # it ended by itself, with the calls that its author left open
        recorder.drop_text()
        if result.output is not None:
            await recorder.commit(result.output)
        if result.is_placed:
            await self.blocking.run(self.savers.usual.place_latest, recorder.run.thread_id)

    @property
    def offer(self) -> GraphOffer:
        return self.catalog.offer

    def close(self) -> None:
        """End the loop of the graphs."""
        self.catalog.loop.close()

    def find_form(self, graph: str) -> InputForm | None:
        found = self.catalog.graphs.get(graph)
        return found.form if found else None

    def list_channels(self, graph: str) -> Collection[str] | None:
        found = self.catalog.graphs.get(graph)
        return found.channels if found else None

    async def _run_work(self, user_graph: UserGraph, work: Work[T]) -> T:
        """Return the result of work on the loop of the graphs. Raises `GraphFailedError` for an exit of the author's."""
        try:
            return await self.catalog.loop.run_work(work)
        except (Exception, asyncio.CancelledError):
            raise
        except BaseException as error:
            raise GraphFailedError(user_graph.definition, error) from error

    async def check_answers(self, thread_id: str, graph: str, question_ids: Collection[str]) -> None:
        user_graph = self.catalog.find_graph(graph)
        written = await self.blocking.run(self._read_standing_writes, thread_id)
        check = partial(require_nodes, user_graph, self.savers, thread_id, written, question_ids)
        checking = asyncio.create_task(self._run_work(user_graph, check))
        done, _ = await asyncio.wait({checking}, timeout=MAX_CHECK_SECONDS)
        if not done or checking.cancelled():
            checking.cancel()  # a factory that takes long, or cancels itself: the run tells of it, and can be stopped
            return
        try:
            await checking
        except (StateError, GraphFailedError):
            raise
        except Exception as error:
            raise GraphFailedError(user_graph.definition, error) from error

    def read_rest(self, thread_id: str, *, with_drafts: bool) -> GraphRest:
        written = self.savers.usual.read_pending_writes(thread_id)
        if not written and not with_drafts:
            return GraphRest()
        answers = self.runs.read_standing_answers(thread_id)
        asked = [(each, read_move_call(each)) for each in collect_questions(answers.choose_writes(written).writes)]
        is_move_asked = any(call_id for _, call_id in asked)
        open_ids = {call["id"] for call in list_open_calls(self.store, thread_id)} if is_move_asked else ()
        questions = [question for question, call_id in asked if call_id not in open_ids]
        move_ids = [call_id for _, call_id in asked if call_id is not None and call_id in open_ids]
        return GraphRest(questions, move_ids, self._list_drafts(thread_id, answers, written) if with_drafts else [])

    def _list_drafts(self, thread_id: str, answers: StandingAnswers, written: Sequence[PendingWrite]) -> list[GraphDraft]:
        works = read_open_subgraphs(
            self.store.database,
            self.savers.usual.serde,
            thread_id,
            run_ids=answers.list_rested(written),
            choose_writes=lambda written: answers.choose_writes(written).writes,
        )
        # The messages of sub-agents are on the path already.
        known = (
            {str(each.body["data"].get("id") or each.id) for each in load_last_turn(self.store, thread_id)} if works else ()
        )
        return [
            GraphDraft(AGENT_SEPARATOR.join(work.path), text, work.interrupt_ids)
            for work in works
            for message in work.messages
            if isinstance(message, AIMessage) and message.id not in known and (text := str(message.text).strip())
        ]

    def _read_standing_writes(self, thread_id: str) -> Sequence[PendingWrite]:
        """Return the writes of tasks since the state where a conversation stands, with the answers that stand."""
        written = self.savers.usual.read_pending_writes(thread_id)
        return written and self.runs.read_standing_answers(thread_id).choose_writes(written).writes
