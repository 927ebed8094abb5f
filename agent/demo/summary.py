"""How the demo model summarises: of each message the first sentence, and the sentences with numbers in them."""

import json
import re
from typing import Any

from agent.context.prompts import CONVERSATION, CONVERSATION_END, SUMMARY, SUMMARY_END

DEMO_SUMMARY_LABEL = "(The demo's summary: first sentences, and those with numbers.)"
SUMMARY_OPENING = "\n<summary>\n"  # in a note that stands for what was summarised
MAX_SENTENCE_CHARS = 160  # characters of a sentence
MAX_NUMBER_SENTENCES = 2  # of one message
MAX_SUMMARY_LINES = 40
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_SAYS_SOMETHING = re.compile(r"[^\W\d_]{2}|\d{2}")  # unlike the number of a list's item
_SPEAKERS = {"user": "You", "assistant": "Agent", "tool": "Tool"}


def write_demo_summary(question: str) -> str:
    """The answer to a question of the compaction; what it wrote of earlier portions stays in front."""
    before = _extract_between(question, SUMMARY, SUMMARY_END)
    lines = json.loads(before).splitlines()[1:] if before else []
    entries: list[dict[str, Any]] = json.loads(_extract_between(question, CONVERSATION, CONVERSATION_END) or "[]")
    for entry in entries:
        sentences = [found.strip() for found in _SENTENCE.findall(str(entry["text"])) if _SAYS_SOMETHING.search(found)]
        kept = [*sentences[:1], *[each for each in sentences[1:] if re.search(r"\d", each)][:MAX_NUMBER_SENTENCES]]
        if kept:
            said = " ".join(each[:MAX_SENTENCE_CHARS] for each in kept)
            lines.append(f"- {_SPEAKERS.get(str(entry['role']), 'Note')}: {said}")
    return "\n".join([DEMO_SUMMARY_LABEL, *lines[-MAX_SUMMARY_LINES:]])


def _extract_between(text: str, begin: str, end: str) -> str:
    found = re.search(rf"^{begin}\n(.*?)\n{end}$", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""
