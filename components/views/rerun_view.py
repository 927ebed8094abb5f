"""A rerun as the page shows it: how far it is, and whether it continues by itself."""

from typing import TypedDict

from agent.models.providers import shorten_spec
from checkpoints import Rerun, Run, RunState
from words import _, ngettext


class RerunView(TypedDict):
    # The run with this id answers the rerun's current question.
    run: str
    # The sentence names the last question asked by its number, counted from 1.
    text: str
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
    is_asking, is_waiting = is_active and not is_complete, run.state is RunState.WAITING
    model = shorten_spec(rerun.settings.get("model", ""))
    text = _describe_end(step.number, total, model, is_complete=is_complete)
    return {
        "run": run.id,
        "text": _describe_asking(step.number, total, model, is_waiting=is_waiting) if is_asking else text,
        "asking": is_asking,
        "waiting": is_waiting,
        "complete": is_complete,
        "model": rerun.settings.get("model", ""),
        "closable": run.state not in (RunState.RUNNING, RunState.WAITING),
        "place": rerun.place,
    }


def _describe_asking(number: int, total: int, model: str, *, is_waiting: bool) -> str:
    place = (
        _("Asking again on {model}: question {number} of {total}", model=model, number=number, total=total)
        if model
        else _("Asking again: question {number} of {total}", number=number, total=total)
    )
    return _("{place} waits for your permission", place=place) if is_waiting else place


def _describe_end(number: int, total: int, model: str, *, is_complete: bool) -> str:
    on = _(" on {model}", model=model) if model else ""
    if is_complete:
        return ngettext("The question was asked again{on}.", "All {count} questions were asked again{on}.", total, on=on)
    asked = ngettext(
        "{count} of {total} questions was asked again{on}.",
        "{count} of {total} questions were asked again{on}.",
        number,
        total=total,
        on=on,
    )
    left = total - number
    return asked + ngettext(" The last one was not.", " The other {count} were not.", left) if left else asked
