"""Runs, their drafts, candidates and reruns, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RunState(StrEnum):
    RUNNING = "running"
    # At rest, with calls a person has to decide about.
    WAITING = "waiting"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer and reasoning a run is writing. A crash loses at most two seconds of it."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Rerun:
    """The questions of a path, asked again one after another on a new branch.

    `place` of the questions is "branch:ID", "checkpoint:ID" or "message:ID". `settings` replace the thread's for these
    runs. `question_ids` are the asked messages, in order.
    """

    id: str
    thread_id: str
    place: str
    settings: Mapping[str, str]
    question_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RerunStep:
    """The question of a rerun answered by a run. `number` counts from 1."""

    rerun_id: str
    number: int


@dataclass(frozen=True, slots=True)
class Run:
    """One pass of the agent. A thread has at most one running run: its row is the lock.

    A run that `compacts` answers nothing, but replaces messages with a summary. `error_details` are the words of the
    provider that refused it. `usage` is the agent's record of its budgets while the run waits for a decision. `candidates`
    counts the answering models, 0 for a single model. `head_id` is the thread's head when the run came to rest.

    With several processes, `worker` drives the run, `job` tells another worker how to drive it, and `stop_wanted` is a
    person's request made at another process. Each worker that takes the run increments `attempt`, and writes of earlier
    attempts are refused. The run acts for `person`, where people are told apart.
    """

    id: str
    thread_id: str
    state: RunState
    draft: Draft
    error: str | None
    dismissed: bool
    started_at: datetime
    ended_at: datetime | None
    compacts: bool = False
    error_details: str | None = None
    usage: str | None = None
    rerun: RerunStep | None = None
    candidates: int = 0
    head_id: str | None = None
    worker: int | None = None
    stop_wanted: bool = False
    job: str | None = None
    person: str | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Handover:
    """How another worker can drive a new run. With `waits`, the run waits for it, because this process drives none or
    enough."""

    job: str
    waits: bool = False


@dataclass(frozen=True, slots=True, order=True)
class CandidateKey:
    """The id of a candidate. `number` counts from 1."""

    run_id: str
    number: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """The answer of one of several models to a question, on its own branch.

    `number` counts from 1, `model` is the spec, and `head_id` is its last message, None before the first.
    """

    run_id: str
    number: int
    model: str
    branch_id: str
    state: RunState
    draft: Draft
    error: str | None = None
    error_details: str | None = None
    head_id: str | None = None

    @property
    def key(self) -> CandidateKey:
        return CandidateKey(self.run_id, self.number)
