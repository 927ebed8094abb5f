"""Numbers for people, as assets/modules/lib/format.mjs writes them: “3.4k”, “$0.034”."""

from components.views.value_tree import format_size
from words import _

__all__ = ["format_decimal", "format_dollars", "format_number", "format_size"]


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
