"""The branches of a document are matched with a conversation's, from the surest match to the least sure."""

from checkpoints.interchange.branch_index import BranchHead, match_branches
from checkpoints.values.model import Branch, Node

LINE = [Node(f"m{depth}", 1, depth) for depth in range(4)]  # one path of four messages
PARENTS = {1: (None, -1)}


def match(heads: list[tuple[str, int]], branches: list[tuple[str, int]]) -> dict[str, str]:
    """Match (name, depth) pairs; the ids are d0, d1, … in the document and b0, b1, … in the conversation."""
    stored = [
        (Branch(f"b{number}", "thread", name, LINE[depth].id), LINE[depth]) for number, (name, depth) in enumerate(branches)
    ]
    return match_branches([BranchHead(f"d{n}", name, LINE[depth]) for n, (name, depth) in enumerate(heads)], stored, PARENTS)


def test_a_name_decides_before_a_place_does() -> None:
    assert match([("other", 1), ("side", 1)], [("side", 1), ("main", 1)]) == {"d0": "b1", "d1": "b0"}


def test_a_renamed_branch_is_found_by_its_place() -> None:
    assert match([("main", 2)], [("trunk", 2)]) == {"d0": "b0"}


def test_a_branch_that_got_a_number_is_found_by_its_name_without_it() -> None:
    assert match([("main", 1)], [("main (2)", 3)]) == {"d0": "b0"}


def test_a_branch_continues_the_last_one_of_its_name_on_its_path() -> None:
    assert match([("main", 0), ("main", 2)], [("main", 3)]) == {"d1": "b0"}


def test_a_branch_is_taken_once() -> None:
    assert match([("main", 1), ("main", 1)], [("main", 1)]) == {"d0": "b0"}


def test_a_branch_before_the_document_s_is_another_one() -> None:
    assert match([("main", 3)], [("main", 1)]) == {}
