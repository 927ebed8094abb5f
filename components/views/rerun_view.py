"""A rerun as the page shows it: how far it is, and whether it goes on by itself."""

from typing import TypedDict

from checkpoints import Rerun, Run, RunState


class RerunView(TypedDict):
    run: str  # the id of the run that answers it
    number: int  # of the last question that was asked
    total: int
    asking: bool  # it goes on by itself
    waiting: bool  # a tool call waits for a person
    complete: bool  # every question has its answer
    model: str  # "" where it is the conversation's
    closable: bool  # nothing is asked and nothing waits
    place: str  # of the questions, as a comparison names it


def describe_rerun(run: Run, rerun: Rerun, *, is_active: bool) -> RerunView | None:
    """Describe the rerun of the latest run; None where its end was seen."""
    step, total = run.rerun, len(rerun.question_ids)
    is_done = run.state is RunState.DONE
    if step is None or run.dismissed:
        return None
    is_complete = is_done and step.number >= total
    return {
        "run": run.id,
        "number": step.number,
        "total": total,
        "asking": is_active and not is_complete,
        "waiting": run.state is RunState.WAITING,
        "complete": is_complete,
        "model": rerun.settings.get("model", ""),
        "closable": run.state not in (RunState.RUNNING, RunState.WAITING),
        "place": rerun.place,
    }
