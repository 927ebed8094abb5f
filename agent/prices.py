"""What answers took, and what that cost where the price of their model is set. An unknown price is never guessed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkpoints import Message
from checkpoints.limits import to_tokens

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Of a model, in US dollars per million tokens. `cached` None: input read from a cache costs what other input does."""

    input: float
    output: float
    cached: float | None = None


Prices = Mapping[str, Price]  # by the model's spec, as openai:NAME


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one or more answers as their providers counted them, and what those cost that have a price."""

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


def usage_of(stored: Message, prices: Prices) -> Usage | None:
    """What an answer took; None where its provider did not tell, and for what is no answer."""
    data = stored.body["data"]
    counted = data.get("usage_metadata")
    if stored.type != "ai" or not isinstance(counted, dict):
        return None
    usage = Usage(
        _tokens(counted, "input_tokens"),
        _tokens(counted.get("input_token_details"), "cache_read"),
        _tokens(counted, "output_tokens"),
        _tokens(counted.get("output_token_details"), "reasoning"),
        answers=1,
    )
    price = prices.get(str((data.get("response_metadata") or {}).get("spec")))
    return usage if price is None else usage + Usage(priced=1, cost=_cost(usage, price))


def _cost(usage: Usage, price: Price) -> float:
    cached = price.input if price.cached is None else price.cached
    fresh = max(0, usage.input - usage.cached)
    return (fresh * price.input + usage.cached * cached + usage.output * price.output) / MILLION


def _tokens(counted: Any, name: str) -> int:
    """A file that was imported may say anything."""
    return (to_tokens(counted.get(name)) if isinstance(counted, dict) else None) or 0
