"""The direction of writing of each block of a text, as its readers expect it.

`dir="auto"` asks the first letter alone, and an Arabic sentence that begins with the name of a program is laid out from left
to right. Here the words decide, by the threshold of Closure's `estimateDirection`: two in five are enough, because a text
from right to left has names in Latin letters more often than the other way round. The first word counts twice if it is from
right to left. Addresses and code are no words.
"""

import re
from dataclasses import dataclass, field

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

MIN_RIGHT_TO_LEFT_WORDS = 0.4  # of all words of a block

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_LETTER = re.compile(r"[^\W\d_]")
_BLOCKS = ("paragraph_open", "heading_open", "blockquote_open", "table_open")
_LISTS = ("bullet_list_open", "ordered_list_open", "footnote_block_open")
# Of which an attribute passes the allow-list.
DIRECTED_TAGS = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "table")


def is_right_to_left(text: str) -> bool:
    """Return whether a part of `text` is written from right to left."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def find_direction(text: str) -> str:
    """Return “rtl” or “ltr” for a text with words, and “auto” for another."""
    letters = [letter[0] for word in text.split() if "://" not in word and (letter := _LETTER.search(word))]
    if not letters:
        return "auto"
    letters += letters[:1] * is_right_to_left(letters[0])
    return "rtl" if sum(map(is_right_to_left, letters)) >= MIN_RIGHT_TO_LEFT_WORDS * len(letters) else "ltr"


def write_direction(text: str) -> str:
    """Return the attribute for an element with a text from right to left in it; nothing for others."""
    return f' dir="{find_direction(text)}"' if is_right_to_left(text) else ""


def set_directions(state: StateCore) -> None:
    """Give each block its direction, where an outermost block has text from right to left.

    A list is one block: its marks stand on one side. So are the lists within it.
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
    """The token that opens a block, and the texts in it."""

    token: Token
    texts: list[str] = field(default_factory=list)

    def ends_at(self, token: Token) -> bool:
        return token.level == self.token.level and token.type == self.token.type.replace("_open", "_close")


def _direct_blocks(blocks: list[_Block]) -> None:
    """Set the directions of an outermost block and those within it."""
    if any(map(is_right_to_left, blocks[0].texts)):
        for block in blocks:
            block.token.attrSet("dir", find_direction(" ".join(block.texts)))
