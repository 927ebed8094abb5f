"""The demo model's title: the first words of the question, without those that begin any question."""

import json
import re

from agent.context.prompts import CONVERSATION
from checkpoints.values.text import find_plain_line

MAX_TITLE_WORDS = 6
_OPENING = re.compile(
    r"\A(?:(?:hi|hello|hey)\b[\s,!.]+)?(?:please\s+)?(?:(?:can|could|would) you\s+)?(?:please\s+)?"
    r"(?:tell me(?: more)? about|(?:what|who|where|how|why)(?:'s| is| are| was| were)|explain|i want to)"
    r"\s+"
    r"(?:the\s+|an?\s+)?(?=\S)",
    re.IGNORECASE,
)


def write_demo_title(question: str) -> str:
    """Return the title for a question about a conversation's beginning."""
    entries = json.loads(CONVERSATION.extract(question) or "")
    line = find_plain_line(str(entries[0]["text"]))
    words = _OPENING.sub("", line).rstrip(" ?!.,:;").split()[:MAX_TITLE_WORDS] or line.split()[:MAX_TITLE_WORDS]
    title = " ".join(words).rstrip(" ?!.,:;")
    return (title[:1].upper() + title[1:]) or "New conversation"
