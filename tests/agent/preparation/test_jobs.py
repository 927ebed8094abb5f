"""A job brings everything of a request to another process that is not on disk otherwise."""

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.preparation.compaction import SummaryScope
from agent.preparation.jobs import RunJob
from agent.preparation.requests import RunRequest
from agent.tools.decisions import Decision
from checkpoints import Caller, CandidateKey, Draft, NewMessage, RerunStep, Run, RunState

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT, lambda each: st.lists(each) | st.dictionaries(TEXT, each), max_leaves=5
)
DECISIONS = st.builds(
    Decision, TEXT, st.sampled_from(["allow", "edit", "respond", "deny"]), st.none() | st.dictionaries(TEXT, JSON), TEXT
)
JOBS = st.builds(
    RunJob,
    asks=st.booleans(),
    continues_answer=st.booleans(),
    decision=st.none() | DECISIONS,
    answers=st.none() | st.dictionaries(TEXT, JSON),
    scope=st.none() | st.builds(SummaryScope, st.sampled_from(["all", "from", "up_to"]), TEXT, TEXT),
    continues_rerun=st.booleans(),
    usage=st.none() | TEXT,
)
ON_DISK = {  # with the row of the run, of its thread, or of its candidates
    *("thread_id", "caller", "after_id", "title", "settings", "rerun", "models", "candidate", "allow_moves"),
}


@settings(max_examples=20)
@given(JOBS)
def test_a_job_is_the_same_after_its_row(job: RunJob) -> None:
    assert RunJob.parse(job.write()) == job


def test_every_part_of_a_request_is_in_its_job_or_on_disk() -> None:
    """A new field of a request must be thought of: another process may drive its run."""
    question = NewMessage({"type": "human", "data": {"content": "a"}})
    parts: dict[str, Any] = {
        "message": question,
        "continues_answer": True,
        "decision": Decision("c", "edit", {"a": [1, None]}, "text"),
        "answers": {"q": {"yes": True}},
        "scope": SummaryScope("from", "m", "focus"),
    }
    assert {field.name for field in fields(RunRequest)} == ON_DISK | parts.keys()
    request = RunRequest("t", Caller(), rerun=RerunStep("r", 1), candidate=CandidateKey("r", 1), **parts)
    run = Run("r", "t", RunState.RUNNING, Draft(), None, False, datetime.now(UTC), None)
    stored: Any = question
    waiting = replace(run, job=RunJob(continues_rerun=True).write(), usage="usage")
    assert RunJob.of(replace(request, rerun=None), waiting).continues_rerun
    made = RunJob.parse(RunJob.of(request, waiting).write()).make_request(run, stored)
    assert {name: getattr(made, name) for name in parts} == parts
