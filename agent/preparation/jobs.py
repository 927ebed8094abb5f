"""Jobs: how to drive a run, for a process that did not begin it. A job is on the run's row, as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from agent.preparation.compaction import SummaryScope
from agent.preparation.requests import RunRequest
from agent.tools.decisions import Decision
from checkpoints import Caller, Message, NewMessage, Run
from checkpoints.values import serde


@dataclass(frozen=True, slots=True)
class RunJob:
    """The part of a request that is not on disk otherwise: the message, the rerun and the candidates are."""

    asks: bool = False  # it begins with a message
    continues_answer: bool = False
    decision: Decision | None = None
    answers: Mapping[str, Any] | None = None  # to the questions of a user graph
    scope: SummaryScope | None = None  # the passage to summarise
    continues_rerun: bool = False  # the next question of its rerun is asked afterwards
    usage: str | None = None  # of the run that waited for this one, as its agent wrote it
    deaths: int = 0  # of processes that drove it

    @classmethod
    def of(cls, request: RunRequest, waiting: Run | None) -> "RunJob":
        """Return the job of a request. `waiting` is the run that waits for it, where it is a decision."""
        before = cls.parse(waiting.job) if waiting is not None and waiting.job else NO_JOB
        return cls(
            asks=request.message is not None,
            continues_answer=request.continues_answer,
            decision=request.decision,
            answers=None if request.answers is None else dict(request.answers),
            scope=request.scope,
            continues_rerun=request.rerun is not None or before.continues_rerun,
            usage=waiting.usage if waiting is not None else None,
        )

    @classmethod
    def parse(cls, text: str) -> "RunJob":
        known = {each.name for each in fields(cls)}  # a newer version, which serves beside this one, may write more
        found: dict[str, Any] = {name: value for name, value in serde.parse_leniently(text).items() if name in known}
        decision, scope = found.pop("decision", None), found.pop("scope", None)
        return cls(
            decision=None if decision is None else Decision(**decision),
            scope=None if scope is None else SummaryScope(**scope),
            **found,
        )

    def write(self) -> str:
        return serde.to_canonical(asdict(self))

    def make_request(self, run: Run, question: Message | None) -> RunRequest:
        """Return a request that drives a run in the same way. `question` is the message that it begins with."""
        return RunRequest(
            run.thread_id,
            Caller(request_id=run.id),
            NewMessage(question.body) if question is not None else None,
            continues_answer=self.continues_answer,
            decision=self.decision,
            answers=self.answers,
            scope=self.scope,
        )


NO_JOB = RunJob()


def continues_rerun(run: Run) -> bool:
    """Return whether the next question is asked after a run, as its row tells every process."""
    return run.rerun is not None and run.job is not None and RunJob.parse(run.job).continues_rerun
