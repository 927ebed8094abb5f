"""The note that a goto leaves: its text in three parts, and the agent's own part."""

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle, format_number
from agent.fence import TagPair, escape_tags
from agent.marks import MoveMark
from checkpoints import Message, pluralize
from checkpoints.values.text import shorten, shorten_line

# The limit for a target that stays, right before the note.
MAX_KEPT_QUOTE_CHARS = 200
# The limit for a target that the note replaces.
MAX_ORIGINAL_CHARS = 2_000
# A note quotes at most a fifth of a long target that it replaces.
_QUOTED_SHARE = 5
_MOVE = TagPair("system_message")
# The search finds every note of a goto by these words.
NOTE_PHRASE = "GOTO tool used"
_ORIGINAL = TagPair("original_message_to_be_ignored")
_NOTE = TagPair("time_travel_message")
_NOTE_TAGS = (_MOVE.name, _ORIGINAL.name, _NOTE.name)


def format_note(
    target: Message,
    removed_count: int,
    note: str,
    *,
    keep_target: bool = True,
    numbers: NumberStyle = DEFAULT_NUMBERS,
) -> str:
    """Return the text of a goto's note: the move, a quotation of the target, and the agent's own words.

    A target that stays is quoted in one line, or the note would cost more than the removed messages.
    """
    removal = f"{pluralize(removed_count, 'message')} {'was' if removed_count == 1 else 'were'} removed"
    place = "this place" if numbers == "off" else format_number(target.depth, numbers)
    move = f"{NOTE_PHRASE}: the conversation went back to {place}; {removal}."
    original = _quote_original(target, keep_target=keep_target)
    return "\n".join([_MOVE.wrap(move), _ORIGINAL.wrap(original), _NOTE.wrap(escape_tags(note.strip(), *_NOTE_TAGS))])


def _quote_original(target: Message, *, keep_target: bool) -> str:
    """Return the beginning of the target. For a note, return its quoted text, so notes never nest."""
    text = str(target.langchain.text)
    if MoveMark.of(target) is not None and (quoted := _ORIGINAL.extract(text)) is not None:
        # A note from a file was never escaped.
        text = quoted
    if keep_target:
        return escape_tags(shorten_line(text, MAX_KEPT_QUOTE_CHARS), *_NOTE_TAGS)
    max_chars = min(MAX_ORIGINAL_CHARS, max(MAX_KEPT_QUOTE_CHARS, len(text) // _QUOTED_SHARE))
    return escape_tags(shorten(text, max_chars), *_NOTE_TAGS)


def extract_note(text: str) -> str:
    """Return the agent's text in a note."""
    note = _NOTE.extract(text)
    return text if note is None else note
