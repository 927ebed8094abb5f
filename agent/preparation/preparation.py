"""Preparing a run: its beginning on disk, and the material for its first request. Everything here blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import time_ns
from typing import Any

from langchain_core.messages import AnyMessage

from agent.context.request import UNKNOWN_RESULT_TEXT, build_request
from agent.events import RunStarted
from agent.graph.budgets import RunUsage, parse_usage
from agent.graph.state import Limits
from agent.marks import InputsMark
from agent.preparation.inputs import RunInputs
from agent.preparation.jobs import RunJob
from agent.preparation.requests import (
    FilesRefusedError,
    InputsRefusedError,
    ModelsForGraphError,
    NewRerun,
    NoGraphError,
    NothingToDecideError,
    RunRequest,
)
from agent.settings import ThreadSettings, is_of_program
from agent.subagents.delegation import OpenCall, find_undecided_calls, load_last_turn
from agent.tools.decisions import NOT_APPROVED_TEXT, make_refusal
from agent.tracing.events import RunBegun, RunStart
from agent.tracing.protocol import Tracer
from agent.tracing.run_trace import RunTrace
from checkpoints import (
    HEAD,
    Caller,
    Handover,
    Message,
    NewMessage,
    Operation,
    OperationKind,
    RerunStep,
    Run,
    Runs,
    Store,
    Thread,
)
from checkpoints.values import serde


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that has begun on disk, with the material for its first request."""

    run: Run
    request: RunRequest
    system_text: str
    path: Sequence[Message]
    convert: Callable[[Message], AnyMessage | None]  # a message of the path, for a request
    decided_calls: Sequence[OpenCall]  # the calls that waited, where the run begins with a decision about one
    started: RunStarted
    trace: RunTrace
    settings: ThreadSettings  # of the conversation; of a rerun, its own in their place
    usage: RunUsage  # of the budgets; after a decision, that of the run that waited and its successor together

    @property
    def graph(self) -> str:
        """Return the user graph that answers; empty: the built-in agent does."""
        return self.settings.graph

    def build_messages(self) -> list[AnyMessage]:
        """Build the first request. A path that cannot be sent raises here, in the run and not before it."""
        continues = self.request.continues_answer
        return build_request(self.system_text, self.path, continue_answer=continues, convert=self.convert)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPreparer:
    """Begins runs on disk."""

    store: Store
    runs: Runs
    inputs: RunInputs
    tracer: Tracer
    limits: Limits

    def prepare(self, request: RunRequest, *, is_repeated: bool, waits: bool = False) -> PreparedRun:
        """Begin a run on disk and load its start. A repeated request returns the run that it began.

        With `waits`, another process drives it.

        Raises `NothingToDecideError`, `NoGraphError`, and the errors of `Runs.begin_run`.
        """
        with self.store.database.begin_read():
            thread = self.store.get_thread(request.thread_id) if request.thread_id else None
            graph = ThreadSettings.from_thread(thread).graph if thread else request.settings.get("graph", "")
            if thread and is_of_program(thread) and not is_repeated:
                raise NoGraphError
            if graph and request.models:
                raise ModelsForGraphError
            if graph and request.message is not None and request.message.files:
                raise FilesRefusedError
            if not graph and request.message is not None and InputsMark.of(request.message):
                raise InputsRefusedError
            if graph and request.message is not None:
                request = replace(request, message=_name_for_graph(request.message, self.store.new_id()))
            waiting_calls = self._load_waiting_calls(request, graph)
            if not is_repeated:
                self._check_decision(request, waiting_calls)
            waiting, closing = self._find_waiting(request), self._close_calls(request, waiting_calls)
        handover = None if self.runs.worker_id is None else Handover(RunJob.of(request, waiting).write(), waits)
        run = self._begin(request, closing, handover)
        if request.allow_moves:  # only now: a decision that came too late must not leave an approval behind
            self._allow_moves(run)
        kept_calls = waiting_calls if request.is_decision or (graph and request.message is None) else ()
        return self.load_start(run, request, kept_calls, waiting.usage if waiting is not None else None)

    def _close_calls(self, request: RunRequest, calls: Sequence[OpenCall]) -> list[NewMessage]:
        """Return the results of calls that a message leaves undecided, that were undone, or that a crash has cut off."""
        if request.message is None or not request.thread_id or not calls:
            return []
        undone = self.inputs.find_undone_calls(request.thread_id, calls)
        text = NOT_APPROVED_TEXT if self.inputs.load_waiting_calls(request.thread_id) else UNKNOWN_RESULT_TEXT
        results = [(make_refusal(each.call, undone.get(each.key, text)), each.agent) for each in calls]
        return [NewMessage(serde.to_body(result), agent=agent) for result, agent in results]

    def _begin(self, request: RunRequest, closing: Sequence[NewMessage], handover: Handover | None) -> Run:
        if isinstance(request.rerun, NewRerun):
            assert request.message is not None
            new = request.rerun
            place: dict[str, Any] = {"after": new.after_id, "name": new.branch_name}
            return self.runs.begin_rerun(new.rerun, request.message, **place, caller=request.caller, handover=handover)
        if request.candidate is not None:
            assert request.thread_id is not None
            return self.runs.retry_candidate(request.thread_id, request.candidate, caller=request.caller, handover=handover)
        return self.runs.begin_run(
            request.thread_id,
            request.message,
            caller=request.caller,
            after=request.after_id,
            title=request.title,
            closing_messages=closing,
            settings=request.settings,
            compacts=request.scope is not None,
            rerun=request.rerun or self._find_rerun(request),
            models=request.models,
            handover=handover,
        )

    def _find_rerun(self, request: RunRequest) -> RerunStep | None:
        """Return the rerun whose question is answered once more, or further: with its model and instructions."""
        if request.thread_id is None or request.message is not None or request.scope is not None:
            return None
        if request.after_id == HEAD:
            run = self.runs.get_latest_run(request.thread_id)
        else:
            asked_in = request.after_id and self.store.get_message(request.thread_id, request.after_id).run_id
            run = self.runs.get_run(asked_in) if asked_in else None
        return run.rerun if run else None

    def _load_waiting_calls(self, request: RunRequest, graph: str) -> list[OpenCall]:
        if not request.thread_id or request.after_id != HEAD or isinstance(request.rerun, NewRerun):
            return []  # a call that waits, waits on
        # The built-in agent completes the pairs of each request; a user graph gets the messages as they are.
        is_message = request.message is not None
        return self.inputs.load_waiting_calls(request.thread_id, after_crash=bool(graph), after_undo=is_message)

    def _find_waiting(self, request: RunRequest) -> Run | None:
        """Return the run that waits for a decision: its usage, and the work after it, are those of the next one."""
        return self.runs.get_latest_run(request.thread_id) if request.decision and request.thread_id else None

    def _allow_moves(self, run: Run) -> None:
        setting = {"time_travel": "allow"}
        self.store.change_settings(run.thread_id, setting, caller=Caller(request_id=f"{run.id}-always"))

    def load_start(self, run: Run, request: RunRequest, decided_calls: Sequence[OpenCall], used: str | None) -> PreparedRun:
        """Load the start of a run that has begun on disk. `used` is the usage that it begins with."""
        usage = parse_usage(used, self.limits.run, self.limits.agent)
        prompt, is_asked = self.inputs.load_system_prompt(), request.message is not None
        with self.store.database.begin_read():
            thread, settings = self.store.get_thread(run.thread_id), self.inputs.load_settings(run)
            path = load_last_turn(self.store, run.thread_id) if settings.graph else self.inputs.load_recent_messages(run)
            system_text = self.inputs.load_system_text(prompt, run)
            start_event = build_start_event(self.store, run, path, is_asked=is_asked) if self.tracer.is_on else None
        candidates = self.runs.list_candidates(run.id) if run.candidates else ()
        started = RunStarted(run.id, thread.version, path[-1] if is_asked else None, candidates, run.attempt)
        trace = RunTrace(self.tracer, run.id, prompt, start_event)
        convert = self.inputs.recent_messages.convert
        return PreparedRun(run, request, system_text, path, convert, decided_calls, started, trace, settings, usage)

    def has_begun(self, request: RunRequest) -> bool:
        """Return whether the same request has begun a run, perhaps at another process. Blocks."""
        return bool(request.caller.request_id and self.runs.get_run(request.caller.request_id))

    def _check_decision(self, request: RunRequest, waiting_calls: Sequence[OpenCall]) -> None:
        undecided_ids = [each.call["id"] for each in find_undecided_calls(waiting_calls)]
        if request.decision and request.decision.call_id not in undecided_ids and not self.has_begun(request):
            raise NothingToDecideError


