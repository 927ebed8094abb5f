"""Takes runs: begins waiting runs, and continues runs of dead workers if it is safe."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.events import Event, MessageAdded, RunFinished
from agent.preparation.jobs import RunJob
from agent.preparation.preparation import PreparedRun, RunPreparer
from agent.run.active_runs import ActiveRuns
from agent.run.parts import RunParts
from agent.run.reruns import Reruns
from agent.run.watchdog import RunWatchdog
from agent.subagents.delegation import find_open_calls
from checkpoints import (
    MAIN,
    CandidateEnd,
    Draft,
    Message,
    MessageStatus,
    Run,
    RunEnd,
    RunState,
    act_for,
)
from checkpoints.people.members import Members
from checkpoints.values.model import ThreadRole

NO_TEXT = Draft()
# How many processes may die while they drive a run. A fatal run must not end all processes.
MAX_DEATHS = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _TakenRun:
    """A taken run: prepared to continue, or with the state in which it is to end."""

    run: Run
    # Events to publish.
    events: Sequence[Event] = ()
    prepared: PreparedRun | None = None
    end: RunState = RunState.INTERRUPTED


@dataclass(frozen=True, slots=True)
class RunTakeover:
    parts: RunParts
    preparer: RunPreparer
    active_runs: ActiveRuns
    watchdog: RunWatchdog
    reruns: Reruns

    async def take(self, run_id: str, thread_id: str) -> None:
        """Drive a run here, or end it if it cannot continue by itself. Needs the begin lock."""
        person, may_go_on = await self.parts.blocking.run(self._find_actor, run_id, thread_id)
        with act_for(person):
            # Watch first, since a failure from here on leaves a run that no task drives.
            self.watchdog.ensure_watching()
            taken = await self.parts.blocking.run(self._take, run_id, may_go_on)
            if taken is None:
                return
            if taken.prepared is not None:
                self.reruns.keep_on(taken.run)
                self.active_runs.start(taken.prepared)
            # The attempt starts without text, so these events follow its start.
            for event in taken.events:
                self.parts.wire.publish(thread_id, event)
            if taken.prepared is not None:
                return
            if taken.end is RunState.DONE:
                await self._end(taken.run)
            else:
                await self.watchdog.interrupt_orphan(thread_id)

    def _find_actor(self, run_id: str, thread_id: str) -> tuple[str, bool]:
        """Return the person for whom a run acts and True, or the owner and False if the person may no longer write."""
        owner, run = self.parts.store.get_thread(thread_id).owner, self.parts.runs.get_run(run_id)
        person = run.person if run and run.person else owner
        with act_for(person):
            may_go_on = Members(self.parts.store).find_role(thread_id) in (ThreadRole.OWNER, ThreadRole.EDITOR)
        return (person if may_go_on else owner), may_go_on

    def _take(self, run_id: str, may_go_on: bool) -> _TakenRun | None:
        before, run = self.parts.runs.get_run(run_id), self.parts.runs.take_run(run_id)
        if before is None or run is None:
            return None
        if not may_go_on:
            return _TakenRun(run)
        # A run with a worker was not given back.
        if before.worker is not None:
            run = self._count_death(run)
        if run.attempt == 1:
            return _TakenRun(run, prepared=self._prepare(run, RunJob.parse(run.job or "")))
        _log.warning("run %s is taken from another process, as attempt %s", run.id, run.attempt)
        store = self.parts.store
        newest = store.list_messages(run.thread_id, last=1, agent=MAIN)
        last = newest[0] if newest else None
        self._settle_candidates(run)
        is_own = last is not None and last.run_id == run.id and last.type == "ai"
        kept = [MessageAdded(last, store.get_thread(run.thread_id).version)] if last and run.draft != NO_TEXT else []
        job = replace(RunJob.parse(run.job or ""), asks=False, decision=None)
        if job.scope is None and not run.candidates and is_own and last is not None and last.status is MessageStatus.DONE:
            return _TakenRun(run, kept, end=RunState.INTERRUPTED if self._has_open_calls(run) else RunState.DONE)
        if not self._can_go_on(run, job):
            return _TakenRun(run, kept)
        job = replace(job, continues_answer=job.continues_answer or is_own)
        return _TakenRun(run, kept, self._prepare(run, job))

    def _can_go_on(self, run: Run, job: RunJob) -> bool:
        """Return whether a run continues by itself. It does not if a tool with unknown effect may have been at work."""
        if job.deaths > MAX_DEATHS or self.parts.inputs.load_settings(run).graph:
            return False
        return job.scope is not None or bool(run.candidates) or not self._has_open_calls(run)

    def _count_death(self, run: Run) -> Run:
        """Count the death of the run's process. Runs that are given back, as in a deployment, do not count."""
        job = RunJob.parse(run.job or "")
        written = replace(job, deaths=job.deaths + 1).write()
        self.parts.runs.change_job(run, written)
        return replace(run, job=written)

    def _settle_candidates(self, run: Run) -> None:
        """End candidates whose answers were complete or in a tool. The others continue."""
        for each in self.parts.runs.list_candidates(run.id) if run.candidates else ():
            written = self.parts.inputs.load_candidate_answer(each, run)
            if each.state is not RunState.RUNNING or not written:
                continue
            if find_open_calls(written):
                self.parts.runs.end_candidate(run, CandidateEnd(each, RunEnd(RunState.INTERRUPTED)))
            elif written[-1].type == "ai" and written[-1].status is MessageStatus.DONE:
                self.parts.runs.end_candidate(run, CandidateEnd(each, RunEnd(RunState.DONE)))

    def _has_open_calls(self, run: Run) -> bool:
        return bool(self.parts.inputs.load_open_calls(run.thread_id))

    def _prepare(self, run: Run, job: RunJob) -> PreparedRun:
        question = self._find_question(run) if job.asks else None
        request = job.make_request(run, question)
        is_user_graph = bool(self.parts.inputs.load_settings(run).graph)
        kept = request.is_decision or (is_user_graph and question is None)
        open_calls = self.parts.inputs.load_open_calls(run.thread_id) if kept else []
        return self.preparer.load_start(run, request, open_calls, job.usage)

    def _find_question(self, run: Run) -> Message | None:
        newest = self.parts.store.list_messages(run.thread_id, last=1, agent=MAIN)
        return newest[0] if newest and newest[0].type == "human" and not newest[0].is_by_graph else None

    async def _end(self, run: Run) -> None:
        """End a run whose answer was complete when its worker died."""
        version = await self.parts.blocking.run(self.parts.runs.end_run, run, RunState.DONE)
        self.parts.wire.publish(run.thread_id, RunFinished(run.id, RunState.DONE, version))
        for follower in self.active_runs.followers:
            follower.consider(run)
