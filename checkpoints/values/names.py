"""Names given by people, files and models: of threads, branches, checkpoints, prompts and people."""

import unicodedata

from .limits import MAX_NAME_CHARS
from .serde import sanitize_text

# Cyrillic and Greek letters, large and small, that look like the Latin letters below.
_LOOK_ALIKES = str.maketrans(
    "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u051a\u051c\u04ba\u04c0"
    "\u0430\u0432\u0435\u0455\u0456\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u051b\u051d\u04bb\u04cf\u0501\u0475"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03b3\u0131",
    "ABESIJKMHOPCTYXQWHIabesijkmhopctyxqwhldvABEZHIKMNOPTYXaikvoptuxyi",
)
_LOOK_ALIKE_SIGNS = str.maketrans("01l|", "oiii")
# These letters and marks are invisible.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean_name(text: str) -> str:
    """Return a name or title on one line, cut to `MAX_NAME_CHARS`. It is empty if nothing is visible.

    Direction marks are removed, because they can make a name look like another. Joiners stay.
    """
    line = " ".join(sanitize_text(text).split())
    if line.isascii() and line.isprintable():
        # Most names are plain. An import cleans thousands under the write lock.
        return line[:MAX_NAME_CHARS].strip()
    kept = (each for each in line if each not in _DIRECTION_MARKS and unicodedata.category(each) != "Cc")
    line = "".join(kept)[:MAX_NAME_CHARS].strip()
    return line if any(each.isprintable() and not each.isspace() for each in line) else ""


def fold_person_name(name: str) -> str:
    """Return a person's name in the form used for look-ups and counts, independent of spelling variants."""
    return clean_name(unicodedata.normalize("NFKC", name)).casefold()


def make_skeleton(name: str) -> str:
    """Return the same text for names people would confuse: invisible characters dropped, look-alikes unified.

    This only approximates Unicode's TR 39, for scripts mistaken for Latin.
    """
    seen = [each for each in unicodedata.normalize("NFKC", name) if each not in _BLANKS and not _is_unseen(each)]
    return "".join("".join(seen).translate(_LOOK_ALIKES).casefold().translate(_LOOK_ALIKE_SIGNS).split())


def _is_unseen(character: str) -> bool:
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return is_selector or unicodedata.category(character) in ("Cf", "Cc")
