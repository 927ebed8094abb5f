"""Drives a run from its first request until the graph rests, across all moves through time."""

from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import AnyMessage

from agent.context.prompts import COMPACTION_PROMPT
from agent.context.request import UNKNOWN_RESULT_TEXT, is_short
from agent.events import HeadMoved
from agent.graph.budgets import MAIN_KEY
from agent.graph.state import RunContext, build_config
from agent.preparation import compaction
from agent.preparation.compaction import SummaryScope
from agent.preparation.preparation import PreparedRun
from agent.preparation.requests import RunRequest
from agent.run.candidates import CandidateDriver
from agent.run.drafts import Drafts
from agent.run.outcome import describe_helper_failure
from agent.run.parts import RunParts
from agent.run.recorder import RunRecorder, SubAgentRecorder
from agent.run.time_travel import build_time_travel
from agent.settings import ChosenModel
from agent.subagents.delegation import OpenCall, RunDelegator, SubAgents
from agent.subagents.forking import RunForkExplorer
from agent.time_travel.policy import Policy
from agent.time_travel.protocol import PathChanged
from agent.tools.decisions import make_refusal
from checkpoints import MAIN, Message, Run, StateError
from checkpoints.values.sentence import sentence


def _read_content(message: Message) -> object:
    data = message.body["data"]
    return None if data.get("tool_calls") else data.get("content")


class NoGraphsError(StateError):
    """The graph of a conversation is missing: this app has no user graphs."""

    def __init__(self, name: str) -> None:
        super().__init__(
            sentence("The graph of this conversation, {name}, is not there: start Waymark with it again (GRAPH).", name=name)
        )


@dataclass(frozen=True, slots=True)
class RunDriver:
    """Does the work of runs that have begun on disk, with the built-in agent or the user graph of the conversation."""

    parts: RunParts
    drafts: Drafts
    candidates: CandidateDriver

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder) -> None:
        """Answer, or write the requested summary.

        Raises whatever ends the run early, or `AwaitingDecision` if a person must decide first.
        """
        settings = prepared.settings
        if prepared.graph:
            await self._drive_user_graph(prepared, recorder)
            return
        if prepared.run.candidates:
            await self.candidates.answer_question(recorder, settings, self._build_context(prepared, recorder, None, "off"))
            return
        policy = settings.resolve_policy(self.parts.default_policy)
        if prepared.request.scope is not None:
            model = await self.parts.blocking.run(settings.resolve_helper_model, self.parts.catalog)
            context = self._build_context(prepared, recorder, model, policy)
            await self._write_summary(recorder, context, prepared.request.scope)
            return
        if is_short(prepared.path, _read_content):
            model, messages = self._load_request(prepared)
        else:
            model, messages = await self.parts.blocking.run(self._load_request, prepared)
        context = self._build_context(prepared, recorder, model, policy)
        async with self.drafts.keep_draft(recorder):
            await self._answer(prepared, recorder, context, self._build_sub_agents(prepared.run, model), messages)

    async def _drive_user_graph(self, prepared: PreparedRun, recorder: RunRecorder) -> None:
        parts = self.parts
        if parts.user_graphs is None:
            raise NoGraphsError(prepared.graph)
        policy = prepared.settings.resolve_policy(parts.default_policy)
        async with self.drafts.keep_draft(recorder):
            await parts.user_graphs.drive(prepared, recorder, build_time_travel(parts, prepared.run, policy))

    def _load_request(self, prepared: PreparedRun) -> tuple[ChosenModel, list[AnyMessage]]:
        """Load the model, which the preparation has already loaded, and build the first request.

        A path that cannot be sent raises here, so the run ends with a sentence.
        """
        return prepared.settings.resolve_model(self.parts.catalog), prepared.build_messages()

    def _build_context(
        self, prepared: PreparedRun, recorder: RunRecorder, model: ChosenModel | None, policy: Policy
    ) -> RunContext:
        decision, run = prepared.request.decision, prepared.run
        prepared.usage.start_clock()
        return RunContext(
            recorder=recorder,
            limits=self.parts.limits,
            run_usage=prepared.usage,
            own_usage=prepared.usage.find_own(MAIN_KEY, self.parts.limits.agent),
            model=model,
            decisions={decision.call_id: decision} if decision else {},
            trace=prepared.trace,
            time_travel=build_time_travel(self.parts, run, policy),
            read_files=self.parts.store.read_files,
            # Without time travel there is no explorer, since other branches are a way to move through time.
            fork_explorer=None if policy == "off" else self._build_fork_explorer(run, policy),
        )

    def _build_fork_explorer(self, run: Run, policy: Policy) -> RunForkExplorer:
        def publish_head(version: int) -> None:
            self.parts.hub.publish(run.thread_id, HeadMoved(version))

        return RunForkExplorer(
            store=self.parts.store,
            runs=self.parts.runs,
            run=run,
            graph=self.parts.graph,
            load_system_text=partial(self.parts.inputs.load_branch_system_text, run),
            describe_failure=partial(describe_helper_failure, run=run),
            publish_head=publish_head,
            needs_approval=policy == "ask",
        )

    def _build_sub_agents(self, run: Run, model: ChosenModel) -> SubAgents:
        return SubAgents(
            agents=self.parts.agents,
            thread_id=run.thread_id,
            store=self.parts.store,
            catalog=self.parts.catalog,
            default_model=model,
            graph=self.parts.graph,
            limits=self.parts.limits,
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
            delegator = RunDelegator(sub_agents, open_calls) if self.parts.agents else None
            try:
                await self.parts.graph.ainvoke(
                    {"messages": messages},
                    build_config(self.parts.limits, run.thread_id),
                    context=replace(context, delegator=delegator),
                )
                return
            except PathChanged as moved:
                recorder.forget_open_calls()
                open_calls = await self.parts.blocking.run(self.parts.inputs.load_open_calls, run.thread_id)
                if not moved.continues and not open_calls:
                    return
            messages = await self._build_resumed_messages(run)

    async def _build_resumed_messages(self, run: Run) -> list[AnyMessage]:
        return await self.parts.blocking.run(self.parts.inputs.build_messages, run, resume=True)

    async def _settle_open_calls(self, recorder: RunRecorder, request: RunRequest) -> list[OpenCall]:
        """Return the open calls that a run resumes after a decision or a crash. Refuse all other calls."""
        if not request.continues_answer and request.decision is None:
            return []
        open_calls = await self.parts.blocking.run(self.parts.inputs.load_open_calls, recorder.run.thread_id)
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
        passage = await self.parts.blocking.run(self.parts.inputs.find_passage, run.thread_id, scope)
        note = compaction.build_note(passage, await compaction.summarize_passage(passage, scope.focus, off_path))
        await self.parts.blocking.run(
            self.parts.runs.replace_with_summary,
            run,
            [note.build_message(), *compaction.copy_following(passage.following)],
            after=passage.messages[0].parent_id,
            detail=compaction.make_detail(note.mark),
        )
