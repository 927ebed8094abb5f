"""References of a document become those of the database, whatever numbers and places its values and messages got."""

from typing import Any

import pytest

from checkpoints.interchange.import_writing import StoredReferences
from checkpoints.values.model import Node

NUMBERS = [5, 6, 9, 10]  # another transaction took those between
PATHS = {"a": Node("stored", 3, 1)}


@pytest.mark.parametrize(
    ("reference", "stored"),
    [
        (7, 7),
        (["v", 2], ["v", 9]),
        (["r", []], ["r", []]),
        (["r", [[0, 1], [2, 3]]], ["r", [[5, 6], [9, 10]]]),
        (["r", [[0, 3]]], ["r", [[5, 6], [9, 10]]]),
        (["r", [[1, 2], [0, 0]]], ["r", [[6, 6], [9, 9], [5, 5]]]),
        (["m", "a"], ["m", "stored", 2]),
        (["m", None], ["m", None, 0]),
        (["d", ["v", 0]], ["d", ["v", 5]]),
    ],
)
def test_a_reference_is_translated(reference: Any, stored: Any) -> None:
    assert StoredReferences.to(PATHS, NUMBERS).translate(reference) == stored
