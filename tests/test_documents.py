"""The documents tell the truth: their examples are run, and the files that they name are there."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_worked_example_of_time_travel_is_what_happens() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "time-travel.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 30
    assert found.failed == 0


def test_the_library_example_of_the_readme_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)  # our own text
    assert names["state"] == {"messages": names["messages"]}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_links_to_is_there(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_test_that_the_readme_names_as_a_proof_is_there() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "README.md").read_text())
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
