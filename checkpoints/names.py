"""Names that people, files and models give: of threads, branches, checkpoints and prompts."""

import unicodedata

from .limits import MAX_NAME_CHARS
from .serde import sanitize_text

_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean_name(text: str) -> str:
    """Return a name or a title in one line, cut to `MAX_NAME_CHARS`; an empty text if none of it is visible.

    Marks that turn the direction of writing are removed: they can make a name look like another. Joiners stay.
    """
    line = " ".join(sanitize_text(text).split())
    if line.isascii() and line.isprintable():  # most names: an import cleans thousands under the write lock
        return line[:MAX_NAME_CHARS].strip()
    kept = (each for each in line if each not in _DIRECTION_MARKS and unicodedata.category(each) != "Cc")
    line = "".join(kept)[:MAX_NAME_CHARS].strip()
    return line if any(each.isprintable() and not each.isspace() for each in line) else ""
