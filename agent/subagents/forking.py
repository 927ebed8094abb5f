"""Forks of the agent: each prompt of a `fork` becomes a real branch, and the agent works on all of them side by side.

The branches begin before the answer with the `fork` call, so no branch contains the call. They are made in a transaction
with their prompts. Their messages belong to the run, and are undone with it.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall

from agent.context.path_ends import cut_values
from agent.context.request import build_request
from agent.graph.budgets import BRANCH_OWNER, BudgetUsage
from agent.graph.state import AgentGraph, Limits, Recorder, RunContext, ToolOutcome, build_config
from agent.marks import AttemptMark
from agent.subagents.delegation import load_last_turn
from agent.subagents.failure import HelperFailure
from agent.time_travel.dependence import list_call_ids
from agent.tracing.run_trace import RunTrace
from checkpoints import MAIN, Message, MessageStatus, NewMessage, Run, Runs, Store
from checkpoints.values import serde
from checkpoints.values.answer_spec import make_spec_entry
from checkpoints.values.errors import TooManyAlternativesError
from checkpoints.values.reasoning import Reasoning
from checkpoints.values.text import shorten_for_model, shorten_line

MAX_PROMPTS = 10
MAX_BRANCHES_PER_RUN = 20
MAX_PARALLEL_BRANCHES = 4
MAX_PROMPT_CHARS = 20_000
# Limits a branch's answer in the result.
MAX_BRANCH_ANSWER_CHARS = 8_000
MAX_BRANCH_NAME_CHARS = 60
_EMPTY_BRANCH_TEXT = "(Nothing was said.)"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunForkExplorer:
    """Runs the forks of a run. With `needs_approval`, a person decides about each fork first."""

    store: Store
    runs: Runs
    run: Run
    graph: AgentGraph
    # Returns the instructions on a branch. Blocks.
    load_system_text: Callable[[], str]
    # The text argument is the failed part of the run.
    describe_failure: Callable[[BaseException, str], HelperFailure]
    # Publishes the thread's new version.
    publish_head: Callable[[int], None]
    needs_approval: bool

    async def explore(self, call: ToolCall, context: RunContext) -> ToolOutcome:
        """Work on every prompt. Return the results as JSON in their order, or a sentence for the model."""
        prompts = call["args"].get("prompts")
        if (refusal := _check_prompts(prompts)) is not None:
            return ToolOutcome(refusal, is_failed=True)
        assert isinstance(prompts, list)
        if context.run_usage.branches + len(prompts) > MAX_BRANCHES_PER_RUN:
            refusal = f"No more than {MAX_BRANCHES_PER_RUN} ways are tried in one run."
            return ToolOutcome(f"{refusal} Nothing was done. Go on with what there is.", is_failed=True)
        context.run_usage.branches += len(prompts)
        path, system = await context.recorder.run_blocking(
            lambda: (self._load_path(call, context.limits), self.load_system_text())
        )
        begun = [
            (_name_branch(prompt), _make_first_message(prompt, call, number)) for number, prompt in enumerate(prompts, 1)
        ]
        after = path[-1].id if path else None
        try:
            made, version = await context.recorder.run_blocking(partial(self.runs.branch_off, self.run, begun, after=after))
        except TooManyAlternativesError as error:
            return ToolOutcome(f"{error} Nothing was done. Go on with what there is.", is_failed=True)
        self.publish_head(version)
        context.trace.on_operation(
            await context.recorder.run_blocking(partial(self.store.get_operation, self.run.thread_id, version))
        )
        free = asyncio.Semaphore(MAX_PARALLEL_BRANCHES)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._run_branch(branch_id, system, [*path, first], context, free))
                for branch_id, first in made
            ]
        results = [task.result() for task in tasks]
        named = [{"branch": name, **result} for (name, _), result in zip(begun, results, strict=True)]
        has_failed = all("failed" in result for result in results)
        return ToolOutcome(json.dumps(named, ensure_ascii=False, indent=1), has_failed)

    def _load_path(self, call: ToolCall, limits: Limits) -> list[Message]:
        """Load the agent's messages before the answer with the `fork` call."""
        # Sub-agents may have written much since the answer.
        turn = load_last_turn(self.store, self.run.thread_id)
        answer = next(each for each in reversed(turn) if each.agent == MAIN and call["id"] in list_call_ids(each))
        if answer.parent_id is None:
            return []
        path = self.store.list_messages_to(self.run.thread_id, answer.parent_id, last=limits.max_messages)
        return cut_values([each for each in path if each.agent == MAIN], MAIN)

    async def _run_branch(
        self, branch_id: str, system: str, path: list[Message], context: RunContext, slots: asyncio.Semaphore
    ) -> dict[str, str]:
        """Return the answer of a branch. Its failure is a result, and does not end the other branches."""
        async with slots:
            return await self._answer_on_branch(branch_id, system, path, context)

    async def _answer_on_branch(
        self, branch_id: str, system: str, path: list[Message], context: RunContext
    ) -> dict[str, str]:
        recorder = BranchRecorder(self.runs, self.run, branch_id, context.recorder, self.publish_head)
        trace = _trace_branch(path[-1], system, context)
        branch_context = replace(
            context,
            recorder=recorder,
            trace=trace,
            time_travel=None,
            delegator=None,
            fork_explorer=None,
            decisions={},
            is_unattended=True,
            own_usage=BudgetUsage(context.limits.branch, BRANCH_OWNER),
            reserved_answers=context.reserved_answers + 1,
        )
        try:
            async with asyncio.timeout(context.limits.branch.seconds) as deadline:
                # Building the request of a long path takes half a second, so it runs outside the event loop.
                messages = await recorder.run_blocking(partial(build_request, system, path))
                state = await self.graph.ainvoke(
                    {"messages": messages}, build_config(context.limits, self.run.thread_id), context=branch_context
                )
        except asyncio.CancelledError:
            await recorder.cut_off()
            raise
        except Exception as error:  # noqa: BLE001  a branch's outer edge: every failure becomes a sentence
            late = f"It took longer than {context.limits.branch.seconds:g} s and was stopped."
            is_late = deadline.expired()
            failed = HelperFailure(late) if is_late else self.describe_failure(error, f"the branch {branch_id}")
            trace.cut_off(failed.sentence)
            await recorder.cut_off()
            details = {"details": failed.provider_words} if failed.provider_words else {}
            return {"failed": failed.sentence, **details}
        trace.on_agent_end()
        text = str(state["messages"][-1].text) or _EMPTY_BRANCH_TEXT
        return {"answer": shorten_for_model(text, MAX_BRANCH_ANSWER_CHARS)}


