"""A tag: a name that a person gives to conversations, and the form that makes two names the same."""

import unicodedata
from dataclasses import dataclass

from .limits import MAX_TAG_CHARS
from .names import clean_name


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of an owner. A removed one keeps its conversations, so that it can be brought back."""

    id: str
    name: str
    is_removed: bool = False
    threads: int = 0  # listed conversations that have it


def clean_tag(text: str) -> str:
    """Return a tag's name as any other name, shorter; an empty text if none of it is visible.

    The search quotes names, so a name has no quotation mark of its own.
    """
    return clean_name(clean_name(text.replace('"', "'"))[:MAX_TAG_CHARS])


def fold_tag(name: str) -> str:
    """Return the text that is equal for two names of the same tag: compatibility forms and case do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
