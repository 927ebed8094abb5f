"""The demo model's answers beside a conversation: a title, a verdict on a milestone, and a summary."""

import json
import re
from typing import Any

from agent.context.prompts import CONVERSATION, SUMMARY
from checkpoints.values.text import find_plain_line

MAX_TITLE_WORDS = 6
_OPENING = re.compile(
    r"\A(?:(?:hi|hello|hey)\b[\s,!.]+)?(?:please\s+)?(?:(?:can|could|would) you\s+)?(?:please\s+)?"
    r"(?:tell me(?: more)? about|(?:what|who|where|how|why)(?:'s| is| are| was| were)|explain|i want to)"
    r"\s+"
    r"(?:the\s+|an?\s+)?(?=\S)",
    re.IGNORECASE,
)
DEMO_VERDICT_REASON = "A tool was used. (The demo judges by nothing else.)"
DEMO_SUMMARY_LABEL = "(The demo's summary: first sentences, and those with numbers.)"
# Begins a part of the note that replaces the summarised messages.
SUMMARY_OPENING = "\n<summary>\n"
MAX_SENTENCE_CHARS = 160
# The limit for one message.
MAX_NUMBER_SENTENCES = 2
MAX_SUMMARY_LINES = 40
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
# A list item's number alone is no content.
_HAS_CONTENT = re.compile(r"[^\W\d_]{2}|\d{2}")
_SPEAKERS = {"user": "You", "assistant": "Agent", "tool": "Tool"}


def write_demo_title(question: str) -> str:
    """Return the title for a question about a conversation's beginning."""
    entries = json.loads(CONVERSATION.extract(question) or "")
    line = find_plain_line(str(entries[0]["text"]))
    words = _OPENING.sub("", line).rstrip(" ?!.,:;").split()[:MAX_TITLE_WORDS] or line.split()[:MAX_TITLE_WORDS]
    title = " ".join(words).rstrip(" ?!.,:;")
    return (title[:1].upper() + title[1:]) or "New conversation"


def write_demo_verdict(question: str) -> str | None:
    """Return the verdict for a question of the judge as JSON, or None for other texts."""
    conversation = CONVERSATION.extract(question)
    if conversation is None or question != CONVERSATION.wrap(conversation):
        return None
    try:
        entries: list[dict[str, Any]] = json.loads(conversation)
        last_question = max((index for index, entry in enumerate(entries) if entry["role"] == "user"), default=0)
        used_tool = any(entry["role"] == "tool" for entry in entries[last_question:])
        name = " ".join(entries[last_question]["text"].split())
    # The user typed the tag.
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    if not used_tool:
        return json.dumps({"should_save": False, "reason": "No tool was used.", "suggested_name": ""})
    return json.dumps({"should_save": True, "reason": DEMO_VERDICT_REASON, "suggested_name": name}, ensure_ascii=False)


def write_demo_summary(question: str) -> str:
    """Return the summary for a question of the compaction. The summary of earlier portions stays in front."""
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
