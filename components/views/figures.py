"""Numbers for people, as assets/modules/words/format.mjs writes them: “3.4k”, “$0.034”."""

from collections.abc import Sequence

from agent.context.prices import Usage
from agent.models.providers import shorten_spec
from components.views.value_tree import format_size
from words import _, ngettext

__all__ = [
    "count_messages",
    "count_tokens",
    "describe_usage",
    "format_decimal",
    "format_dollars",
    "format_duration",
    "format_number",
    "format_size",
    "name_models",
]


def format_decimal(number: float, places: int) -> str:
    return f"{number:.{places}f}".replace(".", _("1.5")[1])


def format_number(number: int) -> str:
    """Write a number in few letters: “12”, “3.4k”, “61M”."""
    if number < 1_000:
        return str(number)
    size, unit = (number / 1_000, _("k")) if number < 999_500 else (number / 1_000_000, _("M"))
    return f"{format_decimal(size, 1 if size < 9.95 else 0)}{unit}"


def format_dollars(dollars: float) -> str:
    """Write an amount: “$1.20”, “$0.034”, “$0.0012”."""
    if 0 < dollars < 0.0001:
        return _("under $0.0001")
    places = 2 if dollars >= 1 or dollars == 0 else 3 if dollars >= 0.01 else 4
    return _("${dollars}", dollars=format_decimal(dollars, places))


def format_duration(milliseconds: int) -> str:
    """Write a duration: “850 ms”, “3.4 s”, “1 min 20 s”."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 9_950:
        return f"{format_decimal(milliseconds / 1_000, 1)} s"
    seconds = round(milliseconds / 1_000)
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


def describe_usage(used: Usage) -> str:
    """Describe tokens: “1.2k tokens in (1.0k cached), 340 tokens out (120 reasoning)”."""
    read = {"input": count_tokens(used.input), "cached": format_number(used.cached)}
    written = {"output": count_tokens(used.output), "reasoning": format_number(used.reasoning)}
    parts = [
        _("{input} in ({cached} cached)", **read) if used.cached else _("{input} in", **read),
        _("{output} out ({reasoning} reasoning)", **written) if used.reasoning else _("{output} out", **written),
    ]
    return ", ".join(parts)


def count_messages(count: int) -> str:
    return ngettext("{count} message", "{count} messages", count, count=format_number(count))


def count_tokens(count: int) -> str:
    return ngettext("{count} token", "{count} tokens", count, count=format_number(count))


def name_models(specs: Sequence[str]) -> list[str]:
    """Return the short name of each model, the whole where another has the same."""
    names = [shorten_spec(spec) for spec in specs]
    return [name if names.count(name) == 1 else spec for name, spec in zip(names, specs, strict=True)]
