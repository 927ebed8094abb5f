"""The name of a position of a conversation, as a fact: components.views.places makes the words for it."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

PlaceKind = Literal["branch", "checkpoint", "message", "current"]
PLACE_KINDS: Final[tuple[PlaceKind, ...]] = get_args(PlaceKind)


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A kind of position, and the name of the branch or checkpoint there."""

    kind: PlaceKind | None  # None: `name` is in English words, as versions before this kept them
    name: str = ""
