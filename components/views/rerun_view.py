"""A rerun as the page shows it: how far it is, and whether it continues by itself."""

from typing import TypedDict

from checkpoints import Rerun, Run, RunState


class RerunView(TypedDict):
    # The run with this id answers the rerun's current question.
    run: str
    # The last question asked has this number.
    number: int
    total: int
    # The rerun continues by itself.
    asking: bool
    # A tool call waits for a person.
    waiting: bool
    complete: bool
    # It is empty for the conversation's own model.
    model: str
    # The rerun neither asks nor waits.
    closable: bool
    # The questions are of this place, in the notation of comparisons.
    place: str


def describe_rerun(run: Run, rerun: Rerun, *, is_active: bool) -> RerunView | None:
    """Describe the rerun of the latest run; None if the user has seen its end."""
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