@dataclass(frozen=True, slots=True)
class BranchRecorder:
    """Records a branch. Its text is not shown while it is written, since the page shows another branch."""

    runs: Runs
    run: Run
    branch_id: str
    recorder: Recorder
    publish_head: Callable[[int], None]
    # Pieces of the uncommitted answer, and of the reasoning before it.
    written: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    # The model of the last request comes last.
    models: list[str] = field(default_factory=list)

    def note_model(self, spec: str) -> None:
        self.models.append(spec)

    def append_text(self, delta: str) -> None:
        self.written.append(delta)

    def append_reasoning(self, delta: str) -> None:
        self.thoughts.append(delta)

    def withdraw_text(self) -> None:
        self.thoughts.extend(self.written)
        self.written.clear()

    async def begin_tool(self, call_id: str) -> None:
        await self.recorder.begin_tool(call_id)

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        new = NewMessage(serde.to_body(message), status=status)
        stored, version = await self.recorder.run_blocking(lambda: self._write(new))
        if isinstance(message, AIMessage) and not message.tool_calls:
            self.publish_head(version)
        return int(stored.depth)

    def _write(self, new: NewMessage) -> tuple[Message, int]:
        stored, version = self.runs.commit_message(self.run, new, branch_id=self.branch_id)
        # Clear them here: the waiting task may be stopped meanwhile, and would write the text again.
        self.thoughts.clear()
        self.written.clear()
        return stored, version

    async def cut_off(self) -> None:
        """Commit the uncommitted answer as a partial message.

        Calls stay open. The branch is read only after a person goes there, and then each request closes them.
        """
        text, kwargs = "".join(self.written), Reasoning("".join(self.thoughts)).to_kwargs()
        if text or kwargs:
            metadata = make_spec_entry(self.models[-1]) if self.models else {}
            answer = AIMessage(serde.sanitize_text(text), additional_kwargs=kwargs, response_metadata=metadata)
            await self.commit(answer, MessageStatus.PARTIAL)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self.recorder.run_blocking(work)

    def unique_call_id(self, call_id: str) -> str:
        return self.recorder.unique_call_id(call_id)

    def for_agent(self, agent: str, memory_length: int | None = None) -> Recorder:
        # There are no sub-agents on a branch.
        raise NotImplementedError


def _check_prompts(prompts: object) -> str | None:
    if not isinstance(prompts, list) or not all(isinstance(prompt, str) and prompt.strip() for prompt in prompts):
        return "The prompts must be a list of texts, none of them empty. Nothing was done."
    if not 1 <= len(prompts) <= MAX_PROMPTS:
        return f"There must be 1 to {MAX_PROMPTS} prompts. Nothing was done."
    if any(len(prompt) > MAX_PROMPT_CHARS for prompt in prompts):
        return f"A prompt is too long: at most {MAX_PROMPT_CHARS:,} characters. Nothing was done."
    return None


def _name_branch(prompt: str) -> str:
    return shorten_line(prompt, MAX_BRANCH_NAME_CHARS)


def _make_first_message(prompt: str, call: ToolCall, number: int) -> NewMessage:
    mark = AttemptMark(call["id"] or "", number)
    return NewMessage(serde.to_body(HumanMessage(serde.sanitize_text(prompt), additional_kwargs=mark.to_kwargs())))


def _trace_branch(first: Message, system: str, context: RunContext) -> RunTrace:
    """Return the trace of the branch after this first message."""
    mark = AttemptMark.of(first)
    assert mark is not None
    return context.trace.for_agent(f"branch {mark.number}", system, mark.call_id, _name_branch(str(first.langchain.text)))


def is_final_answer(message: Message) -> bool:
    """Return whether this message is the final answer of its branch."""
    return message.type == "ai" and message.status is MessageStatus.DONE and not list_call_ids(message)
