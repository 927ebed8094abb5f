"""Markdown to safe HTML, on the server, for finished messages and for answers in progress.

There are three layers: markdown-it-py with raw HTML off, pygments for code (CSS classes only), and an nh3 allow-list over
the result. The output never loads anything: a Markdown image becomes a link with its alt text and host, because a model
could use a remote image to send a conversation away.

Some texts take seconds to minutes. The server itself formats cheap texts only (`is_cheap`); `rendering.py` sends the others
to a separate process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any

from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer

from components.views.directions import is_right_to_left, write_direction
from components.views.formula_rules import OPEN_FORMULA
from components.views.markdown_parser import Highlight, HtmlTooLargeError, choose_parser
from components.views.sanitizer import clean_html

# A longer text is shown unformatted.
MAX_FORMATTED_CHARS = 200_000
# The limit applies to one code block.
MAX_HIGHLIGHTED_CHARS = 20_000
# An unfinished block of at most this length is formatted again at every look.
MAX_TAIL_CHARS = 20_000
# The limit applies to a code block that may still grow.
MAX_HIGHLIGHTED_TAIL_CHARS = 2_000
# The limit applies to one text's HTML.
MAX_HTML_BYTES = 500_000
# A text's link addresses and titles may have MAX_LINK_CHARS, and MAX_LINK_CHARS_EACH more for each of its characters: an
# emoji in an address becomes this many.
MAX_LINK_CHARS = 30_000
MAX_LINK_CHARS_EACH = 12
# The finished blocks of a streamed text keep definitions of at most this length.
MAX_DEFINITION_CHARS = 20_000
MAX_CHEAP_CHARS = 4_000
# A mark costs up to 60 µs.
MAX_CHEAP_MARKS = 500

# Link definitions are by label, as markdown-it keeps them.
Definitions = dict[str, Any]

# The JSON of a definition has this many characters beside its label, address and title.
_DEFINITION_CHARS = 50
_FORMATTER = HtmlFormatter(nowrap=True)
_LONE_MARK = re.compile(r"\n {0,3}[-=] *\Z")
# Such a line has no meaning in Markdown. A dot within a word may make it an address.
_PROSE = re.compile(r"(?!\d+[.)]|-|\s)(?:[^\W_]|[ ,;!?'\"()%…–—-]|(?!\.[^\W_])\.)++")
_MARKS = "[]!*_`<>&\\\n#+-~="
# Code is expensive, and so are tables: 2,000 characters can ask for 65,536 cells, which take two seconds.
_DEAR = ("```", "~~~", "|")
_FORMULA = re.compile(r"\$[^$]*\$|\\(?:[(\[]|begin)")


@dataclass(frozen=True)
class Look:
    """The result of formatting a growing text: HTML of its closed blocks, the open text, and the open text's HTML."""

    finished: str
    pending: str
    definitions: Definitions
    tail: str


def is_cheap(text: str) -> bool:
    """Return whether formatting `text` takes at most about 30 ms, whatever it contains and whatever is defined."""
    return (
        len(text) <= MAX_CHEAP_CHARS
        and sum(map(text.count, _MARKS)) <= MAX_CHEAP_MARKS
        and not any(dear in text for dear in _DEAR)
        and (("$" not in text and "\\" not in text) or _FORMULA.search(text) is None)
    )


def to_html_if_cheap(text: str) -> str:
    """Return safe HTML for `text`, unformatted unless it is cheap."""
    return render_markdown(text) if is_cheap(text) else to_plain_html(text)


def highlight_code(source: str, lexer: Lexer) -> str:
    return highlight(source, lexer, _FORMATTER)


def render_markdown(text: str, *, colour: Highlight = highlight_code) -> str:
    """Return safe HTML for `text`. A line break stays a line break, as people expect in a chat.

    There is no time limit, so the server calls it for cheap texts only.
    """
    return _format(text, {"references": {}, "colour": colour, "longest": MAX_HIGHLIGHTED_CHARS})


def format_text(text: str, definitions: Definitions, colour: Highlight = highlight_code, *, is_tail: bool = False) -> str:
    """Format a part of a streamed text with the given link definitions, and add its own definitions to them."""
    longest = MAX_HIGHLIGHTED_TAIL_CHARS if is_tail else MAX_HIGHLIGHTED_CHARS
    env: dict[str, Any] = {"references": definitions, "colour": colour, "longest": longest, "is_part": True}
    # A blank line ends a formula.
    env["is_growing"] = is_tail and not text.rstrip(" \t").endswith(("\n\n", "\r\n\r\n"))
    return _format(text, env)


