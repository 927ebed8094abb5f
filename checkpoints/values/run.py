"""Runs as values: one pass of the agent, its draft, its candidates, and the rerun that it is a part of."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RunState(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"  # at rest, with calls that a person has to decide about
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer that a run is writing, and the reasoning before it. A crash loses at most two seconds of it."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Rerun:
    """The questions of a path, asked once more, one after the other, on a branch of their own."""

    id: str
    thread_id: str
    place: str  # of the questions: "branch:ID", "checkpoint:ID" or "message:ID"
    settings: Mapping[str, str]  # that replace those of the thread for its runs
    question_ids: tuple[str, ...]  # of the messages that are asked, in their order


@dataclass(frozen=True, slots=True)
class RerunStep:
    """The question of a rerun that a run answers."""

    rerun_id: str
    number: int  # from 1


@dataclass(frozen=True, slots=True)
class Run:
    """One pass of the agent. A thread has at most one that is running: that row is the lock."""

    id: str
    thread_id: str
    state: RunState
    draft: Draft
    error: str | None
    dismissed: bool
    started_at: datetime
    ended_at: datetime | None
    compacts: bool = False  # it answers nothing, but puts a summary in the place of messages
    error_details: str | None = None  # the words of the provider that refused it
    usage: str | None = None  # of its budgets, as its agent wrote it, where the run waits for a decision
    rerun: RerunStep | None = None
    candidates: int = 0  # answers of several models; 0: one model answers
    head_id: str | None = None  # where the thread stood when the run came to rest
    worker: int | None = None  # the process that drives it, where there may be several
    stop_wanted: bool = False  # by a person, at another process than that
    job: str | None = None  # how another worker drives it, as its agent wrote it
    person: str | None = None  # who asked, where people are told apart: the run acts for them
    attempt: int = 0  # each worker that takes it counts one: writes of an earlier attempt are refused


@dataclass(frozen=True, slots=True)
class Handover:
    """How another worker can drive a new run, and whether it waits for one: this process drives none, or enough."""

    job: str
    waits: bool = False


@dataclass(frozen=True, slots=True, order=True)
class CandidateKey:
    """The id of a candidate."""

    run_id: str
    number: int  # from 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """The answer of one model, where a run asks several models one question. It is on a branch of its own."""

    run_id: str
    number: int  # from 1
    model: str  # the spec
    branch_id: str
    state: RunState
    draft: Draft
    error: str | None = None
    error_details: str | None = None
    head_id: str | None = None  # its last message; None: it has none yet

    @property
    def key(self) -> CandidateKey:
        return CandidateKey(self.run_id, self.number)
