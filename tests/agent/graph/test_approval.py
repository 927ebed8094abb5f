"""A person's decision, applied to a call: it runs as it was allowed, or it does not run."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import ToolCall

from agent.graph.approval import apply_decision, needs_decision
from agent.graph.state import RunContext, ToolOutcome
from agent.tools.decisions import DENIED_TEXT, Decision, format_response
from tests.agent.graph.test_answer import Heard

CALL = ToolCall(name="send", args={"to": "ann"}, id="1")


def apply(decision: Decision | None) -> tuple[ToolOutcome, list[Any]]:
    """The outcome of the call, and the arguments that it ran with."""
    ran: list[Any] = []

    async def run_call(call: ToolCall) -> ToolOutcome:
        ran.append(call["args"])
        return ToolOutcome("Sent.")

    decisions = {decision.call_id: decision} if decision else {}
    context = RunContext(recorder=Heard(), decisions=decisions)
    return asyncio.run(apply_decision(CALL, context, run_call)), ran


@pytest.mark.parametrize("decision", [None, Decision("1", "allow"), Decision("2", "deny")])
def test_an_allowed_call_runs_unchanged_and_so_does_one_without_a_decision(decision: Decision | None) -> None:
    assert apply(decision) == (ToolOutcome("Sent."), [{"to": "ann"}])


def test_a_changed_call_runs_with_the_new_arguments_and_the_model_learns_of_them() -> None:
    outcome, ran = apply(Decision("1", "edit", {"to": "ben"}))
    assert (outcome, ran) == (ToolOutcome('(The user changed the arguments to {"to": "ben"}.)\nSent.'), [{"to": "ben"}])


def test_an_answered_call_does_not_run() -> None:
    decision = Decision("1", "respond", text="It is sent already.")
    assert apply(decision) == (ToolOutcome(format_response(decision)), [])


@pytest.mark.parametrize("kind", ["deny", "of a later version"])
def test_a_denied_call_and_one_with_an_unknown_decision_do_not_run(kind: Any) -> None:
    assert apply(Decision("1", kind)) == (ToolOutcome(DENIED_TEXT, is_failed=True), [])


def test_a_call_needs_a_decision_until_a_person_has_made_it() -> None:
    waiting, decided = (RunContext(recorder=Heard(), decisions=each) for each in ({}, {"1": Decision("1", "deny")}))
    assert [needs_decision(CALL, approval, (), waiting) for approval in ((), ("send",))] == [False, True]
    assert not needs_decision(CALL, ("send",), (), decided)
