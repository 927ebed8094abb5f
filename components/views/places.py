"""Words for a position of a conversation."""

from typing import Final

from agent.marks import MoveMark, SummaryMark
from checkpoints import Message
from checkpoints.values.place_name import PlaceKind, PlaceName
from checkpoints.values.text import shorten_line
from components.views.shown_text import MAX_BEGINNING_CHARS
from words import N_, _

_WORDS: Final[dict[PlaceKind, str]] = {
    "branch": N_("branch “{name}”"),
    "checkpoint": N_("checkpoint “{name}”"),
    "message": N_("another place"),
    "current": N_("current position"),
}


def describe_place_name(place: PlaceName) -> str:
    """Return the words for a position. Older versions recorded only words, which are returned unchanged."""
    return place.name if place.kind is None else _(_WORDS[place.kind], name=place.name)


def name_message(message: Message) -> str:
    """Name a message as the page does. A note's text is for the model, so it is not shown."""
    if message.damaged:
        return ""
    if MoveMark.of(message) is not None:
        return _("Agent went back")
    if SummaryMark.of(message) is not None:
        return _("Summary")
    return shorten_line(str(message.langchain.text), MAX_BEGINNING_CHARS)
