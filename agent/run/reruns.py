"""Reruns ask the questions of a path again on a new branch, each after a complete answer.

The steps are on disk with their runs. Whether a rerun continues by itself is only in memory, so a person decides after a
restart.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent.context.path_ends import is_question
from agent.events import HeadMoved, RerunEnded
from agent.marks import ExcerptMark, MoveMark, SummaryMark
from agent.models.providers import shorten_spec
from agent.preparation.jobs import RunJob, continues_rerun
from agent.preparation.requests import NewRerun, RerunActiveError, RunRequest, replace_text
from agent.run.outcome import locate_error
from agent.run.parts import RunParts
from agent.run.starting import RunStarter
from agent.settings import ThreadSettings
from checkpoints import (
    MAIN,
    Caller,
    Message,
    NewMessage,
    Rerun,
    RerunStep,
    Run,
    RunActiveError,
    RunState,
    StateError,
    Store,
    ThreadNotFoundError,
)
from checkpoints.values.limits import MAX_READ_VALUES
from checkpoints.values.sentence import sentence

MAX_RERUN_QUESTIONS = 200
# The questions are among this many messages from the beginning of a path.
MAX_RERUN_MESSAGES = 5_000
# Messages in the user's role that nobody asked.
_NOTES = (MoveMark, SummaryMark, ExcerptMark)
_log = logging.getLogger(__name__)


class NotRerunError(StateError, ValueError):
    """There is nothing to ask again, and nothing was changed. The text gives the reason."""


@dataclass(frozen=True, slots=True)
class RerunRequest:
    """A person's choice: the place of the questions, the first question, and the settings."""

    # As a comparison names the place.
    place: str
    # The last message of the place.
    end_id: str | None
    # None: the place's first question.
    first_id: str | None = None
    # The model and the instructions.
    settings: Mapping[str, str] = field(default_factory=dict)


def list_questions(store: Store, thread_id: str, end_id: str | None) -> list[Message]:
    """Return the user's own questions on the path to a message, without notes in the user's role."""
    limits = {"max_messages": MAX_RERUN_MESSAGES, "max_values": MAX_READ_VALUES}
    path = store.compare_paths(thread_id, end_id, None, **limits).left
    asked = (message for message in path if is_question(message, MAIN))
    return [each for each in asked if each.damaged or not any(mark.of(each) for mark in _NOTES)]


def _copy_question(message: Message) -> NewMessage:
    """Return a question's text and files as a new message. Raises `DamagedMessageError`."""
    return replace_text(message, str(message.intact.langchain.text))


