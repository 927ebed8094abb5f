"""Drives a run from its first request until the graph rests, across all moves through time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import AnyMessage

from agent.context.prompts import COMPACTION_PROMPT
from agent.context.request import UNKNOWN_RESULT_TEXT
from agent.events import HeadMoved
from agent.graph.budgets import MAIN_KEY
from agent.graph.state import AgentGraph, Limits, RunContext, build_config
from agent.preparation import compaction
from agent.preparation.compaction import SummaryScope
from agent.preparation.inputs import RunInputs
from agent.preparation.preparation import PreparedRun
from agent.preparation.requests import RunRequest
from agent.run.blocking import BlockingPool
from agent.run.candidates import CandidateDriver
from agent.run.drafts import Drafts
from agent.run.hub import RunHub
from agent.run.outcome import describe_helper_failure
from agent.run.recorder import RunRecorder, SubAgentRecorder
from agent.run.time_travel import TimeTravelBuilder
from agent.settings import ChosenModel, ModelCatalog
from agent.subagents.agents import Agents
from agent.subagents.delegation import OpenCall, RunDelegator, SubAgents
from agent.subagents.forking import RunForkExplorer
from agent.time_travel.policy import Policy
from agent.time_travel.protocol import PathChanged
from agent.tools.decisions import make_refusal
from checkpoints import MAIN, Message, Run, Runs, Store

# The event loop itself builds requests of paths within these limits, since a pass to a thread takes longer.
MAX_SHORT_MESSAGES = 50
MAX_SHORT_CHARS = 4_000


def is_short(path: Sequence[Message]) -> bool:
    """Return whether a path is so short and plain that building its request is faster than a pass to a thread."""
    return len(path) <= MAX_SHORT_MESSAGES and all(map(_is_plain, path))


def _is_plain(message: Message) -> bool:
    data = message.body["data"]
    content = data.get("content")
    return isinstance(content, str) and len(content) <= MAX_SHORT_CHARS and not data.get("tool_calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDriver:
    """The parts that every run uses."""

    store: Store
    runs: Runs
    hub: RunHub
    graph: AgentGraph
    catalog: ModelCatalog
    inputs: RunInputs
    limits: Limits
    agents: Agents
    time_travel: TimeTravelBuilder
    blocking: BlockingPool
    drafts: Drafts
    candidates: CandidateDriver

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder) -> None:
        """Answer, or write the requested summary. Raises whatever ends the run early."""
        settings = prepared.settings
        if prepared.run.candidates:
            await self.candidates.answer_question(recorder, settings, self._build_context(prepared, recorder, None, "off"))
            return
        policy = self.time_travel.find_policy(settings)
        if prepared.request.scope is not None:
            model = await self.blocking.run(settings.resolve_helper_model, self.catalog)
            context = self._build_context(prepared, recorder, model, policy)
            await self._write_summary(recorder, context, prepared.request.scope)
            return
        if is_short(prepared.path):
            model, messages = self._load_request(prepared)
        else:
            model, messages = await self.blocking.run(self._load_request, prepared)
        context = self._build_context(prepared, recorder, model, policy)
        async with self.drafts.keep_draft(recorder):
            await self._answer(prepared, recorder, context, self._build_sub_agents(prepared.run, model), messages)

    def _load_request(self, prepared: PreparedRun) -> tuple[ChosenModel, list[AnyMessage]]:
        """Load the model, which the preparation has already loaded, and build the first request.

        A path that cannot be sent raises here, so the run ends with a sentence.
        """
        return prepared.settings.resolve_model(self.catalog), prepared.build_messages()

    def _build_context(
        self, prepared: PreparedRun, recorder: RunRecorder, model: ChosenModel | None, policy: Policy
    ) -> RunContext:
        decision, run = prepared.request.decision, prepared.run
        prepared.usage.start_clock()
        return RunContext(
            recorder=recorder,
            limits=self.limits,
            run_usage=prepared.usage,
            own_usage=prepared.usage.find_own(MAIN_KEY, self.limits.agent),
            model=model,
            decisions={decision.call_id: decision} if decision else {},
            trace=prepared.trace,
            time_travel=self.time_travel.build(run, policy),
            read_files=self.store.read_files,
            # Without time travel there is no explorer, since other branches are a way to move through time.
            fork_explorer=None if policy == "off" else self._build_fork_explorer(run, policy),
        )

    def _build_fork_explorer(self, run: Run, policy: Policy) -> RunForkExplorer:
        def publish_head(version: int) -> None:
            self.hub.publish(run.thread_id, HeadMoved(version))

        return RunForkExplorer(
            store=self.store,
            runs=self.runs,
            run=run,
            graph=self.graph,
            load_system_text=partial(self.inputs.load_branch_system_text, run),
            describe_failure=partial(describe_helper_failure, run=run),
            publish_head=publish_head,
            needs_approval=policy == "ask",
        )

    def _build_sub_agents(self, run: Run, model: ChosenModel) -> SubAgents:
        return SubAgents(
            agents=self.agents,
            thread_id=run.thread_id,
            store=self.store,
            catalog=self.catalog,
            default_model=model,
            graph=self.graph,
            limits=self.limits,
            describe_failure=partial(describe_helper_failure, run=run),
        )

    async def _answer(
        self,
        prepared: PreparedRun,
        recorder: RunRecorder,
        context: RunContext,
        sub_agents: SubAgents,
        messages: list[AnyMessage],
    ) -> None:
        """Run the graph until it rests. Each move through time restarts it from the new path."""
        run = prepared.run
        open_calls = await self._settle_open_calls(recorder, prepared.request)
        if open_calls:
            messages = await self._build_resumed_messages(run)
        while True:
            recorder.reopen_calls(open_calls)
            delegator = RunDelegator(sub_agents, open_calls) if self.agents else None
            try:
                await self.graph.ainvoke(
                    {"messages": messages}, build_config(self.limits), context=replace(context, delegator=delegator)
                )
                return
            except PathChanged as moved:
                recorder.forget_open_calls()
                open_calls = await self.blocking.run(self.inputs.load_open_calls, run.thread_id)
                if not moved.continues and not open_calls:
                    return
            messages = await self._build_resumed_messages(run)

    async def _build_resumed_messages(self, run: Run) -> list[AnyMessage]:
        return await self.blocking.run(self.inputs.build_messages, run, resume=True)

    async def _settle_open_calls(self, recorder: RunRecorder, request: RunRequest) -> list[OpenCall]:
        """Return the open calls that a run resumes after a decision or a crash. Refuse all other calls."""
        if not request.continues_answer and request.decision is None:
            return []
        open_calls = await self.blocking.run(self.inputs.load_open_calls, recorder.run.thread_id)
        if request.decision:
            return open_calls
        # Only questions to agents continue. Other calls that a crash cut off are not repeated without a request.
        questions = [each for each in open_calls if each.question is not None]
        for each in open_calls if questions else ():
            if each.question is None:
                await recorder.commit(make_refusal(each.call, UNKNOWN_RESULT_TEXT), agent=each.agent)
        return questions

    async def _write_summary(self, recorder: RunRecorder, context: RunContext, scope: SummaryScope) -> None:
        """Ask for a summary and commit it in a transaction with the run's end, so a crash leaves all or nothing."""
        run = recorder.run
        # Record it off the path: a summary's text is no answer, and stopping keeps nothing of it.
        off_path = replace(
            context,
            recorder=SubAgentRecorder(recorder, MAIN, keeps_text=False),
            trace=context.trace.for_agent("compaction", COMPACTION_PROMPT),
        )
        passage = await self.blocking.run(self.inputs.find_passage, run.thread_id, scope)
        note = compaction.build_note(passage, await compaction.summarize_passage(passage, scope.focus, off_path))
        await self.blocking.run(
            self.runs.replace_with_summary,
            run,
            [note.build_message(), *compaction.copy_following(passage.following)],
            after=passage.messages[0].parent_id,
            detail=compaction.make_detail(note.mark),
        )
