"""The demo model's reading: it copies the lines that share the most words with a question."""

import re
from collections.abc import Sequence

MAX_MATCHING_LINES = 3
MIN_MATCHING_WORDS = 3  # of the question that a line must hold
_NOTE = re.compile(r"<time_travel_message>(.*?)</time_travel_message>", re.DOTALL)


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
