"""The tokens of an answer, as LangChain counts them."""

from collections.abc import Mapping
from dataclasses import dataclass

from .limits import to_tokens


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of answers. The input includes `cached`, the output includes `reasoning`."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0


def count_tokens(counted: object) -> TokenCounts:
    """Parse `usage_metadata`. An imported file may hold any value in its place."""
    return TokenCounts(
        _read_count(counted, "input_tokens"),
        _read_count(_read(counted, "input_token_details"), "cache_read"),
        _read_count(counted, "output_tokens"),
        _read_count(_read(counted, "output_token_details"), "reasoning"),
    )


def _read_count(counted: object, name: str) -> int:
    return to_tokens(_read(counted, name)) or 0


def _read(counted: object, name: str) -> object:
    return counted.get(name) if isinstance(counted, Mapping) else None
