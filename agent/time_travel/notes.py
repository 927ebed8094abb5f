"""The note that a goto leaves: its text in three parts, and the part that the agent wrote."""

import re

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle, format_number
from agent.fence import escape_tags
from agent.marks import MoveMark
from checkpoints import Message, pluralize
from checkpoints.values.text import shorten, shorten_line

MAX_KEPT_QUOTE_CHARS = 200  # of a target that stays, right before the note
MAX_ORIGINAL_CHARS = 2_000  # of a target that the note replaces
_QUOTED_SHARE = 5  # a note quotes at most a fifth of a long target that it replaces
_ORIGINAL = re.compile(r"<original_message_to_be_ignored>\n(.*?)\n</original_message_to_be_ignored>", re.DOTALL)
_NOTE_TEXT = re.compile(r"<time_travel_message>\n(.*?)\n</time_travel_message>", re.DOTALL)
_NOTE_TAGS = ("system_message", "original_message_to_be_ignored", "time_travel_message")


def format_note(
    target: Message,
    removed_count: int,
    note: str,
    *,
    keep_target: bool = True,
    numbers: NumberStyle = DEFAULT_NUMBERS,
) -> str:
    """Return the text of a goto's note: the move, a quotation of the target, and the agent's own words.

    A target that stays is quoted in one line. Otherwise a note would cost more than the removed messages.
    """
    removal = f"{pluralize(removed_count, 'message')} {'was' if removed_count == 1 else 'were'} removed"
    place = "this place" if numbers == "off" else format_number(target.depth, numbers)
    move = f"GOTO tool used: the conversation went back to {place}; {removal}."
    original = _quote_original(target, keep_target=keep_target)
    return (
        f"<system_message>\n{move}\n</system_message>\n"
        f"<original_message_to_be_ignored>\n{original}\n</original_message_to_be_ignored>\n"
        f"<time_travel_message>\n{escape_tags(note.strip(), *_NOTE_TAGS)}\n</time_travel_message>"
    )


def _quote_original(target: Message, *, keep_target: bool) -> str:
    """Return the beginning of the target. For a note, quote the text that it quotes, so that notes are never nested."""
    text = str(target.langchain.text)
    if MoveMark.of(target) is not None and (match := _ORIGINAL.search(text)):
        text = match[1]  # a note from a file was never escaped
    if keep_target:
        return escape_tags(shorten_line(text, MAX_KEPT_QUOTE_CHARS), *_NOTE_TAGS)
    max_chars = min(MAX_ORIGINAL_CHARS, max(MAX_KEPT_QUOTE_CHARS, len(text) // _QUOTED_SHARE))
    return escape_tags(shorten(text, max_chars), *_NOTE_TAGS)


def extract_note(text: str) -> str:
    """Return the agent's text in a note."""
    match = _NOTE_TEXT.search(text)
    return match[1] if match else text
