r"""Formulas in Markdown: `$…$`, `$$…$$`, `\(…\)`, `\[…\]` and the environments of amsmath.

Amounts of money stay text, by pandoc's rule: no space inside the dollar signs, and no digit after the last. In a
growing text (`env["is_growing"]`) an unclosed formula and the rest after it stay text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.amsmath import amsmath_block
from mdit_py_plugins.dollarmath.index import math_block_dollar, math_inline_dollar
from mdit_py_plugins.utils import is_code_block

OPEN_FORMULA = "open_formula"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula of a text: its TeX, and how it is written and shown."""

    source: str
    # It is the TeX with its delimiters.
    written: str
    is_display: bool
    # The formula is outside of any paragraph.
    is_block: bool


RuleBlock = Callable[[StateBlock, int, int, bool], bool]
RenderFormula = Callable[["Formula"], str]

_CLOSERS = {"$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]", "": ""}
_BRACKETS = {
    "\\(": re.compile(r"\\\(((?:[^\\]|\\[^()])++)\\\)"),
    # The lookahead excludes a link whose brackets are escaped.
    "\\[": re.compile(r"\\\[((?:[^\\]|\\[^\[\]])++)\\\](?!\()"),
}
_BLOCK_OPENER = re.compile(r"\$\$|\\\[|\\begin")
_CLOSED_LINE = re.compile(r"\$\$.*\$\$|\\\[.*\\\]")
_parse_dollars = math_block_dollar(allow_labels=False, allow_blank_lines=False)
_parse_inline_dollars = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)


def add_formulas(parser: MarkdownIt, render: RenderFormula) -> None:
    """Let `parser` find formulas and call `render` for each."""

    def render_token(self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token, source = tokens[idx], tokens[idx].content.strip()
        written = f"{token.markup}{source}{_CLOSERS[token.markup]}"
        return render(Formula(source, written, is_display=token.markup not in ("$", "\\("), is_block=token.block))

    parser.inline.ruler.before("escape", "formula_brackets", _parse_inline_brackets)
    parser.inline.ruler.before("escape", "formula_dollars", _parse_inline_dollars)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "formula", _parse_block, {"alt": interrupted})
    for name in ("math_inline", "math_inline_double", "math_block", "amsmath"):
        parser.add_render_rule(name, render_token)


def _parse_inline_brackets(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "\\$":
        return False
    opener = state.src[state.pos : state.pos + 2]
    if opener not in ("\\(", "\\[", "$$"):
        return False
    match = _BRACKETS[opener].match(state.src, state.pos, state.posMax) if opener != "$$" else None
    if match is None or not match[1].strip():
        return _parse_open_formula(state, opener, silent)
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content, token.markup = match[1], opener
    state.pos = match.end()
    return True


def _parse_open_formula(state: StateInline, opener: str, silent: bool) -> bool:
    """Keep the rest of a growing paragraph as text after an unclosed delimiter."""
    if not state.env.get("is_growing") or _CLOSERS[opener] in state.src[state.pos + 2 :]:
        return False
    if not silent:
        first, *others = state.src[state.pos : state.posMax].split("\n")
        state.pending += first
        for line in others:
            state.push("softbreak", "br", 0)
            state.pending += line.lstrip()
    state.pos = state.posMax
    return True


def _parse_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a formula at the beginning of a line. It ends before a blank line, as in TeX."""
    first = state.bMarks[start] + state.tShift[start]
    opener = _BLOCK_OPENER.match(state.src, first, state.eMarks[start])
    if opener is None or is_code_block(state, start):
        return False
    indent, limit = min(state.blkIndent, state.sCount[start]), start + 1
    while limit < end and not state.isEmpty(limit) and state.sCount[limit] >= indent:
        limit += 1
    tokens, line = len(state.tokens), state.line
    # A formula with a smaller indent ends the list before it.
    outer_indent, state.blkIndent = state.blkIndent, indent
    is_found = _BLOCK_RULES[opener[0]](state, start, limit, False)
    state.blkIndent = outer_indent
    if is_found and "$$" in state.tokens[-1].content:
        # The line begins and ends with a formula.
        is_found = False
    elif not is_found and limit == end:
        is_found = _parse_open_block(state, start, end)
    if silent or not is_found:
        del state.tokens[tokens:]
        state.line = line
    return is_found


def _parse_brackets(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    for line in range(start, end):
        if state.src[state.bMarks[line] : state.eMarks[line]].rstrip().endswith("\\]"):
            break
    else:
        return False
    content = state.getLines(start, line + 1, state.blkIndent, False).strip()[2:-2]
    if not content.strip() or "\\]" in content:
        return False
    token = state.push("math_block", "math", 0)
    token.block, token.content, token.markup = True, content, "\\["
    token.map = [start, line + 1]
    state.line = line + 1
    return True


def _parse_open_block(state: StateBlock, start: int, end: int) -> bool:
    """Take an open formula as the last block of a growing text: it may still be closed."""
    first = state.bMarks[start] + state.tShift[start]
    if not state.env.get("is_growing") or _CLOSED_LINE.match(state.src, first, state.eMarks[start]):
        return False
    token = state.push(OPEN_FORMULA, "p", 0)
    token.block, token.content = True, state.getLines(start, end, state.blkIndent, False)
    token.map = [start, end]
    state.line = end
    return True


_BLOCK_RULES: dict[str, RuleBlock] = {"$$": _parse_dollars, "\\[": _parse_brackets, "\\begin": amsmath_block}
