"""The use of budgets is written while a run waits for a decision, and read by the run that goes on."""

import pytest

from agent.graph.budgets import MAIN_KEY, Budget, LimitReached, parse_usage, write_usage
from agent.marks import CallKey

BUDGET = Budget(answers=9, calls=9, seconds=60.0)
KEY = CallKey("ann", "call_1")


def test_what_is_written_is_read_with_every_agent() -> None:
    usage = parse_usage(None, BUDGET, BUDGET)
    usage.answers, usage.calls, usage.branches = 5, 4, 3
    usage.find_own(MAIN_KEY, BUDGET).answers = 2
    usage.find_own(KEY, BUDGET).calls = 1
    again = parse_usage(write_usage(usage), BUDGET, BUDGET)
    assert (again.answers, again.calls, again.branches) == (5, 4, 3)
    assert {key: (own.answers, own.calls) for key, own in again.own.items()} == {MAIN_KEY: (2, 0), KEY: (0, 1)}


def test_the_wait_does_not_count_and_the_work_before_it_does() -> None:
    usage = parse_usage(None, BUDGET, BUDGET)
    usage.earlier_seconds = 61.0
    again = parse_usage(write_usage(usage), BUDGET, BUDGET)
    assert 61.0 <= again.earlier_seconds < 70.0
    with pytest.raises(LimitReached, match="60 seconds"):
        again.check_answer()


def test_other_limits_hold_at_once() -> None:
    usage = parse_usage(None, BUDGET, BUDGET)
    usage.answers = 5
    with pytest.raises(LimitReached, match="limit of 4 answers"):
        parse_usage(write_usage(usage), Budget(4, 9, 60.0), BUDGET).check_answer()
