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

    `cached_usd` None: input read from a cache costs the same as other input.
    """

    input_usd: float
    output_usd: float
    cached_usd: float | None = None


Prices = Mapping[str, ModelPrice]  # by the model's spec, as openai:NAME


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one or more answers as their providers counted them, and the cost of those that have a price."""

    input: int = 0
    cached: int = 0  # of the input
    output: int = 0
    reasoning: int = 0  # of the output
    answers: int = 0
    priced: int = 0  # of the answers
    cost: float = 0.0  # US dollars, of the priced ones

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
    """Return the usage of an answer. Return None for other messages, and where its provider reported none."""
    data = stored.body["data"]
    counted = data.get("usage_metadata")
    if stored.type != "ai" or not isinstance(counted, dict):
        return None
    return count_usage(counted, read_spec(data.get("response_metadata")), prices)


def count_usage(counted: Mapping[str, Any], spec: str, prices: Prices) -> Usage:
    """Return the usage of one answer of a model, as LangChain counts it."""
    return price_tokens(count_tokens(counted), spec, prices, 1)


def price_tokens(tokens: TokenCounts, spec: str, prices: Prices, answers: int) -> Usage:
    """Return the usage of answers of one model, with the cost of their tokens."""
    usage = Usage(tokens.input, tokens.cached, tokens.output, tokens.reasoning, answers)
    price = prices.get(spec)
    return usage if price is None else usage + Usage(priced=answers, cost=_compute_cost(usage, price))


def _compute_cost(usage: Usage, price: ModelPrice) -> float:
    cached = price.input_usd if price.cached_usd is None else price.cached_usd
    fresh = max(0, usage.input - usage.cached)
    return (fresh * price.input_usd + usage.cached * cached + usage.output * price.output_usd) / TOKENS_PER_PRICE
