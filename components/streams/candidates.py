"""Candidates as the page shows them: the answers of several models to the last question, side by side."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from checkpoints import MAIN, Candidate, Message, MessageNotFoundError, Run, RunState, Store, Thread
from components.services import Services
from components.views.message_view import MessageExtras, MessageView, UsageView, describe_messages
from words import say_error

# This many messages of an answer are read first. More are read if the question is not among them.
FIRST_READ_MESSAGES = 30


class AnswerView(TypedDict):
    number: int
    model: str
    state: RunState
    error: str | None
    details: str | None
    # It is the id of the last message.
    head: str | None
    # The conversation continues from this candidate.
    current: bool
    messages: list[MessageView]
    usage: UsageView | None


class CandidatesView(TypedDict):
    run: str
    answers: list[AnswerView]


def find_question(path: Sequence[Message]) -> int | None:
    """Return the index of the last question, if everything after it belongs to its run."""
    place = next((at for at, each in reversed(list(enumerate(path))) if each.type == "human" and each.agent == MAIN), None)
    if place is None or path[place].run_id is None or any(each.run_id != path[place].run_id for each in path[place:]):
        return None
    return place


def find_run(services: Services, question: Message, latest: Run | None) -> Run | None:
    """Return the run with several models for this question; None if only one model was asked."""
    if latest is not None and latest.id == question.run_id:
        run: Run | None = latest
    else:
        run = services.runs.get_run(question.run_id or "")
    return run if run is not None and run.candidates else None


def describe_candidates(services: Services, thread: Thread, run: Run, extras: MessageExtras) -> CandidatesView:
    answers = [_describe(services, thread, each, extras) for each in services.runs.list_candidates(run.id)]
    return {"run": run.id, "answers": answers}


def describe_candidate(services: Services, thread_id: str, run_id: str, number: int) -> AnswerView | None:
    thread = services.store.get_thread(thread_id)
    extras = MessageExtras(prices=services.prices, to_html=services.renderer.page())
    candidate = next((each for each in services.runs.list_candidates(run_id) if each.number == number), None)
    return None if candidate is None else _describe(services, thread, candidate, extras)


def _describe(services: Services, thread: Thread, candidate: Candidate, extras: MessageExtras) -> AnswerView:
    # This is the state of its open calls.
    state = RunState.RUNNING if candidate.state is RunState.RUNNING else RunState.STOPPED
    path = _read_answer(services.store, thread.id, candidate)
    messages = describe_messages(path, replace(extras, run_state=state))
    return {
        "number": candidate.number,
        "model": candidate.model,
        "state": candidate.state,
        "error": say_error(candidate.error),
        "details": candidate.error_details,
        "head": path[-1].id if path else None,
        "current": candidate.branch_id == thread.branch_id,
        "messages": messages,
        "usage": _add_usage([each["usage"] for each in messages if each["usage"]]),
    }


def _read_answer(store: Store, thread_id: str, candidate: Candidate) -> list[Message]:
    """Return the messages of a candidate; empty if they were erased."""
    if candidate.head_id is None:
        return []
    count = FIRST_READ_MESSAGES
    while True:
        try:
            path = store.list_messages_to(thread_id, candidate.head_id, last=count)
        except MessageNotFoundError:
            return []
        own = [each for each in path if each.run_id == candidate.run_id]
        if len(own) < len(path) or len(path) < count or own[0].type == "human":
            return [each for each in own if each.type != "human"]
        count *= 4


def _add_usage(usages: Sequence[UsageView]) -> UsageView | None:
    if not usages:
        return None
    costs = [each["cost"] for each in usages]
    return {
        "input": sum(each["input"] for each in usages),
        "cached": sum(each["cached"] for each in usages),
        "output": sum(each["output"] for each in usages),
        "reasoning": sum(each["reasoning"] for each in usages),
        "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
    }
