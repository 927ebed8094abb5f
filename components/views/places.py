"""Words for a position of a conversation."""

from typing import Final

from checkpoints.values.place_name import PlaceKind, PlaceName
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
