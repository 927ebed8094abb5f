"""Emphasis in Chinese, Japanese and Korean, which write no spaces between words.

CommonMark wants a space or punctuation outside of marks beside a bracket, so `这是**“重点”**内容` would stay unchanged.
By the rule of https://github.com/tats-u/markdown-cjk-friendly, a character of these scripts is enough.
"""

import re
from unicodedata import east_asian_width

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

# Emoji are as wide as these scripts. The second half of a Hangul syllable is not.
_EMOJI = re.compile("[\u231a\u231b\u23e9-\u23f3\u25fd-\u2b55\U0001f000-\U0001faff]")
_HANGUL = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")
# A variation selector is skipped: it chooses the look of the character before it.
_SELECTOR = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]")


class CjkInlineParser(ParserInline):
    """markdown-it's inline parser with that rule."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = (StateInline if src.isascii() else _CjkState)(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _CjkState(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """Count the marks at `start`, and find whether they can open and close emphasis."""
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before, after = self.src[max(start - 2, 0) : start], self.src[end : min(end + 1, self.posMax)]
        before = before[:1] if _SELECTOR.match(before[-1:]) else before[-1:]
        if not before or not after or isWhiteSpace(ord(before)) or isWhiteSpace(ord(after)):
            return scanned
        if not _is_cjk(before) and not _is_cjk(after):
            return scanned
        return Scanned(canSplitWord or _is_sign(before), canSplitWord or _is_sign(after), scanned.length)


def _is_cjk(character: str) -> bool:
    is_wide = east_asian_width(character) in ("W", "F", "H") and not _EMOJI.match(character)
    return is_wide or _HANGUL.match(character) is not None


def _is_sign(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)
