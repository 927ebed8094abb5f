"""Message rules of some Chat Completions servers. OpenAI's service does not have them."""

import hashlib
import re
from typing import Any

CALL_ID_CHARS = 9
NO_ANSWER = "(No answer.)"
_SHORT_ID = re.compile(rf"[a-zA-Z0-9]{{{CALL_ID_CHARS}}}")


def shorten_call_ids(messages: list[dict[str, Any]]) -> None:
    """Replace ids of calls and results by ids of nine letters and digits, as Mistral requires."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            call["id"] = _shorten_id(call["id"])
        if message["role"] == "tool":
            message["tool_call_id"] = _shorten_id(message["tool_call_id"])


def answer_results(messages: list[dict[str, Any]]) -> None:
    """Insert an answer between a result and a user's message, since Mistral refuses them side by side."""
    for at in range(len(messages) - 1, 0, -1):
        if messages[at]["role"] == "user" and messages[at - 1]["role"] == "tool":
            messages.insert(at, {"role": "assistant", "content": NO_ANSWER})


def join_questions(messages: list[dict[str, Any]]) -> None:
    """Join consecutive user messages, since some models' templates require an answer between two."""
    for at in range(len(messages) - 1, 0, -1):
        if messages[at]["role"] == messages[at - 1]["role"] == "user":
            first, second = messages[at - 1]["content"], messages.pop(at)["content"]
            is_text = isinstance(first, str) and isinstance(second, str)
            messages[at - 1]["content"] = f"{first}\n\n{second}" if is_text else [*_list_parts(first), *_list_parts(second)]


def _list_parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _shorten_id(identifier: str) -> str:
    """Keep a short id. Otherwise derive a short id from its hash, the same each time."""
    digest = hashlib.sha256(identifier.encode()).hexdigest()
    return identifier if _SHORT_ID.fullmatch(identifier) else digest[:CALL_ID_CHARS]
