"""How the demo model judges: a turn in which a tool was used is a milestone, and nothing else is."""

import json
from typing import Any

from agent.context.prompts import CONVERSATION, CONVERSATION_END

DEMO_VERDICT_REASON = "A tool was used. (The demo judges by nothing else.)"
MAX_VERDICT_NAME_CHARS = 60  # characters


def write_demo_verdict(question: str) -> str | None:
    """The answer to a question of the judge, as the JSON that it asks for; None for any other text."""
    if not (question.startswith(f"{CONVERSATION}\n") and question.endswith(CONVERSATION_END)):
        return None
    try:
        entries: list[dict[str, Any]] = json.loads(question.removeprefix(CONVERSATION).removesuffix(CONVERSATION_END))
        asked = max((index for index, entry in enumerate(entries) if entry["role"] == "user"), default=0)
        used = any(entry["role"] == "tool" for entry in entries[asked:])
        name = " ".join(entries[asked]["text"].split())[:MAX_VERDICT_NAME_CHARS]
    except (ValueError, TypeError, KeyError, IndexError):  # somebody typed the mark
        return None
    if not used:
        return json.dumps({"should_save": False, "reason": "No tool was used.", "suggested_name": ""})
    return json.dumps({"should_save": True, "reason": DEMO_VERDICT_REASON, "suggested_name": name}, ensure_ascii=False)
