"""Values of a graph's channels as the page shows them: a tree of bounded size, or a short line. Pure functions."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, TypedDict

from checkpoints.values import serde
from checkpoints.values.text import shorten, shorten_line
from words import _, ngettext

# The limits count the nodes and characters of all values in a view.
MAX_TREE_NODES = 2_000
MAX_TREE_CHARS = 200_000
MAX_LEVEL_ITEMS = 100
MAX_LEVELS = 12
MAX_TEXT_CHARS = 500
MAX_LINE_CHARS = 60


def format_size(count: int) -> str:
    """Write a number of bytes as assets/modules/words/format.mjs does: “850 B”, “12 kB”, “3.4 MB”, “24 GB”."""
    if count < 1_000:
        return f"{count} B"
    if count < 999_500:
        return f"{count / 1_000:.0f} kB"
    size, unit = (count / 1_000_000, "MB") if count < 999_500_000 else (count / 1_000_000_000, "GB")
    number = f"{size:.1f}" if size < 9.95 else f"{size:.0f}"
    return f"{number.replace('.', _('1.5')[1])} {unit}"


class TreeNode(TypedDict):
    """A value. `count` is the full number of its items or characters, even if fewer are shown.

    `digest` distinguishes a cut value from another value with the same beginning; otherwise it is empty.
    """

    kind: Literal["object", "list", "messages", "text", "other"]
    text: str
    count: int
    items: list[tuple[str, "TreeNode"]]
    digest: str


class TreeBudget:
    """The nodes and characters left for the trees of a view. `is_cut` tells whether a value had more."""

    def __init__(self) -> None:
        self.nodes = MAX_TREE_NODES
        self.chars = MAX_TREE_CHARS
        self.is_cut = False

    def take_text(self, text: str, max_chars: int) -> str:
        room = min(max_chars, self.chars)
        self.is_cut = self.is_cut or len(text) > room
        shown = text[:room]
        self.chars -= len(shown)
        return shown


def build_tree(value: Any, budget: TreeBudget, level: int = 0) -> TreeNode:
    """Build the tree of plain JSON, as far as the budget allows."""
    budget.nodes -= 1
    if not isinstance(value, dict | list):
        whole = value if isinstance(value, str) else serde.format_indented(value)
        text = budget.take_text(whole, MAX_TEXT_CHARS)
        digest = make_digest(value) if len(text) < len(whole) else ""
        return TreeNode(
            kind="text" if isinstance(value, str) else "other", text=text, count=len(whole), items=[], digest=digest
        )
    items = [] if level == MAX_LEVELS else _build_items(value, budget, level)
    is_cut = len(items) < len(value)
    budget.is_cut = budget.is_cut or is_cut
    return TreeNode(
        kind=_find_kind(value), text="", count=len(value), items=items, digest=make_digest(value) if is_cut else ""
    )


def make_digest(value: Any) -> str:
    """Return a digest shared only by equal values."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _build_items(value: Mapping[str, Any] | list[Any], budget: TreeBudget, level: int) -> list[tuple[str, TreeNode]]:
    items: list[tuple[str, TreeNode]] = []
    for key, below in islice(_list_pairs(value), MAX_LEVEL_ITEMS):
        if budget.nodes <= 0 or budget.chars <= 0:
            break
        items.append((budget.take_text(key, MAX_TEXT_CHARS), build_tree(below, budget, level + 1)))
    return items


def _list_pairs(value: Mapping[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    return iter(value.items()) if isinstance(value, Mapping) else ((str(n), each) for n, each in enumerate(value))


def describe_on_line(value: Any) -> str:
    """Describe a value in a few words: a small value as a whole, a large value by its size."""
    if isinstance(value, str):
        text = shorten_line(value, MAX_LINE_CHARS)
        if len(value) <= MAX_LINE_CHARS:
            return _("“{text}”", text=text)
        return ngettext("“{text}” ({count:,} character)", "“{text}” ({count:,} characters)", len(value), text=text)
    if not isinstance(value, dict | list):
        return shorten(serde.format_indented(value), MAX_LINE_CHARS)
    text = "" if len(value) > MAX_LINE_CHARS else json.dumps(value, ensure_ascii=False)
    return text if 0 < len(text) <= MAX_LINE_CHARS else describe_size(value, len(value))


def describe_size(value: Any, count: int) -> str:
    """Describe the number of parts, `count`. `value` may have only the first of them."""
    return describe_count(_find_kind(value), count)


def describe_count(kind: str, count: int) -> str:
    """Describe the number of parts of a value, by its kind."""
    if kind == "messages":
        return ngettext("{count:,} message", "{count:,} messages", count)
    if kind == "list":
        return ngettext("{count:,} item", "{count:,} items", count)
    return ngettext("{count:,} field", "{count:,} fields", count)


def _find_kind(value: Any) -> Literal["object", "list", "messages"]:
    """Return the kind of an object or list. `checkpoints.langgraph` gives messages as objects named after their class."""
    if isinstance(value, dict):
        return "object"
    return "messages" if value and all(map(_is_message, value)) else "list"


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)).endswith(("Message", "MessageChunk"))
