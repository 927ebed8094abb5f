"""The note that a goto leaves: its text in three parts, and the part that the agent wrote."""

import re

from agent.marks import MoveMark
from agent.tools.fence import escape_tags
from checkpoints import Message, pluralize
from checkpoints.text import shorten

MAX_ORIGINAL_CHARS = 20_000
_ORIGINAL = re.compile(r"<original_message_to_be_ignored>\n(.*?)\n</original_message_to_be_ignored>", re.DOTALL)
_NOTE_TEXT = re.compile(r"<time_travel_message>\n(.*?)\n</time_travel_message>", re.DOTALL)
_NOTE_TAGS = ("system_message", "original_message_to_be_ignored", "time_travel_message")


def format_note(target: Message, removed_count: int, note: str) -> str:
    """Return the text of a goto's note: the move, the target's text, and the agent's own words."""
    removal = f"{pluralize(removed_count, 'message')} {'was' if removed_count == 1 else 'were'} removed"
    move = f"GOTO tool used: the conversation went back to msg_{target.depth}; {removal}."
    return (
        f"<system_message>\n{move}\n</system_message>\n"
        f"<original_message_to_be_ignored>\n{_quote_original(target)}\n</original_message_to_be_ignored>\n"
        f"<time_travel_message>\n{escape_tags(note.strip(), *_NOTE_TAGS)}\n</time_travel_message>"
    )


def _quote_original(target: Message) -> str:
    """Return the target's text. For a note, return the text that it quotes, so that notes are never nested."""
    text = str(target.langchain.text)
    if MoveMark.of(target) is not None and (match := _ORIGINAL.search(text)):
        return escape_tags(match[1], *_NOTE_TAGS)  # a note from a file was never escaped
    return escape_tags(shorten(text, MAX_ORIGINAL_CHARS), *_NOTE_TAGS)


def extract_note(text: str) -> str:
    """Return the agent's text in a note."""
    match = _NOTE_TEXT.search(text)
    return match[1] if match else text
