"""The direction of writing of each block of a text, as its readers expect it.

`dir="auto"` looks at the first letter only, so an Arabic sentence that begins with a program's name is laid out from left to
right. Here the words decide, by the threshold of Closure's `estimateDirection`: two in five are enough, because texts from
right to left contain more names in Latin letters than the reverse. The first word counts twice if it is from right to left.
Addresses and code do not count as words.
"""

import re
from dataclasses import dataclass, field

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

# It is the share of a block's words.
MIN_RIGHT_TO_LEFT_WORDS = 0.4

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_LETTER = re.compile(r"[^\W\d_]")
_BLOCKS = ("paragraph_open", "heading_open", "blockquote_open", "table_open")
_LISTS = ("bullet_list_open", "ordered_list_open", "footnote_block_open")
# The allow-list lets the attribute pass on these tags.
DIRECTED_TAGS = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "table")


def is_right_to_left(text: str) -> bool:
    """Return whether a part of `text` is written from right to left."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def find_direction(text: str) -> str:
    """Return “rtl” or “ltr” for a text with words, otherwise “auto”."""
    letters = [letter[0] for word in text.split() if "://" not in word and (letter := _LETTER.search(word))]
    if not letters:
        return "auto"
    letters += letters[:1] * is_right_to_left(letters[0])
    return "rtl" if sum(map(is_right_to_left, letters)) >= MIN_RIGHT_TO_LEFT_WORDS * len(letters) else "ltr"


def write_direction(text: str) -> str:
    """Return the `dir` attribute for an element whose text has a part from right to left; otherwise nothing."""
    return f' dir="{find_direction(text)}"' if is_right_to_left(text) else ""


def set_directions(state: StateCore) -> None:
    """Give each block its direction if its outermost block has text from right to left.

    A list, with the lists inside it, is a single block: its marks stand on the same side.
    """
    if not is_right_to_left(state.src):
        return
    open_blocks: list[_Block] = []
    blocks: list[_Block] = []
    for token in state.tokens:
        is_in_list = any(block.token.type in _LISTS for block in open_blocks)
        if token.type in _BLOCKS or (token.type in _LISTS and not is_in_list):
            open_blocks.append(_Block(token))
            blocks.append(open_blocks[-1])
        elif token.type == "inline":
            for block in open_blocks:
                block.texts.extend(child.content for child in token.children or () if child.type == "text")
        elif open_blocks and open_blocks[-1].ends_at(token):
            open_blocks.pop()
        if not open_blocks and blocks:
            _direct_blocks(blocks)
            blocks.clear()


@dataclass(frozen=True, slots=True)
class _Block:
    token: Token
    texts: list[str] = field(default_factory=list)

    def ends_at(self, token: Token) -> bool:
        return token.level == self.token.level and token.type == self.token.type.replace("_open", "_close")


def _direct_blocks(blocks: list[_Block]) -> None:
    """Set the directions of an outermost block and of the blocks within it."""
    if any(map(is_right_to_left, blocks[0].texts)):
        for block in blocks:
            block.token.attrSet("dir", find_direction(" ".join(block.texts)))
