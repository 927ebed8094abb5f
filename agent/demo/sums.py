"""The demo model's sums: the arithmetic in a text, for the calculator."""

import re

from agent.tools.calculator import KNOWN_NAMES, CalculatorError, parse_expression

_FUNCTION = "|".join(sorted(KNOWN_NAMES, key=len, reverse=True))
# Ids such as 8f9-6c contain no arithmetic.
_ARITHMETIC = re.compile(rf"(?<!\w)(?:\b(?:{_FUNCTION})\b|[\d.,+\-−*/%^×÷() \t])+(?!\w)")
_OPERATION = re.compile(r"(?:pi|[\d.)])\s*(?:\*\*|//|[+\-−*/%^×÷])\s*[-\d.(a-z]|[a-z0-9]\([^)]")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}")
# "3-4 people" and "24/7" are sums only in a question.
_RANGE = re.compile(r"\d+[-/]\d+")
_QUESTION = re.compile(r"what|how|calc|comput|evaluat|=|\A\s*[-\d/]+\s*\Z", re.IGNORECASE)
# A longer piece is a table of figures.
_MAX_ARITHMETIC_CHARS = 1000


def find_sums(text: str) -> list[str]:
    """Return the arithmetic pieces of the text, without dates."""
    found: list[str] = []
    for match in _ARITHMETIC.finditer(_DATE.sub("date", text)):
        if len(match[0]) > _MAX_ARITHMETIC_CHARS:
            continue
        piece = _trim_sum(match[0])
        found += [piece] if _is_sum(piece) else filter(_is_sum, map(_trim_sum, re.split(r"[,.]\s", piece)))
    is_question = _QUESTION.search(text) is not None
    return [each for each in dict.fromkeys(found) if is_question or not _RANGE.fullmatch(each)]


def _trim_sum(text: str) -> str:
    text = text.strip(" \t.,")
    while text.count(")") > text.count("(") and text.endswith(")"):
        text = text[:-1].rstrip(" .,")
    while text.count("(") > text.count(")") and text.startswith("("):
        text = text[1:].lstrip()
    return text


def _is_sum(text: str) -> bool:
    try:
        parse_expression(text)
    except CalculatorError:
        return False
    return _OPERATION.search(text) is not None
