"""Shorten texts, strip Markdown, fence with backticks, and pluralize."""

import re
import unicodedata
from html.entities import html5

# Letters that Unicode does not decompose, as typed by people without such keys.
_LETTERS = dict(zip("ıȷłøđðħŧ", "ijloddht", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"}
PLAIN_LETTERS = str.maketrans(_LETTERS)
_BACKTICKS = re.compile(r"`+")
# Only this part of a text is searched for its first line with words.
_MAX_SEARCHED_CHARS = 4_000
# Only this part of a line is searched for marks.
_MAX_MARKED_CHARS = 300
_LINE_MARKS = re.compile(r"^\s*(?:(?:#{1,6}|[-*+](?:\s+\[[ xX]\])?|\d{1,9}[.)])\s+|>\s?)+")
# A fence, a rule, the line below a heading or a table's head, or a formula's delimiter.
_BLOCK_LINE = re.compile(r"\s*(?:(?:```|~~~).*|[-=*_\s|:]*|#{1,6}|\$\$\s*|\\[\[\]]\s*|\\(?:begin|end)\{\w+\*?\}\s*)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()]*)\)")
# Code and formulas. Amounts of money are excluded: no space inside of the dollars, and no digit after the last dollar.
_SPAN = re.compile(
    r"(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\$\$(?P<display>.+?)(?:\$\$|$)|(?<!\\)\$(?=\S)(?P<dollars>[^$`]+?)(?<=\S)\$(?!\d)"
    r"|\\\((?P<round>.+?)\\\)|\\\[(?P<square>.+?)(?:\\\]|$)"
    r"|(?P<environment>\\begin\{(?P<kind>\w+\*?)\}.+?\\end\{(?P=kind)\}|^\\begin\{\w+\*?\}.+)"
)
# Chinese, Japanese and Korean write no spaces around a word.
_LETTER = r"[^\W\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
_EMPHASIS = re.compile(
    rf"(?<!{_LETTER})(?<![\\*])(\*{{1,3}})(?=[^\s*])(.+?)(?<=[^\s\\])\1(?!{_LETTER}|\*)"
    rf"|(?<!{_LETTER})(?<![\\~])(~~)(?=[^\s~])(.+?)(?<=[^\s\\])~~(?!{_LETTER}|~)"
    r"|(?<![\w\\])(?!__\w+__)(_{1,3})(?=[^\s_])(.+?)(?<=[^\s\\])\5(?!\w)"
)
_ESCAPED = re.compile(r"\\([*_~`#$\[\]\\])")
_LONG_FORMULA = re.compile(
    r"^ *(?:\$\$[^$]{1,1000}\$\$|\\\[(?:[^\\]|\\[^\[\]]){1,1000}\\\]|\\begin\{(\w+\*?)\}[\s\S]{1,1000}?\\end\{\1\})",
    re.MULTILINE,
)
# The surroundings of a formula's parts.
_TEX_GAP = re.compile(
    r"\\begin\{(?:array|tabular|(?:x?x?align|aligned)at)\*?\}(?:\[\w\])?\{[^{}]*\}"
    r"|\\(?:begin|end|label|tag)\*?\{[^{}]*\}|\\(?:hline|q?quad|nonumber|notag|displaystyle)(?![A-Za-z])|\\\\|(?<!\\)[&~]"
)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?(?=(\{)?)")
_RAISED = re.compile(r"\^(?:\{([\dn+-]+)\}|([\dn]))")
_LOWERED = re.compile(r"_(?:\{(\d+)\}|(\d))")
_TEX_MARK = re.compile(r"\\.|[{}$]|\^(?=°)")
# HTML and TeX share most names of characters. These differ.
_TEX_SIGNS = {
    "infty": "∞",
    "to": "→",
    "neq": "≠",
    "sqrt": "√",
    "partial": "∂",
    "cdot": "·",
    "circ": "°",
    "left": "",
    "right": "",
}
_RAISED_SIGNS, _LOWERED_SIGNS = str.maketrans("0123456789n+-", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ⁺⁻"), str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def fence_verbatim(text: str, language: str = "") -> str:
    """Put an unchanged text in a Markdown code block. Nothing in the text can end the block."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def fold_text(text: str) -> str:
    """Remove compatibility forms, case and accents, for a search."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold().translate(PLAIN_LETTERS)
    return "".join(each for each in folded if not unicodedata.combining(each))


def contains(text: str, words: str) -> bool:
    """Return whether a text contains words, ignoring case and accents."""
    return fold_text(words) in fold_text(text)


def shorten(text: str, max_chars: int) -> str:
    """Shorten a text to at most `max_chars` characters, including the final “…”."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def find_plain_line(text: str) -> str:
    """Return the first line with words, without Markdown marks. Signs within words, as in 2*3*4, stay.

    The result is empty if the text begins with thousands of characters without words.
    """
    for line in _join_formulas(text.lstrip()[:_MAX_SEARCHED_CHARS]).splitlines():
        if not _BLOCK_LINE.fullmatch(line[:_MAX_MARKED_CHARS]) and (plain := _strip_marks(line[:_MAX_MARKED_CHARS])):
            return plain
    return ""


def find_plain_text(text: str, max_chars: int) -> str:
    """Return the beginning of a text on one line, without Markdown marks."""
    lines = (line[:_MAX_MARKED_CHARS] for line in _join_formulas(text[: 4 * max_chars]).splitlines())
    plain = (_strip_marks(line) for line in lines if not _BLOCK_LINE.fullmatch(line))
    return shorten(" ".join(filter(None, plain)), max_chars)


def _join_formulas(text: str) -> str:
    return _LONG_FORMULA.sub(lambda found: " ".join(found[0].split()), text)


def _strip_marks(line: str) -> str:
    line = _LINK.sub(r"\1", _SPAN.sub(_write_span, _LINE_MARKS.sub("", line)))
    while (plain := _EMPHASIS.sub(r"\2\4\6", line)) != line:
        line = plain
    return " ".join(_ESCAPED.sub(r"\1", line).strip("|").split())


def _write_span(span: re.Match[str]) -> str:
    """Keep code unchanged, and write a formula as people type it: x², α ≤ β, a/b."""
    text = span[span.lastgroup or 0]
    if span.lastgroup == "code":
        return text
    text = _COMMAND.sub(_write_command, _FRACTION.sub(r"\1/\2", _TEX_GAP.sub(" ", text)))
    text = _RAISED.sub(lambda found: (found[1] or found[2]).translate(_RAISED_SIGNS), text)
    text = _LOWERED.sub(lambda found: (found[1] or found[2]).translate(_LOWERED_SIGNS), text)
    return _TEX_MARK.sub("", text)


def _write_command(command: re.Match[str]) -> str:
    """Write a TeX command as its sign or its name. Formatting commands give nothing."""
    name = command[1]
    return _TEX_SIGNS.get(name, html5.get(f"{name};", "" if command[2] else name))


def shorten_line(text: str, max_chars: int) -> str:
    """Shorten the text and put it on one line."""
    # More words never fit.
    return shorten(" ".join(text.split(maxsplit=max_chars)), max_chars)


def shorten_for_model(text: str, max_chars: int) -> str:
    """Cut a text to `max_chars` characters, and note how many are missing."""
    return note_cut(text[:max_chars], len(text) - max_chars)


def note_cut(text: str, missing_chars: int) -> str:
    """Append a note of how many characters are missing, if any are."""
    return text if missing_chars <= 0 else f"{text}\n… (cut: {missing_chars:,} more characters)"


def pluralize(count: int, noun: str, plural: str = "") -> str:
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
