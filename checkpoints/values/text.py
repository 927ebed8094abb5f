"""Text in a given room: shortened, plain, in a fence of backticks that leaves it unchanged, or a number with its noun."""

import re
import unicodedata

# Letters that Unicode does not decompose, and the letters of those who have no such key.
_LETTERS = dict(zip("ıȷłøđðħŧ", "ijloddht", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"}
PLAIN_LETTERS = str.maketrans(_LETTERS)
_BACKTICKS = re.compile(r"`+")
_MAX_SEARCHED_CHARS = 4_000  # of a text whose first line with words is wanted
_MAX_MARKED_CHARS = 300  # of a line that is read for marks
_LINE_MARKS = re.compile(r"^\s*(?:(?:#{1,6}|[-*+](?:\s+\[[ xX]\])?|\d{1,9}[.)])\s+|>\s?)+")
_BLOCK_LINE = re.compile(
    r"\s*(?:(?:```|~~~).*|[-=*_\s|:]*|#{1,6}|\$\$\s*|\\[\[\]]\s*)"
)  # a fence, a rule, the line below a heading or a table's, the sign around a formula
_FORMULA = re.compile(r"\$\$(.+?)(?:\$\$|$)|\\\((.+?)\\\)|\\\[(.+?)(?:\\\]|$)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()]*)\)")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_EMPHASIS = re.compile(r"(?<![\w*_~])(?!__\w+__)(\*{1,3}|_{1,3}|~~)(?=[^\s*_~])(.+?)(?<=\S)\1(?![\w*_~])")


def fence_verbatim(text: str, language: str = "") -> str:
    """Return the unchanged text in a code block of Markdown that nothing in the text can end."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def fold_text(text: str) -> str:
    """Return a text without compatibility forms, case and accents, for a search."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold().translate(PLAIN_LETTERS)
    return "".join(each for each in folded if not unicodedata.combining(each))


def contains(text: str, words: str) -> bool:
    """Return whether words stand in a text, whatever their case and accents."""
    return fold_text(words) in fold_text(text)


def shorten(text: str, max_chars: int) -> str:
    """Return the text, or its beginning with “…”. The result has at most `max_chars` characters."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def find_plain_line(text: str) -> str:
    """Return the first line with words, without marks of Markdown. Signs within words, as in 2*3*4, stay.

    It is empty for a text that begins with thousands of characters without words.
    """
    for line in text.lstrip()[:_MAX_SEARCHED_CHARS].splitlines():
        if not _BLOCK_LINE.fullmatch(line[:_MAX_MARKED_CHARS]) and (plain := _strip_marks(line[:_MAX_MARKED_CHARS])):
            return plain
    return ""


def find_plain_text(text: str, max_chars: int) -> str:
    """Return the beginning of a text on one line, without marks of Markdown."""
    lines = (line[:_MAX_MARKED_CHARS] for line in text[: 4 * max_chars].splitlines())
    plain = (_strip_marks(line) for line in lines if not _BLOCK_LINE.fullmatch(line))
    return shorten(" ".join(filter(None, plain)), max_chars)


def _strip_marks(line: str) -> str:
    line = _FORMULA.sub(r"\1\2\3", line)
    line = _CODE.sub(r"\2", _LINK.sub(r"\1", _LINE_MARKS.sub("", line)))
    while (plain := _EMPHASIS.sub(r"\2", line)) != line:
        line = plain
    return " ".join(line.strip("|").split())


def shorten_line(text: str, max_chars: int) -> str:
    """Shorten the text and put it on one line."""
    return shorten(" ".join(text.split(maxsplit=max_chars)), max_chars)  # more words are never in sight


def shorten_for_model(text: str, max_chars: int) -> str:
    """Return the text, or its first `max_chars` characters and a note of how many are missing."""
    return note_cut(text[:max_chars], len(text) - max_chars)


def note_cut(text: str, missing_chars: int) -> str:
    """Return the text with a note of how many characters are missing at its end; without one where none are."""
    return text if missing_chars <= 0 else f"{text}\n… (cut: {missing_chars:,} more characters)"


def pluralize(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the singular or the plural."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
