"""The demo model's decision to ask another agent, from words such as "ask the critic about my plan"."""

import re

_ASKED = re.compile(r"\bask the (\w+)\b(.*?)(?=\band ask the\b|\n|\Z)", re.IGNORECASE)
_JOINED = re.compile(r"\A(?:to|about|for|whether)\b")


def parse_questions(text: str) -> list[dict[str, str]]:
    """Return the agents and questions that a text names, as arguments of `ask_agent`."""
    questions = ((name.lower(), _JOINED.sub("", words.strip(" ,:")).strip(" ,.:")) for name, words in _ASKED.findall(text))
    return [{"agent": name, "question": question or "What do you think?"} for name, question in questions]
