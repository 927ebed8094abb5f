"""The demo model's summary: the first sentence of each message, and the sentences with numbers."""

import json
import re
from typing import Any

from agent.context.prompts import CONVERSATION, SUMMARY

DEMO_SUMMARY_LABEL = "(The demo's summary: first sentences, and those with numbers.)"
SUMMARY_OPENING = "\n<summary>\n"  # in the note that replaces the summarised messages
MAX_SENTENCE_CHARS = 160  # of a sentence
MAX_NUMBER_SENTENCES = 2  # of one message
MAX_SUMMARY_LINES = 40
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_HAS_CONTENT = re.compile(r"[^\W\d_]{2}|\d{2}")  # unlike the number of a list item
_SPEAKERS = {"user": "You", "assistant": "Agent", "tool": "Tool"}


def write_demo_summary(question: str) -> str:
    """Return the summary for a question of the compaction; the summary of earlier portions stays in front."""
    before = SUMMARY.extract(question)
    lines = json.loads(before).splitlines()[1:] if before else []
    entries: list[dict[str, Any]] = json.loads(CONVERSATION.extract(question) or "[]")
    for entry in entries:
        sentences = [found.strip() for found in _SENTENCE.findall(str(entry["text"])) if _HAS_CONTENT.search(found)]
        kept = [*sentences[:1], *[each for each in sentences[1:] if re.search(r"\d", each)][:MAX_NUMBER_SENTENCES]]
        if kept:
            text = " ".join(each[:MAX_SENTENCE_CHARS] for each in kept)
            lines.append(f"- {_SPEAKERS.get(str(entry['role']), 'Note')}: {text}")
    return "\n".join([DEMO_SUMMARY_LABEL, *lines[-MAX_SUMMARY_LINES:]])
