"""Markdown to safe HTML, on the server, for finished messages and for answers that are still being written.

Three layers: markdown-it-py with raw HTML off, pygments for code (CSS classes only), an nh3 allow-list over the result.
Nothing that this module returns loads anything: a Markdown image becomes a link that shows its alt text and its host,
because a remote image is a channel by which a model can send a conversation away.

Some texts take seconds to minutes. The server itself formats cheap ones only (`is_cheap`); `rendering.py` sends the others
to a process of their own.
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

MAX_FORMATTED_CHARS = 200_000  # a longer text is shown as it is
MAX_HIGHLIGHTED_CHARS = 20_000  # of one code block
MAX_TAIL_CHARS = 20_000  # of an unfinished block that is formatted again at every look
MAX_HIGHLIGHTED_TAIL_CHARS = 2_000  # of a code block that may still grow
MAX_HTML_BYTES = 500_000  # of one text
MAX_LINK_CHARS = 30_000  # of the addresses and titles of its links, and MAX_LINK_CHARS_EACH for each of its characters:
MAX_LINK_CHARS_EACH = 12  # so many become of an emoji in an address
MAX_DEFINITION_CHARS = 20_000  # of the link definitions that the finished blocks of a streamed text leave
MAX_CHEAP_CHARS = 4_000
MAX_CHEAP_MARKS = 500  # a mark costs up to 60 µs

Definitions = dict[str, Any]  # link definitions by label, as markdown-it keeps them

_DEFINITION_CHARS = 50  # of one as JSON, beside its label, address and title
_FORMATTER = HtmlFormatter(nowrap=True)
_LONE_MARK = re.compile(r"\n {0,3}[-=] *\Z")
# A line in which nothing can mean anything to Markdown; a dot within a word may make it an address.
_PROSE = re.compile(r"(?!\d+[.)]|-|\s)(?:[^\W_]|[ ,;!?'\"()%…–—-]|(?!\.[^\W_])\.)++")
_MARKS = "[]!*_`<>&\\\n#+-~="
_DEAR = ("```", "~~~", "|")  # code, and tables: 2,000 characters can ask for 65,536 cells, which take two seconds
_FORMULA = re.compile(r"\$[^$]*\$|\\(?:[(\[]|begin)")


@dataclass(frozen=True)
class Look:
    """The result of formatting a growing text: HTML of its closed blocks, the open text, and the HTML of that."""

    finished: str
    pending: str
    definitions: Definitions  # of all finished blocks
    tail: str


def is_cheap(text: str) -> bool:
    """Return whether formatting `text` cannot take longer than some 30 ms, whatever it contains and whatever is defined."""
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
    """Return safe HTML for `text`. A line break stays a line break, as people expect of a chat.

    This takes as long as it takes: the server calls it for cheap texts only.
    """
    return _format(text, {"references": {}, "colour": colour, "longest": MAX_HIGHLIGHTED_CHARS})


def format_text(text: str, definitions: Definitions, colour: Highlight = highlight_code, *, is_tail: bool = False) -> str:
    """Format a part of a streamed text with the given link definitions, and add its own definitions to them."""
    longest = MAX_HIGHLIGHTED_TAIL_CHARS if is_tail else MAX_HIGHLIGHTED_CHARS
    env: dict[str, Any] = {"references": definitions, "colour": colour, "longest": longest, "is_part": True}
    env["is_growing"] = is_tail and not text.rstrip(" \t").endswith(("\n\n", "\r\n\r\n"))  # a blank line ends a formula
    return _format(text, env)


def _format(text: str, env: dict[str, Any]) -> str:
    html = None if len(text) > MAX_FORMATTED_CHARS else _render(_replace_surrogates(text), env)
    return to_plain_html(text) if html is None else clean_html(html)


def _render(text: str, env: dict[str, Any]) -> str | None:
    """Return the HTML of `text`, not clean yet; None where it would be too large."""
    link_chars = min(MAX_LINK_CHARS + MAX_LINK_CHARS_EACH * len(text), MAX_HTML_BYTES)
    try:
        html: str = choose_parser(text).render(text, {**env, "open_links": 0, "link_chars_left": link_chars})
    except HtmlTooLargeError:
        return None
    return html if len(html) <= MAX_HTML_BYTES else None


def to_plain_html(text: str) -> str:
    """Return `text` as it was written, unformatted, with its line breaks."""
    return f'<pre class="plain">{escape(_replace_surrogates(text), quote=False)}</pre>\n'


def escape_text(text: str) -> str:
    """Return a text that is no Markdown as HTML, with its line breaks, and each line in its direction."""
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
    # Line numbers need one kind of line end; the last character is a "\n", so that no "\r\n" is cut in two.
    lines = text[:end].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    last = _find_last_block(lines)
    if last == 0:
        return "", text
    html = format_text("\n".join(lines[:last]) + "\n", definitions, colour)
    _drop_long_definitions(definitions)
    return html, "\n".join(lines[last:]) + text[end:]


def _drop_long_definitions(definitions: Definitions) -> None:
    """Keep the first MAX_DEFINITION_CHARS: they are sent to the process that formats with each look."""
    chars = 0
    for label, link in list(definitions.items()):
        chars += len(label) + len(link["href"]) + len(link["title"]) + _DEFINITION_CHARS
        if chars > MAX_DEFINITION_CHARS:
            del definitions[label]


def format_tail(text: str, definitions: Definitions, colour: Highlight = highlight_code) -> str:
    """Format the open text. Code beyond MAX_HIGHLIGHTED_TAIL_CHARS gets its colours once it is finished."""
    if len(text) > MAX_TAIL_CHARS:
        return to_plain_html(text)
    # "text\n-" usually begins a list, but is a heading until the next token: do not show it yet.
    return format_text(_LONE_MARK.sub("", text), dict(definitions), colour, is_tail=True)


def is_prose(line: str) -> bool:
    """Return whether `line` contains nothing with a meaning in Markdown."""
    return _PROSE.fullmatch(line) is not None


def format_prose(line: str) -> str:
    """Format a paragraph of one such line."""
    return f"<p{write_direction(line)}>{escape(line.rstrip(), quote=False)}</p>\n"


def _replace_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone ones: models emit them, and neither nh3 nor a socket can carry them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _find_last_block(lines: list[str]) -> int:
    """Return the line at which the last outermost block begins: everything before it is closed for good.

    A formula that is still open may turn out to be none. Then it continues the block that ends at it.
    """
    tokens: list[Token] = []
    parser = choose_parser(text := "\n".join(lines))
    parser.block.parse(text, parser, {"is_part": True, "is_growing": True}, tokens)
    blocks = [token for token in tokens if token.level == 0 and token.map]
    places = [token.map for token in blocks if token.map]
    if len(places) > 1 and blocks[-1].type == OPEN_FORMULA and places[-2][1] == places[-1][0]:
        return places[-2][0]
    return max((first for first, _ in places), default=0)
