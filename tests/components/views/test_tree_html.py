"""The trees of a graph's values as HTML."""

from typing import Any

from components.views.tree_html import write_tree
from components.views.value_tree import TreeBudget, build_tree
from tests.hostile_texts import HOSTILE_TEXTS, Elements, check_harmless

OWN = {"ul", "li", "details", "summary", "span", "del", "ins"}


def write(one: Any, other: Any = None, *, is_compared: bool = False) -> str:
    trees = [build_tree(each, TreeBudget()) for each in (one, other)]
    return write_tree(trees[0], trees[1] if is_compared else None, is_compared=is_compared)


def test_a_value_is_data_whatever_it_holds() -> None:
    for text in HOSTILE_TEXTS:
        for html in (write({text: [text]}), write({text: [text, 1]}, {text: [text, 2]}, is_compared=True)):
            check_harmless(html)
            assert {tag for tag, _ in Elements(html).found} <= OWN


def test_only_what_differs_is_marked() -> None:
    html = write({"a": 1, "b": [1, 2], "c": "x"}, {"a": 2, "b": [1, 2], "d": "y"}, is_compared=True)
    assert '<span class="tree-key">a</span><del>1</del> → <ins>2</ins>' in html
    assert '<span class="tree-key">c</span><del>“x”</del>' in html
    assert '<span class="tree-key">d</span><ins>“y”</ins>' in html
    assert html.count("<del>") == 2
    assert "<details><summary>" in html  # of what is the same, which stays folded


def test_what_may_be_behind_the_cut_of_the_other_is_not_marked() -> None:
    one, other = {str(number): 0 for number in range(200)}, {str(number): 0 for number in range(300)}
    html = write({**one, "0": 1}, other, is_compared=True)
    assert (html.count("<del>"), html.count("<ins>")) == (1, 1)
    assert "… 200 more items" in html
