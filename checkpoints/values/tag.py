"""A tag: a person's label for conversations, and the form that decides whether two names are equal."""

import unicodedata
from dataclasses import dataclass

from .limits import MAX_TAG_CHARS
from .names import clean_name


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of an owner. A removed tag keeps its conversations, so it can be brought back. `threads` counts listed
    threads."""

    id: str
    name: str
    is_removed: bool = False
    threads: int = 0


def clean_tag(text: str) -> str:
    """Clean a tag's name like any other name, but shorter. It is empty if nothing is visible.

    Quotation marks are replaced, because the search quotes names.
    """
    return clean_name(clean_name(text.replace('"', "'"))[:MAX_TAG_CHARS])


def fold_tag(name: str) -> str:
    """Return a tag's name without compatibility forms and case, for comparison."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
