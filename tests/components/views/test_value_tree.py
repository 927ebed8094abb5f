"""Values as trees of bounded size, and on one line."""

import json
from typing import Any

import pytest

from components.views.value_tree import (
    MAX_LEVEL_ITEMS,
    MAX_LEVELS,
    MAX_TEXT_CHARS,
    MAX_TREE_CHARS,
    MAX_TREE_NODES,
    TreeBudget,
    TreeNode,
    build_tree,
    describe_on_line,
)


def nest(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


def count_nodes(node: TreeNode) -> int:
    return 1 + sum(count_nodes(below) for _, below in node["items"])


def test_a_small_value_is_whole() -> None:
    budget = TreeBudget()
    tree = build_tree({"a": [1, None], "b": "text"}, budget)
    assert [name for name, _ in tree["items"]] == ["a", "b"]
    assert [(key, node["text"]) for key, node in tree["items"][0][1]["items"]] == [("0", "1"), ("1", "null")]
    assert not budget.is_cut


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        [0] * 10**5,
        {str(n): n for n in range(10**4)},
        [["y" * 400] * 90] * 90,
        nest(150),
        {"k" * 10**6: 1},
        10**3000,
        [[0] * 90] * 90,
    ],
    ids=["text", "list", "object", "wide", "deep", "key", "number", "small"],
)
def test_a_large_value_is_cut_and_says_so(value: Any) -> None:
    budget = TreeBudget()
    tree = build_tree(value, budget)
    assert budget.is_cut
    assert count_nodes(tree) <= MAX_TREE_NODES + MAX_LEVEL_ITEMS * MAX_LEVELS
    assert len(json.dumps(tree)) < MAX_TREE_CHARS + 200 * MAX_TREE_NODES


@pytest.mark.parametrize("start", ["x" * MAX_TEXT_CHARS, ["x"] * MAX_LEVEL_ITEMS], ids=["text", "list"])
def test_two_values_that_begin_alike_are_told_apart(start: Any) -> None:
    one, other = (build_tree(start + type(start)(end), TreeBudget()) for end in "ab")
    assert {**one, "digest": ""} == {**other, "digest": ""}
    assert one["digest"] != other["digest"]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (3, "3"),
        (float("nan"), "NaN"),
        ("two\nlines", "“two lines”"),
        ("x" * 100, f"“{'x' * 59}…” (100 characters)"),
        (["7A"], '["7A"]'),
        (["x" * 100], "1 item"),
        ({str(n): 0 for n in range(1_000)}, "1,000 fields"),
        ([], "[]"),
    ],
)
def test_a_value_is_described_on_one_line(value: Any, line: str) -> None:
    assert describe_on_line(value) == line
