"""What answers took is what their providers told, and what they cost is said only where their price is set."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agent.context.prices import ModelPrice, Usage, read_usage
from tests.agent.context.test_request import done

PRICES = {
    "openai:small": ModelPrice(input_usd=0.25, cached_usd=0.025, output_usd=2.0),
    "openai:plain": ModelPrice(input_usd=1.0, output_usd=4.0),
}


def answer(spec: str | None, **usage: Any) -> AIMessage:
    told: Any = {"input_tokens": 1_000_000, "output_tokens": 500_000, "total_tokens": 1_500_000} | usage
    return AIMessage("yes", usage_metadata=told, response_metadata={"spec": spec} if spec else {})


def usage(message: Any) -> Usage | None:
    return read_usage(done(message)[0], PRICES)


def test_cached_input_costs_its_own_price_and_reasoning_is_output() -> None:
    details = {"input_token_details": {"cache_read": 400_000}, "output_token_details": {"reasoning": 100_000}}
    cost = 0.6 * 0.25 + 0.4 * 0.025 + 0.5 * 2.0
    expected = Usage(1_000_000, 400_000, 500_000, 100_000, answers=1, priced=1, cost=pytest.approx(cost))
    assert usage(answer("openai:small", **details)) == expected


def test_cached_input_without_a_price_of_its_own_costs_what_other_input_does() -> None:
    found = usage(answer("openai:plain", input_token_details={"cache_read": 400_000}))
    assert found is not None
    assert found.cost == pytest.approx(3.0)


@pytest.mark.parametrize("spec", [None, "openai:other", "demo"])
def test_an_unknown_price_is_no_price(spec: str | None) -> None:
    found = usage(answer(spec))
    assert found is not None
    assert (found.answers, found.priced, found.cost) == (1, 0, 0)


@pytest.mark.parametrize("message", [HumanMessage("a"), AIMessage("no usage told")])
def test_what_told_no_usage_has_none(message: Any) -> None:
    assert usage(message) is None


def test_a_sum_says_how_many_of_its_answers_have_a_price() -> None:
    taken = [usage(answer(spec)) for spec in ("openai:plain", "openai:other")]
    total = sum(filter(None, taken), Usage())
    assert (total.input, total.answers, total.priced, total.cost) == (2_000_000, 2, 1, pytest.approx(3.0))
