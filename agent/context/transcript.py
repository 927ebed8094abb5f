"""A conversation as data inside a request: JSON between two tags that JSON cannot contain."""

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from agent.context.prompts import CONVERSATION
from checkpoints import MAIN, Message
from checkpoints.values import files
from checkpoints.values.text import shorten_for_model


def describe_message(stored: Message, max_chars: int, *, show_arguments: bool = True) -> dict[str, object]:
    """Return a message's role, text, calls and file names. Each text is shortened to about `max_chars` characters.

    Raises `DamagedMessageError`.
    """
    message = stored.langchain
    entry: dict[str, object] = {"role": {"human": "user", "ai": "assistant"}.get(stored.type, "note")}
    if isinstance(message, ToolMessage):
        entry = {"role": "tool", "tool": message.name or "tool"}
    entry["text"] = shorten_for_model(str(message.text), max_chars)
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = [_describe_call(call) if show_arguments else call["name"] for call in message.tool_calls]
        entry["calls"] = [shorten_for_model(call, max_chars) for call in calls]
    if attached := files.find_file_parts(message.content):
        entry["files"] = [part["name"] for part in attached]
    return entry


def _describe_call(call: ToolCall) -> str:
    return f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})"


def encode_entry(entry: object) -> str:
    """Return JSON without `<`, so it cannot contain a tag."""
    return json.dumps(entry, ensure_ascii=False).replace("<", "\\u003c")


def wrap_entries(entries: Sequence[str]) -> str:
    """Return encoded entries as a JSON list between two tags."""
    return CONVERSATION.wrap(f"[{', '.join(entries)}]")


def build_transcript(path: Sequence[Message], max_chars: int, max_message_chars: int, *, show_arguments: bool = True) -> str:
    """Return the end of the main agent's messages on a path, without damaged messages, as a JSON list between two tags."""
    entries: list[str] = []
    left = max_chars
    for stored in reversed(path):
        if stored.agent == MAIN and not stored.damaged:
            entry = encode_entry(describe_message(stored, max_message_chars, show_arguments=show_arguments))
            left -= len(entry)
            if entries and left < 0:
                break
            entries.insert(0, entry)
    return wrap_entries(entries)
