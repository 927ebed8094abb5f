"""The outcome of a run: its state, and a sentence for people if it failed. Nothing here raises."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from agent.graph.answer import AnswerCutOff
from agent.graph.budgets import LimitReached
from agent.models.errors import describe_model_error
from agent.models.provider_words import read_provider_words
from agent.subagents.failure import HelperFailure
from agent.tools.decisions import AwaitingDecision
from checkpoints import Run, RunState, StateError, StoreUnavailableError, TakesTooLongError
from checkpoints.values.sentence import sentence

_UNKNOWN_TEXT = sentence("An unknown error occurred.")
_log = logging.getLogger(__name__)


class OwnCodeError(StateError):
    """An error in a user's code. Its text may quote a conversation, so only the page shows it. `place` goes to the log."""

    def __init__(self, text: str, place: str) -> None:
        super().__init__(text)
        self.place = place


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The state to write for a run. `error` is a sentence for people if it failed or reached a limit.

    `details` are the provider's words.
    """

    state: RunState
    error: str | None = None
    details: str | None = None


def read_outcome(run: Run, work: asyncio.Task[None], requested: RunState | None) -> RunOutcome:
    """Read how the work of a run ended. A stopped run has not failed.

    `requested` is the state with which the end was requested. Work that still continues counts as cancelled.
    """
    is_stopped = requested is not None
    if work.done() and not work.cancelled():
        error = work.exception()
        if error is None:
            return RunOutcome(RunState.DONE)
        if isinstance(error, AwaitingDecision):
            return RunOutcome(RunState.WAITING)
        if isinstance(error, LimitReached) and not is_stopped and not run.compacts:
            return RunOutcome(RunState.STOPPED, sentence("{reason} Go on?", reason=str(error)))
        reason = describe_run_failure(error, "the summary" if run.compacts else "the answer", run=run)
        if not is_stopped:
            return RunOutcome(RunState.FAILED, reason, _read_safely(read_provider_words, error))
    elif not is_stopped:
        _log.warning("run %s was cut off: its work was cancelled, and nobody had stopped it", run.id)
    return RunOutcome(requested or RunState.INTERRUPTED)


def is_cut_by_outage(work: asyncio.Task[None]) -> bool:
    """Return whether the work failed because the database did not answer."""
    return work.done() and not work.cancelled() and isinstance(work.exception(), StoreUnavailableError)


def describe_run_failure(error: BaseException, place: str, *, run: Run) -> str:
    """Describe any failure in a sentence for people, and log it with the failed part of the run.

    The log gets the provider's words as a single bounded line without keys. Other errors may quote a conversation, so
    the log gets only their class and place in the code.
    """
    try:
        if isinstance(error, LimitReached):
            return str(error)
        reason = str(error) if isinstance(error, StateError | AnswerCutOff) else describe_model_error(error)
    except BaseException as broken:  # noqa: BLE001  the error path itself: the run must end all the same
        _log.error("run %s: a failure could not be described: %s", run.id, locate_error(broken))
        reason = _UNKNOWN_TEXT
    words = str(error) if isinstance(error, StateError | AnswerCutOff) else _read_safely(read_provider_words, error)
    words = error.place if isinstance(error, OwnCodeError) else words
    cause = f"{type(error).__qualname__}: {words}" if words else locate_error(error)
    _log.warning("run %s failed in %s: %s", run.id, place, cause)
    if isinstance(error, AnswerCutOff):
        return reason
    return sentence("{reason} (reference {reference})", reason=reason, reference=run.id[:8])


def describe_helper_failure(error: BaseException, place: str, *, run: Run) -> HelperFailure:
    """Describe the failure of a sub-agent or a branch. The run continues, so the helper keeps the provider's words."""
    return HelperFailure(describe_run_failure(error, place, run=run), _read_safely(read_provider_words, error))


def _read_safely(read: Callable[[BaseException], str | None], error: BaseException) -> str | None:
    """Return the provider's words in an error. Return None if there are none, or if reading them fails."""
    try:
        return read(error)
    except BaseException as broken:  # noqa: BLE001  as above
        _log.error("a provider's words could not be read: %s", locate_error(broken))
        return None


def locate_error(error: BaseException) -> str:
    """Return the class and the place of an error for the log, without its text: only texts of outages quote no
    conversation.
    """
    if isinstance(error, StoreUnavailableError | TakesTooLongError):
        return str(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__qualname__}{place}"