def _name_for_graph(message: NewMessage, message_id: str) -> NewMessage:
    """Return a message that has this id for LangGraph as well.

    The states of a graph and of its subgraphs name it by that id, also in a copy of the conversation.
    """
    data = {**message.body["data"], "id": message_id}
    return replace(message, id=message_id, body={**message.body, "data": data})


def build_start_event(store: Store, run: Run, path: Sequence[Message], *, is_asked: bool) -> RunBegun:
    """Return the first event of a run's trace. With `is_asked`, the run began with the path's last message, the user's."""
    question = next((each for each in reversed(path) if each.type == "human" and not each.damaged), None)
    before = path[:-1] if is_asked else path
    text = question.langchain.text if question else ""
    with store.database.begin_read():
        thread = store.get_thread(run.thread_id)
        start = _locate_start(store, run, thread, before[-1].id if before else None)
    return RunBegun(run.id, run.thread_id, time_ns(), str(text), start, thread.title)


def _locate_start(store: Store, run: Run, thread: Thread, node_id: str | None) -> RunStart:
    with store.database.begin_read():
        checkpoints = [each for each in store.list_checkpoints(thread.id) if each.node and each.node.id == node_id]
        branch = next(each for each, _ in store.list_branches(thread.id) if each.id == thread.branch_id)
        operations = store.list_operations(thread.id, last=2)
    return RunStart(branch, checkpoints[-1] if checkpoints else None, _find_left_head(operations, run), thread.version)


def _find_left_head(newest_first: Sequence[Operation], run: Run) -> str | None:
    """Return the head before this run's own edit or retry, or before the preceding restore."""
    for operation in newest_first:
        is_own = operation.undo_group == run.id
        if operation.kind is OperationKind.RESTORE or (
            is_own and operation.kind in (OperationKind.EDIT, OperationKind.RETRY)
        ):
            return next((change.before["head_id"] for change in operation.changes if "head_id" in change.before), None)
        if not is_own:
            return None
    return None
