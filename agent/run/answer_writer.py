"""Writes the messages of an answer to the store and publishes its events, for a run or for a candidate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from agent.events import AnswerEvent, CandidateProgress
from agent.run.hub import RunHub
from checkpoints import (
    EVERYBODY,
    Candidate,
    CandidateEnd,
    CandidateKey,
    Message,
    NewMessage,
    Run,
    RunEnd,
    Runs,
    ThreadNotFoundError,
    act_for,
)
from checkpoints.values.errors import ReadOnlyError


class AnswerWriter(Protocol):
    """The place of an answer in the store, and its followers."""

    @property
    def candidate_key(self) -> CandidateKey | None:
        """Return the candidate's key, or None for the answer of the run itself."""
        ...

    def commit_message(self, message: NewMessage) -> tuple[Message, int]:
        """Write a finished message. Return it with the thread's version."""
        ...

    def write_end(
        self, end: RunEnd, last_messages: Sequence[NewMessage] = (), candidates: Sequence[CandidateEnd] = ()
    ) -> int:
        """Write the end. Return the thread's version."""
        ...

    def publish_event(self, event: AnswerEvent) -> None: ...


@dataclass(frozen=True, slots=True)
class RunWriter:
    run: Run
    runs: Runs
    hub: RunHub
    candidate_key: CandidateKey | None = None

    def commit_message(self, message: NewMessage) -> tuple[Message, int]:
        return self.runs.commit_message(self.run, message)

    def write_end(
        self, end: RunEnd, last_messages: Sequence[NewMessage] = (), candidates: Sequence[CandidateEnd] = ()
    ) -> int:
        end_run = partial(
            self.runs.end_run,
            self.run,
            end.state,
            error=end.error,
            details=end.details,
            usage=end.usage,
            last_messages=last_messages,
            candidates=candidates,
        )
        try:
            return end_run()
        except (ThreadNotFoundError, ReadOnlyError):
            # The person who asked has lost access meanwhile, and the conversation must be released.
            with act_for(EVERYBODY):
                return end_run()

    def publish_event(self, event: AnswerEvent) -> None:
        self.hub.publish(self.run.thread_id, event)


@dataclass(frozen=True, slots=True)
class CandidateWriter:
    """Writes the answer of a candidate on its branch, and publishes its events under the candidate's number."""

    run: Run
    runs: Runs
    hub: RunHub
    candidate: Candidate

    @property
    def candidate_key(self) -> CandidateKey | None:
        return self.candidate.key

    def commit_message(self, message: NewMessage) -> tuple[Message, int]:
        branch_id, key = self.candidate.branch_id, self.candidate.key
        return self.runs.commit_message(self.run, message, branch_id=branch_id, candidate=key)

    def write_end(self, end: RunEnd, last_messages: Sequence[NewMessage] = (), _: Sequence[CandidateEnd] = ()) -> int:
        return self.runs.end_candidate(self.run, CandidateEnd(self.candidate, end, last_messages))

    def publish_event(self, event: AnswerEvent) -> None:
        self.hub.publish(self.run.thread_id, CandidateProgress(self.candidate.number, event))
