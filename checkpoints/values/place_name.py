"""A position in a conversation, as a fact. `components.views.places` writes the words."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

PlaceKind = Literal["branch", "checkpoint", "message", "current"]
PLACE_KINDS: Final[tuple[PlaceKind, ...]] = get_args(PlaceKind)


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A kind of position, and the name of the branch or checkpoint there."""

    # None: `name` is in English words, as earlier versions stored it.
    kind: PlaceKind | None
    name: str = ""
