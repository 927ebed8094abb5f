"""The demo model's verdict: a turn with a tool call is a milestone, and no other turn is."""

import json
from typing import Any

from agent.context.prompts import CONVERSATION

DEMO_VERDICT_REASON = "A tool was used. (The demo judges by nothing else.)"
MAX_VERDICT_NAME_CHARS = 60


def write_demo_verdict(question: str) -> str | None:
    """Return the verdict for a question of the judge as JSON; None for any other text."""
    conversation = CONVERSATION.extract(question)
    if conversation is None or question != CONVERSATION.wrap(conversation):
        return None
    try:
        entries: list[dict[str, Any]] = json.loads(conversation)
        last_question = max((index for index, entry in enumerate(entries) if entry["role"] == "user"), default=0)
        used_tool = any(entry["role"] == "tool" for entry in entries[last_question:])
        name = " ".join(entries[last_question]["text"].split())[:MAX_VERDICT_NAME_CHARS]
    except (ValueError, TypeError, KeyError, IndexError):  # the user typed the tag
        return None
    if not used_tool:
        return json.dumps({"should_save": False, "reason": "No tool was used.", "suggested_name": ""})
    return json.dumps({"should_save": True, "reason": DEMO_VERDICT_REASON, "suggested_name": name}, ensure_ascii=False)
