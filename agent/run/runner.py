"""The runner: one server-side task for each run, from the committed user message to rest. Pages only watch."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.preparation.compaction import NOTHING_YET_TEXT, NotCompactedError, SummaryScope
from agent.preparation.graph_inputs import InputForm
from agent.preparation.inputs import NothingToAnswerError, RunInputs
from agent.preparation.questions import GraphQuestion, GraphRest
from agent.preparation.requests import (
    EmptyMessageError,
    NothingToDecideError,
    RunRequest,
    build_user_message,
    check_answers,
    check_decision,
    replace_text,
)
from agent.run.active_runs import ActiveRuns
from agent.run.candidates import CandidateDriver, check_models
from agent.run.conclusions import ConclusionWriter
from agent.run.fleet import Fleet
from agent.run.parts import RunParts
from agent.run.reruns import Reruns
from agent.run.starting import RunStarter
from agent.run.titles import make_title
from agent.run.watchdog import RunWatchdog
from agent.settings import NO_GRAPHS, GraphOffer, ThreadSettings
from agent.time_travel.policy import Policy
from agent.tools.decisions import Decision
from checkpoints import Caller, CandidateKey, Run, RunActiveError, ThreadNotFoundError, require_writer
from checkpoints.values.files import File


@dataclass(slots=True, kw_only=True)
class Runner:
    parts: RunParts
    starter: RunStarter
    reruns: Reruns
    active_runs: ActiveRuns
    watchdog: RunWatchdog
    conclusions: ConclusionWriter
    candidates: CandidateDriver
    # The other processes that drive runs, if there are any.
    fleet: Fleet | None = None

    @property
    def inputs(self) -> RunInputs:
        return self.parts.inputs

    @property
    def default_policy(self) -> Policy:
        return self.parts.default_policy

    @property
    def graphs(self) -> GraphOffer:
        return self.parts.user_graphs.offer if self.parts.user_graphs else NO_GRAPHS

    async def send(
        self,
        thread_id: str | None,
        text: str,
        *,
        caller: Caller,
        chosen_settings: Mapping[str, str] | None = None,
        attachments: Sequence[File] = (),
        models: Sequence[str] = (),
        inputs: Mapping[str, Any] | None = None,
    ) -> Run:
        """Commit the user's message, to a new thread if `thread_id` is None, and begin to answer it. On return it is on
        disk.

        `chosen_settings` are for the new thread. Several `models` answer at once (see candidates). `inputs` are for a user
        graph, beside the message. Raises `InvalidSettingsError`, `MessageTooLongError`, `EmptyMessageError`, and
        `RerunActiveError`.
        """
        message = build_user_message(text, attachments, inputs)
        chosen = {"graph": self.graphs.default, **(chosen_settings or {})}
        settings = ThreadSettings().with_changes(chosen, self.parts.catalog, self.graphs).changes_since(ThreadSettings())
        title, several = make_title(message), check_models(models, self.parts.catalog)
        request = RunRequest(thread_id, caller, message, title=title, settings=settings, models=several)
        try:
            return await self._begin_run(request)
        except RunActiveError as error:
            await self.reruns.give_way(error)
            raise

    async def edit(self, thread_id: str, message_id: str, text: str, *, caller: Caller) -> Run:
        """Replace the text of a user message and answer it. The messages after it leave the path; undo restores them."""
        edited = await self.parts.blocking.run(self.parts.store.get_message, thread_id, message_id)
        if edited.type != "human":
            raise NothingToAnswerError
        message = replace_text(edited, text)
        if not message.body["data"]["content"]:
            raise EmptyMessageError
        return await self._begin_run(RunRequest(thread_id, caller, message, after_id=edited.parent_id))

    async def retry(self, thread_id: str, *, caller: Caller, message_id: str | None = None) -> Run:
        """Answer the last user message again, or the question of the answer `message_id`.

        The earlier answer and all messages after it leave the path; undo restores them.
        """
        after = await self.parts.blocking.run(self.parts.inputs.find_question, thread_id, message_id)
        return await self._begin_run(RunRequest(thread_id, caller, after_id=after))

    async def continue_answer(self, thread_id: str, *, caller: Caller) -> Run:
        """Continue a cut-off answer from where it stopped. Raises `NothingToAnswerError` if there is no message."""
        await self.parts.blocking.run(self.parts.inputs.require_message, thread_id)
        return await self._begin_run(RunRequest(thread_id, caller, continues_answer=True))

    async def decide(self, thread_id: str, decision: Decision, *, caller: Caller, allow_moves: bool = False) -> Run:
        """Apply a person's decision about a waiting call. When no other call waits, the agent continues.

        `allow_moves` lets the agent move through time in this conversation without further decisions. Raises
        `NothingToDecideError` if the call has a decision already, or the conversation continued without it.
        """
        check_decision(decision)
        return await self._begin_run(RunRequest(thread_id, caller, decision=decision, allow_moves=allow_moves))

    async def resume(
        self, thread_id: str, answers: Mapping[str, Any], *, caller: Caller, seen: Mapping[str, str] | None = None
    ) -> Run:
        """Pass a person's answers to a waiting user graph, by the ids of its questions, and let it continue.

        A graph that stops before a node continues without answers. `seen` maps ids of questions to the keys that the
        person saw: a later question with the same id does not get the answer. Raises `NothingToDecideError`, and an
        error with a sentence if the asking node is gone, since LangGraph would drop the answer.
        """
        check_answers(answers)
        waiting = {each.id: each.key for each in await self.parts.blocking.run(self.list_questions, thread_id)}
        if answers.keys() - waiting.keys() or not (seen or {}).items() <= waiting.items():
            raise NothingToDecideError
        if answers and self.parts.user_graphs is not None:
            thread = await self.parts.blocking.run(self.parts.store.get_thread, thread_id)
            await self.parts.user_graphs.check_answers(thread_id, ThreadSettings.from_thread(thread).graph, answers.keys())
        return await self._begin_run(RunRequest(thread_id, caller, answers=answers))

    def read_rest(self, thread_id: str, *, with_drafts: bool = False) -> GraphRest:
        """Return what a user graph waits for at its conversation's head. Blocks.

        `with_drafts` adds what its subgraphs have written.
        """
        graphs = self.parts.user_graphs
        return graphs.read_rest(thread_id, with_drafts=with_drafts) if graphs else GraphRest()

    def list_questions(self, thread_id: str) -> list[GraphQuestion]:
        """Return a user graph's waiting questions at its conversation's head. Blocks."""
        return self.read_rest(thread_id).questions

    def list_move_calls(self, thread_id: str) -> list[str]:
        """Return the ids of a user graph's calls whose moves through time wait for a person. Blocks."""
        return self.read_rest(thread_id).move_ids

    def find_form(self, graph: str) -> InputForm | None:
        """Return a user graph's inputs beside messages, or None if it has none or they are unknown."""
        return self.parts.user_graphs.find_form(graph) if self.parts.user_graphs and graph else None

    def list_channels(self, graph: str) -> Collection[str] | None:
        """Return a user graph's channel names, or None if they are unknown."""
        return self.parts.user_graphs.list_channels(graph) if self.parts.user_graphs and graph else None

    async def compact(self, thread_id: str | None, scope: SummaryScope, *, caller: Caller) -> Run:
        """Begin to replace a part of the conversation with a summary (see compaction).

        Nothing changes until the summary is complete, and it can be undone. Raises `NotCompactedError` if there is nothing
        to gain.
        """
        if thread_id is None:
            raise NotCompactedError(NOTHING_YET_TEXT)
        request = RunRequest(thread_id, caller, scope=scope)
        if caller.request_id not in self.starter.started_run_ids:
            await self.parts.blocking.run(self._check_passage, request, scope)
        return await self._begin_run(request)

    def _check_passage(self, request: RunRequest, scope: SummaryScope) -> None:
        assert request.thread_id
        try:
            self.parts.inputs.find_passage(request.thread_id, scope)
        except NotCompactedError:
            if not self.starter.preparer.has_begun(request):
                raise

    async def stop(self, thread_id: str, max_seconds: float | None = None) -> bool:
        """Stop the thread's run and wait until it has released the thread. Return whether there was a run.

        Messages on disk stay. Work that does not stop soon is abandoned: it continues, but can change nothing. The wait
        ends after `max_seconds`, or when the database has refused the end, which is then written later.
        """
        if await self._belongs_to_another(thread_id):
            return False
        self._forget_rerun(thread_id)
        # The id of a run that another process may drive.
        stopping_id = None
        if self.fleet is not None and thread_id not in self.active_runs.by_thread:
            await self.reruns.leave(thread_id)
            stopping_id = await self.fleet.request_stop(thread_id)
        # The lock is not needed, and another run may hold it while it waits for the database.
        active = self.active_runs.by_thread.get(thread_id)
        if active is None:
            async with self.active_runs.begin_lock:
                active = self.active_runs.by_thread.get(thread_id)
                # A database failure may have left a run without its end, and the run would hold the thread for ever.
                if active is None and await self.watchdog.interrupt_orphan(thread_id):
                    return True
        if active is not None:
            await active.stop(max_seconds)
        elif self.fleet is not None and stopping_id is not None:
            await self.fleet.stop_elsewhere(thread_id, stopping_id, max_seconds)
        return active is not None or stopping_id is not None

    async def leave_rerun(self, thread_id: str) -> None:
        """Let the current answer be the last of its rerun, since a person wants to say something after it."""
        if not await self._belongs_to_another(thread_id):
            await self.reruns.leave(thread_id)

    async def stop_candidate(self, thread_id: str, run_id: str, number: int) -> None:
        """Stop a candidate's answer. The other models continue. Nothing happens if its answer has ended."""
        if await self._belongs_to_another(thread_id):
            return
        active = self.active_runs.by_thread.get(thread_id)
        if active is not None and active.recorder.run.id == run_id:
            self.candidates.stop_candidate(run_id, number)
        elif self.fleet is not None:
            self.fleet.stop_candidate(thread_id, run_id, number)

    async def retry_candidate(self, thread_id: str, key: CandidateKey, *, caller: Caller) -> None:
        """Let a candidate answer the question again. The other answers stay, and running answers continue.

        Raises `NothingToRetryError` and `ThreadNotFoundError`.
        """
        if await self._belongs_to_another(thread_id):
            raise ThreadNotFoundError(thread_id)
        if await self.candidates.retry(thread_id, key, caller=caller):
            return
        active = self.active_runs.by_thread.get(thread_id)
        if active is not None and active.recorder.run.id == key.run_id:
            await asyncio.wait({active.end, active.tried}, return_when=asyncio.FIRST_COMPLETED)
        try:
            await self._begin_run(RunRequest(thread_id, caller, candidate=key))
        except RunActiveError as error:
            if self.fleet is None or error.run_id != key.run_id or thread_id in self.active_runs.by_thread:
                raise
            await self.fleet.retry_candidate(thread_id, key, caller)

    def open(self) -> None:
        """Begin to act on the work of other processes, if there are any. Needs the event loop."""
        if self.fleet is not None:
            self.fleet.start()

    async def release_orphans(self) -> None:
        """Release threads with a run that no task drives, because the database refused its end."""
        await self.watchdog.release_orphans()

    async def close(self) -> None:
        """Interrupt all runs, because the process is about to end."""
        self.active_runs.closing.set()
        if self.fleet is not None:
            await self.fleet.hand_over()
        await self.watchdog.close()
        active = dict(self.active_runs.by_thread)
        for thread_id in active:
            self.reruns.forget(thread_id)
        # Other processes may drive the next runs of these conversations by now, so only these runs are interrupted.
        await asyncio.gather(*(each.interrupt() for each in active.values()))
        if active:
            # This is the last attempt to write each end.
            await asyncio.wait({each.end for each in active.values()})
        for follower in self.active_runs.followers:
            await follower.close()
        if self.parts.user_graphs is not None:
            await self.parts.blocking.run(self.parts.user_graphs.close)
        if self.fleet is not None:
            await self.fleet.close()

    async def _belongs_to_another(self, thread_id: str) -> bool:
        """Return whether a thread is closed to the person who acts. Runs in memory belong to all owners.

        A single owner needs no check. Raises `ReadOnlyError`.
        """
        require_writer()
        separates = self.parts.store.database.separates_owners
        return separates and await self.parts.blocking.run(self.parts.store.belongs_to_another, thread_id, to_change=True)

    async def _begin_run(self, request: RunRequest) -> Run:
        run = await self.starter.start(request)
        # The decision belongs to the same turn, which another process may have begun.
        if request.is_decision:
            self.reruns.keep_on(run)
        elif request.thread_id is not None:
            self._forget_rerun(request.thread_id)
        return run

    def _forget_rerun(self, thread_id: str) -> None:
        self.reruns.forget(thread_id)
        if self.fleet is not None:
            self.fleet.leave_rerun(thread_id)
