"""Markdown as the page understands it: CommonMark with tables, strikethrough, task lists, footnotes and formulas.

`choose_parser(text).render` returns unsanitised HTML. Its environment holds `references` (link definitions), `colour` (a
`Highlight`), `longest` (characters of highlighted code), `open_links`, `link_chars_left` (of all addresses and titles), and
for a streamed text `is_part` and `is_growing`.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape
from importlib.util import find_spec
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.util import ClassNotFound

from components.views.directions import set_directions
from components.views.emphasis import CjkInlineParser
from components.views.formula_rules import Formula, add_formulas
from components.views.formulas import to_mathml
from components.views.sanitizer import URL_SCHEMES
from words import N_, _

# A larger table is shown as its source.
MAX_TABLE_CELLS = 5_000
# The limit counts the cells of all tables in a text. Later tables are shown as their source.
MAX_TEXT_CELLS = 10_000
# A cell with this many characters is not squeezed to a word per line.
MIN_LONG_CELL_CHARS = 32

# None leaves the code without colours.
Highlight = Callable[[str, Lexer], str | None]

_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#._-]{0,29}", re.ASCII)
# It begins a footnote or a task.
_BRACKET = re.compile(r"\[[\^ xX]")
_TASK = re.compile(r"\[([ xX])\]\s+")
_MAX_HEADING_LEVEL = 6
_IMAGE_HINT = N_("Images from other sites are not loaded. The link opens a new tab.")


class HtmlTooLargeError(Exception):
    """A text would become far more HTML than it has characters."""


class _Renderer(RendererHTML):
    """markdown-it's renderer, except for code, images, footnotes, task boxes and the alignment of table cells."""

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render headings a level lower: the first level is the conversation's title on the page."""
        level = int(tokens[idx].tag[1:])
        tokens[idx].tag = f"h{min(level + 1, _MAX_HEADING_LEVEL)}"
        return self.renderToken(tokens, idx, options, env)

    heading_close = heading_open

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        words = tokens[idx].info.split(maxsplit=1)
        return _render_code(tokens[idx].content, words[0] if words else "", env)

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _render_code(tokens[idx].content, "", env)

    def open_formula(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render an unclosed formula as text."""
        text = escape(tokens[idx].content.rstrip(), quote=False).replace("\n", "<br>\n")
        return f"<p>{text}</p>\n"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        env["open_links"] += tokens[idx].nesting
        _count_link(tokens[idx], env)
        return self.renderToken(tokens, idx, options, env)

    link_close = link_open

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render an image as a link, or as plain text inside a link, because links cannot be nested."""
        source = str(tokens[idx].attrs.get("src", ""))
        _count_link(tokens[idx], env)
        alt = self.renderInlineAsText(tokens[idx].children, options, env)
        label = escape(f"{alt} ({_image_host(source)})".strip())
        if env["open_links"]:
            return label
        return f'<a href="{escape(source)}" title="{escape(_(_IMAGE_HINT))}">{label}</a>'

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render the alignment as a class, because inline styles do not pass the allow-list."""
        style = str(tokens[idx].attrs.pop("style", ""))
        classes = ["align-" + style.removeprefix("text-align:")] if style else []
        if len(tokens[idx + 1].content) >= MIN_LONG_CELL_CHARS:
            classes.append("long-cell")
        if classes:
            tokens[idx].attrs["class"] = " ".join(classes)
        return self.renderToken(tokens, idx, options, env)

    td_open = th_open


def _count_link(link: Token, env: EnvType) -> None:
    """Count a link's address and title before they are written, because many links may use the same definition."""
    env["link_chars_left"] -= sum(len(str(value)) for value in link.attrs.values())
    if env["link_chars_left"] < 0:
        raise HtmlTooLargeError


def _image_host(address: str) -> str:
    try:
        return urlsplit(address).hostname or "image"
    except ValueError:
        # "http://[" is not an address at all.
        return "image"


def _render_code(source: str, language: str, env: EnvType) -> str:
    """Render `source` as a code block. Unknown languages and very long blocks have no colours."""
    name = language if _LANGUAGE.fullmatch(language) else ""
    lexer_class = _find_lexer_class(name.lower()) if name and len(source) <= env["longest"] else None
    coloured = env["colour"](source, lexer_class(stripnl=False, ensurenl=False)) if lexer_class else None
    body = escape(source, quote=False) if coloured is None else coloured
    return f'<div class="code" data-language="{escape(name)}"><pre><code>{body}</code></pre></div>\n'


@lru_cache(maxsize=512)
def _find_lexer_class(name: str) -> type[Lexer] | None:
    """Return the lexer of a language. Cached, because an unknown name costs a search of every lexer (80 ms at first)."""
    try:
        return find_lexer_class_by_name(name)
    except ClassNotFound:
        return None


def _render_formula(formula: Formula) -> str:
    """Render a formula with its TeX beside it, for copies. An unreadable formula becomes its TeX."""
    mathml = to_mathml(formula.source, is_display=formula.is_display)
    written = escape(formula.written)
    if mathml is None:
        code = f"<code>{written}</code>"
        return f'<div class="code" data-language="latex"><pre>{code}</pre></div>\n' if formula.is_block else code
    if formula.is_block:
        return f'<div class="formula" data-tex="{written}">{mathml}</div>\n'
    return f'<span class="formula{" display" * formula.is_display}" data-tex="{written}">{mathml}</span>'


def _parse_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table, or its source as a code block.

    The code block is for a table beyond MAX_TABLE_CELLS, or beyond MAX_TEXT_CELLS with the tables before it: two characters
    can ask for a row of hundreds of cells.
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
    # The cells of a table that is given up were parsed as well.
    last = state.line if is_whole else limit
    state.env["cells"] = state.env.get("cells", 0) + columns * (last - start - 1)
    return True if is_whole else _parse_table_source(state, start, end, before)


def _parse_table_source(state: StateBlock, start: int, end: int, token_count: int) -> bool:
    """Parse a table's source as a code block. It replaces the tokens after the first `token_count`."""
    del state.tokens[token_count:]
    last = start + 2
    while last < end and not state.isEmpty(last) and state.sCount[last] >= state.blkIndent:
        last += 1
    source = state.push("code_block", "code", 0)
    source.content, source.map, state.line = state.getLines(start, last, state.blkIndent, True), [start, last], last
    return True


def _add_task_boxes(state: StateCore) -> None:
    """Begin the items of a task list with a box.

    The plugin for task lists writes raw HTML, and searches the list again for each item.
    """
    for place in range(2, len(state.tokens)):
        item, paragraph, inline = state.tokens[place - 2 : place + 1]
        if item.type != "list_item_open" or paragraph.type != "paragraph_open" or not inline.children:
            continue
        text = inline.children[0]
        task = _TASK.match(text.content) if text.type == "text" else None
        if task is None:
            continue
        is_done = task[1] != " "
        text.content = text.content[task.end() :]
        attributes: dict[str, str | int | float] = {"aria-label": _("Done") if is_done else _("To do")}
        inline.children.insert(0, Token("task_box", "input", 0, attrs=attributes | ({"checked": ""} if is_done else {})))
        item.attrSet("class", "task")


def _parse_footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse the text of a footnote. Streamed texts have no footnotes: each look would move them to the end."""
    return "is_part" not in state.env and footnote_def(state, start, end, silent)


def _keep_unused_footnotes(state: StateCore) -> None:
    """Number the footnotes without any reference, which would otherwise be dropped."""
    footnotes = state.env.get("footnotes", {})
    for label, number in footnotes.get("refs", {}).items():
        if number < 0:
            footnotes["refs"][label] = len(footnotes["list"])
            footnotes["list"][len(footnotes["list"])] = {"label": label[1:], "count": 0}


def _render_footnote_part(kind: str) -> Callable[..., str]:
    texts = {"ref": '<sup data-footnote="{0}">{0}</sup>', "open": '<li data-footnote="{0}">', "close": "</li>\n"}
    texts |= {"block_open": '<ol class="footnotes"{1}>\n', "block_close": "</ol>\n", "anchor": ""}

    def render(self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return texts[kind].format(tokens[idx].meta.get("id", 0) + 1, self.renderAttrs(tokens[idx]))

    return render


class _Parser(MarkdownIt):
    """CommonMark with tables and strikethrough. A forbidden link stays text."""

    def __init__(self) -> None:
        # linkify_it is an optional dependency of markdown-it-py.
        linkify = find_spec("linkify_it") is not None
        options = {"html": False, "breaks": True, "linkify": linkify}
        super().__init__("commonmark", options, renderer_cls=_Renderer)
        self.inline = CjkInlineParser()
        self.configure("commonmark", options)
        self.enable(["table", "strikethrough"] + ["linkify"] * linkify)
        self.block.ruler.at("table", _parse_table, {"alt": ["paragraph", "reference"]})
        self.core.ruler.push("directions", set_directions)

    def validateLink(self, url: str) -> bool:
        return url.strip().partition(":")[0].lower() in URL_SCHEMES


class _WholeParser(_Parser):
    """The same with task lists, footnotes and formulas."""

    def __init__(self) -> None:
        super().__init__()
        add_formulas(self, _render_formula)
        self.core.ruler.after("inline", "task_boxes", _add_task_boxes)
        self.use(footnote_plugin, inline=False)
        self.block.ruler.at("footnote_def", _parse_footnote, {"alt": ["paragraph", "reference"]})
        self.core.ruler.before("footnote_tail", "unused_footnotes", _keep_unused_footnotes)
        for kind in ("ref", "open", "close", "block_open", "block_close", "anchor"):
            self.add_render_rule(f"footnote_{kind}", _render_footnote_part(kind))


def _compile_rules(parser: MarkdownIt) -> MarkdownIt:
    """Compile a parser's rules now. It does so in its first call, during which another thread would see only some rules."""
    for ruler in (parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2):
        ruler.getRules("")
    return parser


_PARSER, _WHOLE_PARSER = _compile_rules(_Parser()), _compile_rules(_WholeParser())


def choose_parser(text: str) -> MarkdownIt:
    """Return the parser for `text`. The larger parser's rules cost a tenth more, and most texts need none of them."""
    is_plain = "$" not in text and "\\" not in text and ("[" not in text or not _BRACKET.search(text))
    return _PARSER if is_plain else _WHOLE_PARSER
