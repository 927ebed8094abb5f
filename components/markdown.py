"""Markdown to safe HTML, on the server, for finished messages and for answers that are still being written.

Three layers: markdown-it-py with raw HTML off, pygments for code (CSS classes only), an nh3 allow-list over the result.
Nothing that this module returns loads anything: a Markdown image becomes a link that shows its alt text and its host,
because a remote image is a channel by which a model can send a conversation away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.util import ClassNotFound

LONGEST_FORMATTED = 200_000  # characters; a longer text is shown as it is, for formatting it would hold the server up
LONGEST_HIGHLIGHTED = 20_000  # characters of one code block
LONGEST_CACHED = 40_000  # characters (6,000 tokens); with the number of entries it bounds the memory of the cache
LONGEST_TAIL = 20_000  # characters of an unfinished block that are formatted again at every look

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
_PROSE = re.compile(r"(?!\d+\.|-|\s)(?:[^\W_]|[ ,;!?'\"()%…–—-]|\.(?![^\W_]))+")
_FENCES = ("```", "~~~")


def to_html(text: str) -> str:
    """Return safe HTML for `text`. A line break stays a line break, as people expect of a chat.

    Above LONGEST_FORMATTED characters the text is shown unformatted.
    """
    return _cached(text) if len(text) <= LONGEST_CACHED else _render(text, {})


@lru_cache(maxsize=512)
def _cached(text: str) -> str:
    return _render(text, {})


def _render(text: str, env: EnvType) -> str:
    """Render with the link definitions in `env`, and add to it those that `text` brings."""
    if len(text) > LONGEST_FORMATTED:
        return _plain(text)
    return _CLEANER.clean(_PARSER.render(_encodable(text), env))


def _plain(text: str) -> str:
    return f'<pre class="plain">{escape(_encodable(text), quote=False)}</pre>\n'


def _encodable(text: str) -> str:
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
        return _code(tokens[idx].content, words[0] if words else "")

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _code(tokens[idx].content, "")

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A link, or plain text where the image already stands in a link: links cannot be nested."""
        source = str(tokens[idx].attrs.get("src", ""))
        alt = self.renderInlineAsText(tokens[idx].children, options, env)
        label = escape(f"{alt} ({_host(source)})".strip())
        if sum(token.nesting for token in tokens[:idx] if token.type.startswith("link_")):
            return label
        return f'<a href="{escape(source)}">{label}</a>'

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Alignment as a class, because inline styles do not pass the allow-list."""
        style = str(tokens[idx].attrs.pop("style", ""))
        if style:
            tokens[idx].attrs["class"] = "align-" + style.removeprefix("text-align:")
        return self.renderToken(tokens, idx, options, env)

    td_open = th_open


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or "image"
    except ValueError:  # "http://[" is not an address at all
        return "image"


def _code(source: str, language: str) -> str:
    """`source` as a code block; a language that is not known, and a very long block, stay without colours."""
    name = language if _LANGUAGE.fullmatch(language) else ""
    lexer_class = _lexer_class(name.lower()) if name and len(source) <= LONGEST_HIGHLIGHTED else None
    if lexer_class is None:
        body = escape(source, quote=False)
    else:
        body = highlight(source, lexer_class(stripnl=False, ensurenl=False), _FORMATTER)
    return f'<div class="code" data-language="{escape(name)}"><pre><code>{body}</code></pre></div>\n'


@lru_cache(maxsize=512)
def _lexer_class(name: str) -> type[Lexer] | None:
    """Looking up an unknown name goes through every lexer there is (80 ms at first): that is remembered too."""
    try:
        return find_lexer_class_by_name(name)
    except ClassNotFound:
        return None


class _Parser(MarkdownIt):
    """CommonMark with tables and strikethrough, in which a link that is not allowed stays the text that it was."""

    def __init__(self) -> None:
        linkify = find_spec("linkify_it") is not None  # an optional dependency of markdown-it-py
        options = {"html": False, "breaks": True, "linkify": linkify}
        super().__init__("commonmark", options, renderer_cls=_Renderer)
        self.enable(["table", "strikethrough"] + ["linkify"] * linkify)

    def validateLink(self, url: str) -> bool:
        return url.strip().partition(":")[0].lower() in _SCHEMES


_PARSER = _Parser()


class StreamingMarkdown:
    """Markdown that grows: what can no longer change is rendered once, the rest again at every look.

    A block (paragraph, list, table, fence ...) is finished when complete lines after it begin another block, because
    CommonMark never reopens a closed block. Finished HTML plus tail equals `to_html` of the whole text, but for three
    things that only the end of the answer can settle, so that the final HTML should replace what was streamed:
    a link whose definition comes in a later block, a definition whose title goes on over a block's end, and a block
    longer than LONGEST_TAIL, which is shown unformatted until it ends (longer than LONGEST_FORMATTED: for good).
    """

    def __init__(self) -> None:
        self._chunks: list[str] = []  # not looked at yet
        self._put_off = 0  # so many of them were too little to look at
        self._pending = ""  # the unfinished text
        self._definitions: dict[str, Any] = {}  # link definitions in finished blocks
        self._tail = ""
        self._before = ("", "")  # the closed part of the tail, and its HTML

    def feed(self, text: str) -> None:
        """Add text as it arrives; costs nothing until the next look."""
        self._chunks.append(text)

    def take(self) -> tuple[str, str]:
        """Return the HTML of the blocks finished since the last call, and the HTML that replaces the tail.

        A long tail waits until it has grown by one percent (40 characters in 4,000), or until nothing more was fed
        between two calls: so a stream that rests is shown to its last character by the second call.
        """
        waiting = sum(map(len, self._chunks))
        if waiting * 100 < len(self._pending) and len(self._chunks) > self._put_off:
            self._put_off = len(self._chunks)
            return "", self._tail
        if not self._chunks:
            return "", self._tail
        added = "".join(self._chunks)
        self._chunks.clear()
        self._put_off = 0
        self._pending += added
        finished = self._finish() if "\n" in added or len(self._pending) > LONGEST_FORMATTED else ""
        self._tail = self._render_tail()
        return finished, self._tail

    def _finish(self) -> str:
        """Cut the finished blocks off the pending text and return their HTML."""
        if len(self._pending) > LONGEST_FORMATTED:  # looking at it again and again would cost the square of its length
            text, self._pending = self._pending, ""
            return _plain(text)
        end = self._pending.rfind("\n") + 1
        # Line numbers need one kind of line end; the last character is a "\n", so that no "\r\n" is cut in two.
        lines = self._pending[:end].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        last = _start_of_last_block(lines)
        if last == 0:
            return ""
        self._pending = "\n".join(lines[last:]) + self._pending[end:]
        return _render("\n".join(lines[:last]) + "\n", {"references": self._definitions})

    def _render_tail(self) -> str:
        if len(self._pending) > LONGEST_TAIL:
            return _plain(self._pending)
        before, _, line = self._pending.rpartition("\n\n")
        if _PROSE.fullmatch(line) and not any(fence in before for fence in _FENCES):
            return self._rendered_before(before) + f"<p>{escape(line.rstrip(), quote=False)}</p>\n"
        # "text\n-" is most often a list to come, but stands for a heading until the next token: do not let it flash up.
        return _render(_LONE_MARK.sub("", self._pending), {"references": dict(self._definitions)})

    def _rendered_before(self, text: str) -> str:
        """A paragraph that begins after a blank line changes nothing before it; most of an answer is such paragraphs, and
        formatting both at every look was two fifths of the server's work for it.
        """
        if text != self._before[0]:
            self._before = (text, _render(text, {"references": dict(self._definitions)}) if text else "")
        return self._before[1]


def _start_of_last_block(lines: list[str]) -> int:
    """Return the line at which the last outermost block begins: everything before it is closed for good."""
    tokens: list[Token] = []
    _PARSER.block.parse("\n".join(lines), _PARSER, {}, tokens)
    return max((token.map[0] for token in tokens if token.level == 0 and token.map), default=0)


def highlight_css() -> str:
    """Return the rules for highlighted code in light and in dark colours.

    Of pygments' styles these two have at least 4.5:1 (WCAG AA) in every colour, on #f3f5f5 and on #1b1f20.
    """
    light = _colours("xcode", ":root:not([data-bs-theme=dark]) .code")
    return light + _colours("lightbulb", "[data-bs-theme=dark] .code")


def _colours(style: str, selector: str) -> str:
    """The token rules of a style without its backgrounds and frames, which are the page's own affair."""
    rules = HtmlFormatter(style=style).get_token_style_defs(selector)  # type: ignore[no-untyped-call]
    lines = (re.sub(r"(background-color|border): [^;}]+;? ?", "", rule) for rule in rules)
    return "".join(line + "\n" for line in lines if "{ }" not in line)
