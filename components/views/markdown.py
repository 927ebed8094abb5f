"""Markdown to safe HTML, on the server, for finished messages and for answers that are still being written.

Three layers: markdown-it-py with raw HTML off, pygments for code (CSS classes only), an nh3 allow-list over the result.
Nothing that this module returns loads anything: a Markdown image becomes a link that shows its alt text and its host,
because a remote image is a channel by which a model can send a conversation away.

Some texts take seconds to minutes. The server itself formats cheap ones only (`is_cheap`); `rendering.py` sends the others
to a process of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.util import ClassNotFound

MAX_FORMATTED_CHARS = 200_000  # a longer text is shown as it is
MAX_HIGHLIGHTED_CHARS = 20_000  # of one code block
MAX_TAIL_CHARS = 20_000  # of an unfinished block that is formatted again at every look
MAX_HIGHLIGHTED_TAIL_CHARS = 2_000  # of a code block that may still grow
MAX_TABLE_CELLS = 5_000  # a larger table is shown as it was written
MAX_TEXT_CELLS = 10_000  # of all tables of a text; those after them are shown as they were written
MAX_CHEAP_CHARS = 4_000
MAX_CHEAP_MARKS = 500  # a mark costs up to 60 µs

Definitions = dict[str, Any]  # link definitions by label, as markdown-it keeps them
Highlight = Callable[[str, Lexer], str | None]  # None: the code stays without colours

_SCHEMES = {"http", "https", "mailto"}
_TEXT_TAGS = {"p", "br", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "a", "ul", "ol", "li", "blockquote"}
_OTHER_TAGS = {"hr", "div", "pre", "code", "span", "table", "thead", "tbody", "tr", "th", "td"}
_ALIGNMENTS = {"align-left", "align-center", "align-right"}
_CLEANER = nh3.Cleaner(
    tags=_TEXT_TAGS | _OTHER_TAGS,
    attributes={"a": {"href", "title"}, "div": {"data-language"}, "span": {"class"}, "ol": {"start"}},
    allowed_classes={"div": {"code"}, "pre": {"plain"}, "th": _ALIGNMENTS, "td": _ALIGNMENTS},
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="noopener noreferrer nofollow",
    url_schemes=_SCHEMES,
    url_relative="deny",
)
_FORMATTER = HtmlFormatter(nowrap=True)
_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#._-]{0,29}", re.ASCII)
_LONE_MARK = re.compile(r"\n {0,3}[-=] *\Z")
# A line in which nothing can mean anything to Markdown; a dot within a word may make it an address.
_PROSE = re.compile(r"(?!\d+[.)]|-|\s)(?:[^\W_]|[ ,;!?'\"()%…–—-]|\.(?![^\W_]))+")
_MARKS = "[]!*_`<>&\\\n#+-~="
_DEAR = ("```", "~~~", "|")  # code, and tables: 2,000 characters can ask for 65,536 cells, which take two seconds


@dataclass(frozen=True)
class Look:
    """The result of formatting a growing text: HTML of its closed blocks, the open text, and the HTML of that."""

    finished: str
    pending: str
    definitions: Definitions  # of all finished blocks
    tail: str


def is_cheap(text: str) -> bool:
    """Return whether formatting `text` cannot take longer than some 30 ms, whatever it contains."""
    return (
        len(text) <= MAX_CHEAP_CHARS
        and sum(map(text.count, _MARKS)) <= MAX_CHEAP_MARKS
        and not any(dear in text for dear in _DEAR)
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
    return format_text(text, {}, colour)


def format_text(text: str, definitions: Definitions, colour: Highlight = highlight_code, *, is_tail: bool = False) -> str:
    """Format with the given link definitions, and add the definitions of `text` to them."""
    if len(text) > MAX_FORMATTED_CHARS:
        return to_plain_html(text)
    longest = MAX_HIGHLIGHTED_TAIL_CHARS if is_tail else MAX_HIGHLIGHTED_CHARS
    env = {"references": definitions, "colour": colour, "longest": longest, "open_links": 0}
    return _CLEANER.clean(_PARSER.render(_replace_surrogates(text), env))


def to_plain_html(text: str) -> str:
    """Return `text` as it was written, unformatted, with its line breaks."""
    return f'<pre class="plain">{escape(_replace_surrogates(text), quote=False)}</pre>\n'


def escape_text(text: str) -> str:
    """Return a text that is no Markdown as HTML, with its line breaks."""
    return escape(text).replace("\n", "<br>")


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
    return format_text("\n".join(lines[:last]) + "\n", definitions, colour), "\n".join(lines[last:]) + text[end:]


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
    return f"<p>{escape(line.rstrip(), quote=False)}</p>\n"


def _replace_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone ones: models emit them, and neither nh3 nor a socket can carry them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _Renderer(RendererHTML):
    """markdown-it's own output, but for code, images and the alignment of table cells."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        words = tokens[idx].info.split(maxsplit=1)
        return _render_code(tokens[idx].content, words[0] if words else "", env)

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _render_code(tokens[idx].content, "", env)

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        env["open_links"] += tokens[idx].nesting
        return self.renderToken(tokens, idx, options, env)

    link_close = link_open

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render an image as a link, or as plain text inside of a link: links cannot be nested."""
        source = str(tokens[idx].attrs.get("src", ""))
        alt = self.renderInlineAsText(tokens[idx].children, options, env)
        label = escape(f"{alt} ({_image_host(source)})".strip())
        if env["open_links"]:
            return label
        return f'<a href="{escape(source)}">{label}</a>'

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Alignment as a class, because inline styles do not pass the allow-list."""
        style = str(tokens[idx].attrs.pop("style", ""))
        if style:
            tokens[idx].attrs["class"] = "align-" + style.removeprefix("text-align:")
        return self.renderToken(tokens, idx, options, env)

    td_open = th_open


