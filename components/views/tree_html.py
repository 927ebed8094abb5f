"""The tree of a graph's value as HTML, or of two values with their differences. It shows data, so all of it is escaped."""

from html import escape

from components.views.value_tree import TreeNode, describe_count
from words import _, ngettext

_CONTAINERS = ("object", "list", "messages")


def write_tree(one: TreeNode | None, other: TreeNode | None, *, is_compared: bool) -> str:
    return f'<ul class="tree">{_write_item(one, other, is_compared=is_compared, is_open=True)}</ul>'


def _write_item(
    one: TreeNode | None, other: TreeNode | None, *, is_compared: bool, label: str | None = None, is_open: bool = False
) -> str:
    """Write a value of a tree, and what is below it."""
    is_same = not is_compared or one == other
    node = one or other
    assert node is not None
    key = "" if label is None else f'<span class="tree-key">{escape(label)}</span>'
    is_pair = is_same or (one is not None and other is not None and one["kind"] == other["kind"])
    if not is_pair or node["kind"] not in _CONTAINERS or node["count"] == 0:
        return f"<li>{key}{escape(_describe(node)) if is_same else _write_both(one, other)}</li>"
    counts = {_count(each): None for each in (one, other) if each is not None}
    head = escape(_count(node) if is_same else " → ".join(counts))
    is_unfolded = " open" if is_open or not is_same else ""
    below = _write_items(one, None if is_same else other, node, is_same=is_same)
    summary = f'<summary>{key}<span class="quiet">{head}</span></summary>'
    return f"<li><details{is_unfolded}>{summary}<ul>{below}</ul></details></li>"


def _write_items(one: TreeNode | None, other: TreeNode | None, node: TreeNode, *, is_same: bool) -> str:
    sides = [each for each in (one, other) if each is not None] or [node]
    items = [dict(each["items"]) for each in sides]
    keys = list(dict.fromkeys(key for each in items for key in each))
    written = []
    for key in keys:
        first, second = (each.get(key) for each in (items[0], items[-1]))
        # Otherwise one of them may be behind the cut.
        is_known = all(each.get(key) or not side["digest"] for each, side in zip(items, sides, strict=True))
        compared = not is_same and is_known
        written.append(_write_item(first, None if is_same else second, is_compared=compared, label=key))
    hidden = max(each["count"] for each in sides) - len(keys)
    more = ngettext("… {count:,} more item", "… {count:,} more items", hidden)
    return "".join(written) + (f'<li class="quiet">{escape(more)}</li>' if hidden > 0 else "")


def _write_both(one: TreeNode | None, other: TreeNode | None) -> str:
    """Write a value before and after a change, where there is one."""
    sides = [(each, tag) for each, tag in ((one, "del"), (other, "ins")) if each is not None]
    return " → ".join(f"<{tag}>{escape(_describe(each))}</{tag}>" for each, tag in sides)


def _count(node: TreeNode) -> str:
    return describe_count(node["kind"], node["count"])


def _describe(node: TreeNode) -> str:
    if node["kind"] in _CONTAINERS:
        return _count(node) if node["count"] else "{}" if node["kind"] == "object" else "[]"
    if node["kind"] == "other":
        return node["text"]
    if node["count"] <= len(node["text"]):
        return _("“{text}”", text=node["text"])
    return ngettext("“{text}…” ({count:,} character)", "“{text}…” ({count:,} characters)", node["count"], text=node["text"])
