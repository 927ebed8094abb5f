"""Tokens and costs of answers. An unknown price is never guessed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkpoints import Message
from checkpoints.values.answer_spec import read_spec
from checkpoints.values.token_counts import TokenCounts, count_tokens

TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of a model in US dollars per million tokens.

    If `cached_usd` is None, input from a cache costs the same as other input.
    """

    input_usd: float
    output_usd: float
    cached_usd: float | None = None


# Keys are specs, such as openai:NAME.
Prices = Mapping[str, ModelPrice]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of answers by their providers' counts, and the cost of answers with a known price."""

    input: int = 0
    # Part of the input.
    cached: int = 0
    output: int = 0
    # Part of the output.
    reasoning: int = 0
    answers: int = 0
    # Number of answers with a price, and their cost in US dollars.
    priced: int = 0
    cost: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.answers + other.answers,
            self.priced + other.priced,
            self.cost + other.cost,
        )


def read_usage(stored: Message, prices: Prices) -> Usage | None:
    """Return the usage of an answer, or None for other messages and for answers without a report."""
    data = stored.body["data"]
    counted = data.get("usage_metadata")
    if stored.type != "ai" or not isinstance(counted, dict):
        return None
    return count_usage(counted, read_spec(data.get("response_metadata")), prices)


def count_usage(counted: Mapping[str, Any], spec: str, prices: Prices) -> Usage:
    """Return the usage of a model's answer from LangChain's counts."""
    return price_tokens(count_tokens(counted), spec, prices, 1)


def price_tokens(tokens: TokenCounts, spec: str, prices: Prices, answers: int) -> Usage:
    """Return the usage of a model's answers, with the cost of their tokens."""
    usage = Usage(tokens.input, tokens.cached, tokens.output, tokens.reasoning, answers)
    price = prices.get(spec)
    return usage if price is None else usage + Usage(priced=answers, cost=_compute_cost(usage, price))


def _compute_cost(usage: Usage, price: ModelPrice) -> float:
    cached = price.input_usd if price.cached_usd is None else price.cached_usd
    fresh = max(0, usage.input - usage.cached)
    return (fresh * price.input_usd + usage.cached * cached + usage.output * price.output_usd) / TOKENS_PER_PRICE
