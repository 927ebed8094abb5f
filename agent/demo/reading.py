"""The demo model's reading of a text: questions to agents, attempts, matching lines, and sums for the calculator."""

import json
import re
from collections.abc import Sequence

from agent.tools.calculator import KNOWN_NAMES, CalculatorError, parse_expression
from checkpoints.values.text import shorten_line

_ASKED = re.compile(r"\bask the (\w+)\b(.*?)(?=\band ask the\b|\n|\Z)", re.IGNORECASE)
_JOINED = re.compile(r"\A(?:to|about|for|whether)\b")
# Limits an attempt's answer.
MAX_ATTEMPT_CHARS = 300
_ATTEMPTS = re.compile(r"\btry \w+ ways: *([^\n]+)", re.IGNORECASE)
MAX_MATCHING_LINES = 3
# A line must hold this many words of the question.
MIN_MATCHING_WORDS = 3
_NOTE = re.compile(r"<time_travel_message>(.*?)</time_travel_message>", re.DOTALL)
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


def parse_questions(text: str) -> list[dict[str, str]]:
    """Return the agents and questions that a text names, as arguments of `ask_agent`."""
    questions = ((name.lower(), _JOINED.sub("", words.strip(" ,:")).strip(" ,.:")) for name, words in _ASKED.findall(text))
    return [{"agent": name, "question": question or "What do you think?"} for name, question in questions]


def parse_attempts(text: str) -> list[str]:
    """Return the prompts in a text such as "try two ways: tea; coffee"."""
    match = _ATTEMPTS.search(text)
    return [prompt.strip(" .") for prompt in match[1].split(";") if prompt.strip(" .")] if match else []


def describe_attempts(result: str) -> str:
    """Return each attempt with the beginning of its result."""
    try:
        attempts = [(each["branch"], each.get("answer") or f"failed: {each['failed']}") for each in json.loads(result)]
    # The user answered instead of the tool.
    except (ValueError, TypeError, KeyError, AttributeError):
        return result
    lines = [
        f"{number}. **{name}**: {shorten_line(text, MAX_ATTEMPT_CHARS)}" for number, (name, text) in enumerate(attempts, 1)
    ]
    return "I tried each on a branch of its own. I am the demo and cannot say which is best:\n\n" + "\n".join(lines)


def find_matching_lines(question: str, text: str) -> list[str]:
    """Return the lines of a text that match the question, in their order."""
    wanted = _split_words(question)
    scores = [(len(wanted & _split_words(line)), index) for index, line in enumerate(text.splitlines())]
    best = sorted((score for score in scores if score[0] >= MIN_MATCHING_WORDS), reverse=True)[:MAX_MATCHING_LINES]
    return [text.splitlines()[index].lstrip("> ") for index in sorted(index for _, index in best)]


def find_quoted_lines(answers: Sequence[str]) -> list[str]:
    """Return the lines that earlier answers quoted."""
    return [line.removeprefix("> ") for answer in answers for line in answer.splitlines() if line.startswith("> ")]


def read_notes(texts: Sequence[str]) -> str:
    """Return the texts of the notes of earlier moves."""
    return "\n".join(note for text in texts for note in _NOTE.findall(text))


def _split_words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.lower()))


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