@dataclass(slots=True)
class Reruns:
    """Begins reruns, and asks the next question when a run is done."""

    parts: RunParts
    starter: RunStarter
    # Keys are threads, values the last steps of their reruns that continue by themselves.
    _active: dict[str, RerunStep] = field(init=False, default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    async def begin(self, thread_id: str, request: RerunRequest, *, caller: Caller) -> Run:
        """Open a branch and ask the first question there. Raises `NotRerunError` and `InvalidSettingsError`."""
        begun = await self.parts.blocking.run(self.parts.runs.get_run, caller.request_id) if caller.request_id else None
        # The request is repeated, and its branch is the current position by now.
        if begun is not None and begun.thread_id == thread_id:
            return begun
        prepared = await self.parts.blocking.run(self._prepare_first, thread_id, request, caller)
        return await self._start(prepared)

    async def go_on(self, thread_id: str, *, caller: Caller) -> Run:
        """Ask the next question of the rerun at the head, or repeat the last question if its answer is incomplete.

        Raises `NotRerunError`.
        """
        return await self._start(await self.parts.blocking.run(self._prepare_next, thread_id, caller))

    def is_asking(self, run: Run | None) -> bool:
        """Return whether the rerun of a latest run continues by itself. An undo or a switch may have left its step."""
        if run is None or run.rerun is None or run.state not in (RunState.RUNNING, RunState.WAITING, RunState.DONE):
            return False
        if run.worker != self.parts.runs.worker_id:
            return continues_rerun(run) and (run.state is RunState.RUNNING or self.parts.runs.is_driven(run))
        step = self._active.get(run.thread_id)
        # The next run is on disk a moment before its step is in `_active`.
        return step is not None and run.rerun.rerun_id == step.rerun_id and run.rerun.number - step.number in (0, 1)

    def keep_on(self, run: Run) -> None:
        """Ask the next question after a run of this process if its row says so, since another process began its turn."""
        if continues_rerun(run) and run.worker == self.parts.runs.worker_id:
            assert run.rerun is not None
            self._active[run.thread_id] = run.rerun

    def forget(self, thread_id: str) -> bool:
        """Ask no further question of a thread here. Return whether the thread had an active rerun."""
        if self._active.pop(thread_id, None) is None:
            return False
        self.parts.hub.publish(thread_id, RerunEnded())
        return True

    async def leave(self, thread_id: str) -> bool:
        """Stop a rerun at all processes. The current question keeps its answer.

        A person has stopped, or wants to say something. Return whether there was such a rerun.
        """
        was_here = self.forget(thread_id)
        if self.starter.fleet is None:
            return was_here
        self.starter.fleet.leave_rerun(thread_id)
        return await self.parts.blocking.run(self._mark_left, thread_id) or was_here

    async def give_way(self, error: RunActiveError) -> None:
        """Let a message come next after the run that holds its thread. Raises `RerunActiveError` if a rerun has the run."""
        active = await self.parts.blocking.run(self.parts.runs.get_run, error.run_id)
        if active is not None and active.rerun is not None:
            await self.leave(active.thread_id)
            raise RerunActiveError(active.thread_id, active.id) from error

    def _mark_left(self, thread_id: str) -> bool:
        """Note on the run's row that no question follows, for the process that drives the run or takes it."""
        try:
            latest = self.parts.runs.get_latest_run(thread_id)
        except ThreadNotFoundError:
            return False
        if latest is None or latest.job is None or not continues_rerun(latest):
            return False
        self.parts.runs.change_job(latest, replace(RunJob.parse(latest.job), continues_rerun=False).write())
        return True

    def consider(self, run: Run) -> None:
        """Ask the next question after a finished run."""
        is_active = self._active.get(run.thread_id) == run.rerun
        # If this process ends, another process can answer the next question.
        can_ask = not self.starter.active_runs.closing.is_set() or self.starter.fleet is not None
        if run.rerun is not None and is_active and can_ask:
            task = asyncio.create_task(self._ask_next(run, run.rerun), name=f"next question after {run.id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Ask nothing more, because the process is about to end."""
        self._active.clear()
        for task in set(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _start(self, request: RunRequest) -> Run:
        run = await self.starter.start(request)
        # A repeated request returns a run that may be over.
        if run.rerun is not None and run.state is RunState.RUNNING:
            self._active[run.thread_id] = run.rerun
        return run

    async def _ask_next(self, ended: Run, step: RerunStep) -> None:
        thread_id = ended.thread_id
        try:
            rerun = await self.parts.blocking.run(self.parts.runs.get_rerun, step)
            if step.number < len(rerun.question_ids):
                await self._start_next(ended, step)
            # The rerun is complete, as the run's end shows.
            elif self._active.get(thread_id) == step:
                del self._active[thread_id]
            return
        except StateError as error:
            _log.info("rerun %s asks no further question: %s", step.rerun_id, error)
        except Exception as error:  # noqa: BLE001  the outer edge: the page offers to go on
            _log.warning("rerun %s asks no further question: %s", step.rerun_id, locate_error(error))
        if self._active.get(thread_id) == step:
            self.forget(thread_id)

    async def _start_next(self, ended: Run, step: RerunStep) -> None:
        thread_id = ended.thread_id
        request = await self.parts.blocking.run(self._prepare_next, thread_id, None)
        # A stop waits for this lock.
        async with self.starter.active_runs.begin_lock:
            if self._active.get(thread_id) != step or await self._was_left_elsewhere(ended):
                self.forget(thread_id)
                return
            run = await self.starter.start_locked(request)
            # A person may have left the rerun meanwhile. This question is then the last.
            is_left = self._active.get(thread_id) != step
            if not is_left and run.rerun is not None:
                self._active[thread_id] = run.rerun
        if is_left or await self._was_left_elsewhere(ended):
            await self.leave(thread_id)
        version = (await self.parts.blocking.run(self.parts.store.get_thread, thread_id)).version
        # The pages show the rerun's progress.
        self.parts.hub.publish(thread_id, HeadMoved(version))

    async def _was_left_elsewhere(self, ended: Run) -> bool:
        """Return whether another process has noted on the run's row that no question follows."""
        found = await self.parts.blocking.run(self.parts.runs.get_run, ended.id) if ended.job is not None else None
        return found is not None and not continues_rerun(found)

    def _prepare_first(self, thread_id: str, request: RerunRequest, caller: Caller) -> RunRequest:
        with self.parts.store.database.begin_read():
            thread = self.parts.store.get_thread(thread_id)
            questions = list_questions(self.parts.store, thread_id, request.end_id)
        begin = next((index for index, each in enumerate(questions) if each.id == request.first_id), None)
        chosen = questions[begin or 0 :][:MAX_RERUN_QUESTIONS]
        if not chosen or (begin is None and request.first_id is not None):
            raise NotRerunError(sentence("There is no question to ask again."))
        current = ThreadSettings.from_thread(thread)
        settings = current.with_changes(request.settings, self.parts.catalog)
        spec = settings.model or self.parts.catalog.default_spec
        place = request.place or f"branch:{thread.branch_id}"
        ids = tuple(each.id for each in chosen)
        rerun = Rerun(self.parts.store.new_id(), thread_id, place, settings.changes_since(current), ids)
        new = NewRerun(rerun, chosen[0].parent_id, f"Again on {shorten_spec(spec)}")
        return RunRequest(thread_id, caller, _copy_question(chosen[0]), rerun=new)

    def _prepare_next(self, thread_id: str, caller: Caller | None) -> RunRequest:
        """Return the request for the next question. Without a caller, it holds only for the current head."""
        with self.parts.store.database.begin_read():
            caller = caller or Caller(expected_version=self.parts.store.get_thread(thread_id).version)
            latest = self.parts.runs.get_latest_run(thread_id)
            if latest is None or latest.rerun is None:
                raise NotRerunError(sentence("There are no questions to go on with here."))
            if latest.state is RunState.WAITING:
                raise NotRerunError(sentence("A tool call waits for you: decide about it first."))
            if latest.state is not RunState.DONE:
                asked = self.parts.inputs.find_question(thread_id, None)
                return RunRequest(thread_id, caller, after_id=asked, rerun=latest.rerun)
            rerun, number = self.parts.runs.get_rerun(latest.rerun), latest.rerun.number + 1
            if number > len(rerun.question_ids):
                raise NotRerunError(sentence("All questions were asked."))
            question = self.parts.store.get_message(thread_id, rerun.question_ids[number - 1])
        return RunRequest(thread_id, caller, _copy_question(question), rerun=RerunStep(rerun.id, number))