def _format(text: str, env: dict[str, Any]) -> str:
    html = None if len(text) > MAX_FORMATTED_CHARS else _render(_replace_surrogates(text), env)
    return to_plain_html(text) if html is None else clean_html(html)


def _render(text: str, env: dict[str, Any]) -> str | None:
    """Return the unsanitised HTML of `text`; None if it would be too large."""
    link_chars = min(MAX_LINK_CHARS + MAX_LINK_CHARS_EACH * len(text), MAX_HTML_BYTES)
    try:
        html: str = choose_parser(text).render(text, {**env, "open_links": 0, "link_chars_left": link_chars})
    except HtmlTooLargeError:
        return None
    return html if len(html) <= MAX_HTML_BYTES else None


def to_plain_html(text: str) -> str:
    """Return `text` unformatted, with its line breaks."""
    return f'<pre class="plain">{escape(_replace_surrogates(text), quote=False)}</pre>\n'


def escape_text(text: str) -> str:
    """Return plain text as HTML, with its line breaks, and each line in its direction."""
    if not is_right_to_left(text):
        return escape(text).replace("\n", "<br>")
    return "".join(f"<div{write_direction(line)}>{escape(line) or '<br>'}</div>" for line in text.split("\n"))


def look_at(text: str, definitions: Definitions, colour: Highlight, colour_tail: Highlight) -> Look:
    """Cut the finished blocks off `text`, and format them and the rest."""
    known = dict(definitions)
    finished, pending = cut_finished(text, known, colour)
    return Look(finished, pending, known, format_tail(pending, known, colour_tail))


def cut_finished(text: str, definitions: Definitions, colour: Highlight = highlight_code) -> tuple[str, str]:
    """Return the HTML of the finished blocks at the beginning of `text`, and the rest. Adds to `definitions`.

    A block (paragraph, list, table, fence ...) is finished when complete lines after it begin another block, because
    CommonMark never reopens a closed block.
    """
    end = text.rfind("\n") + 1
    # Line numbers need a single kind of line end. The last character is a "\n", so no "\r\n" is cut in two.
    lines = text[:end].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    last = _find_last_block(lines)
    if last == 0:
        return "", text
    html = format_text("\n".join(lines[:last]) + "\n", definitions, colour)
    _drop_long_definitions(definitions)
    return html, "\n".join(lines[last:]) + text[end:]


def _drop_long_definitions(definitions: Definitions) -> None:
    """Keep the first MAX_DEFINITION_CHARS: each look sends them to the formatting process."""
    chars = 0
    for label, link in list(definitions.items()):
        chars += len(label) + len(link["href"]) + len(link["title"]) + _DEFINITION_CHARS
        if chars > MAX_DEFINITION_CHARS:
            del definitions[label]


def format_tail(text: str, definitions: Definitions, colour: Highlight = highlight_code) -> str:
    """Format the open text. Code beyond MAX_HIGHLIGHTED_TAIL_CHARS gets its colours once it is finished."""
    if len(text) > MAX_TAIL_CHARS:
        return to_plain_html(text)
    # "text\n-" usually begins a list, but is a heading until the next token, so it is not shown yet.
    return format_text(_LONE_MARK.sub("", text), dict(definitions), colour, is_tail=True)


def is_prose(line: str) -> bool:
    """Return whether `line` contains nothing with a meaning in Markdown."""
    return _PROSE.fullmatch(line) is not None


def format_prose(line: str) -> str:
    return f"<p{write_direction(line)}>{escape(line.rstrip(), quote=False)}</p>\n"


def _replace_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates: models emit them, and neither nh3 nor a socket can carry them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _find_last_block(lines: list[str]) -> int:
    """Return the line where the last outermost block begins. Everything before it is closed for good.

    An open formula may turn out to be none. It then continues the block that ends right before it.
    """
    tokens: list[Token] = []
    parser = choose_parser(text := "\n".join(lines))
    parser.block.parse(text, parser, {"is_part": True, "is_growing": True}, tokens)
    blocks = [token for token in tokens if token.level == 0 and token.map]
    places = [token.map for token in blocks if token.map]
    if len(places) > 1 and blocks[-1].type == OPEN_FORMULA and places[-2][1] == places[-1][0]:
        return places[-2][0]
    return max((first for first, _ in places), default=0)
