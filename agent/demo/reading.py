"""The demo model's reading of a text: questions to agents, attempts, and matching lines."""

import json
import re
from collections.abc import Sequence

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
