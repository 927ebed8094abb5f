"""The measures of the dearest documents work, at small sizes; what they measure is in benchmarks/."""

from pathlib import Path

import pytest

from benchmarks import limits
from benchmarks.databases import Place


@pytest.mark.parametrize("name", limits.DOCUMENTS)
def test_each_step_with_a_dear_document_is_measured(tmp_path: Path, name: str) -> None:
    place = Place("SQLite", str(tmp_path / "a.db"), tmp_path)
    costs = limits.measure_document(limits.DOCUMENTS[name](limits.QUICK_SHARE / 10), place)
    assert sorted(costs.steps) == sorted(limits.STEPS)


def test_the_refusal_of_a_file_is_measured() -> None:
    assert limits.measure_refusal(limits.QUICK_SHARE) > 0