def _image_host(address: str) -> str:
    try:
        return urlsplit(address).hostname or "image"
    except ValueError:  # "http://[" is not an address at all
        return "image"


def _render_code(source: str, language: str, env: EnvType) -> str:
    """`source` as a code block; a language that is not known, and a very long block, stay without colours."""
    name = language if _LANGUAGE.fullmatch(language) else ""
    lexer_class = _find_lexer_class(name.lower()) if name and len(source) <= env["longest"] else None
    coloured = env["colour"](source, lexer_class(stripnl=False, ensurenl=False)) if lexer_class else None
    body = escape(source, quote=False) if coloured is None else coloured
    return f'<div class="code" data-language="{escape(name)}"><pre><code>{body}</code></pre></div>\n'


@lru_cache(maxsize=512)
def _find_lexer_class(name: str) -> type[Lexer] | None:
    """Return the lexer of a language. An unknown name costs a search of every lexer (80 ms at first), so it is cached."""
    try:
        return find_lexer_class_by_name(name)
    except ClassNotFound:
        return None


def _parse_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table, or as the code block of its source one that exceeds MAX_TABLE_CELLS, or with the tables before it
    MAX_TEXT_CELLS: two characters can ask for a row of hundreds of cells.
    """
    if not table(state, start, end, True):
        return False
    if silent:
        return True
    columns = state.src.count("|", state.bMarks[start + 1], state.eMarks[start + 1]) + 1
    cells = min(MAX_TABLE_CELLS, MAX_TEXT_CELLS - state.env.get("cells", 0))
    limit = min(end, start + 1 + cells // columns)
    before = len(state.tokens)
    is_whole = table(state, start, limit, False) and (state.line < limit or limit == end or state.isEmpty(limit))
    last = state.line if is_whole else limit  # the cells of a table that is given up were parsed as well
    state.env["cells"] = state.env.get("cells", 0) + columns * (last - start - 1)
    return True if is_whole else _parse_table_source(state, start, end, before)


def _parse_table_source(state: StateBlock, start: int, end: int, token_count: int) -> bool:
    """Parse a table as the code block of its source, in place of the tokens since there were `token_count`."""
    del state.tokens[token_count:]
    last = start + 2
    while last < end and not state.isEmpty(last) and state.sCount[last] >= state.blkIndent:
        last += 1
    source = state.push("code_block", "code", 0)
    source.content, source.map, state.line = state.getLines(start, last, state.blkIndent, True), [start, last], last
    return True


class _Parser(MarkdownIt):
    """CommonMark with tables and strikethrough, in which a link that is not allowed stays the text that it was."""

    def __init__(self) -> None:
        linkify = find_spec("linkify_it") is not None  # an optional dependency of markdown-it-py
        options = {"html": False, "breaks": True, "linkify": linkify}
        super().__init__("commonmark", options, renderer_cls=_Renderer)
        self.enable(["table", "strikethrough"] + ["linkify"] * linkify)
        self.block.ruler.at("table", _parse_table, {"alt": ["paragraph", "reference"]})

    def validateLink(self, url: str) -> bool:
        return url.strip().partition(":")[0].lower() in _SCHEMES


_PARSER = _Parser()


def _find_last_block(lines: list[str]) -> int:
    """Return the line at which the last outermost block begins: everything before it is closed for good."""
    tokens: list[Token] = []
    _PARSER.block.parse("\n".join(lines), _PARSER, {}, tokens)
    return max((token.map[0] for token in tokens if token.level == 0 and token.map), default=0)
