"""The documents tell the truth: their examples are run, and the files that they name are there."""

import asyncio
import doctest
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from tests.agent.running import model_at, running
from tests.fakes.openai import Call, FakeOpenAI, Say

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


def test_the_tool_of_the_example_is_called_by_an_agent_like_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    source, proof = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tools.md").read_text(), re.DOTALL)
    module: Any = ModuleType("agent.tools.count_words")
    exec(source, vars(module))  # our own text
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = {}
    exec(proof, names)
    names["test_the_words_of_a_text_are_counted"]()
    asyncio.run(_called(module.count_words))


async def _called(tool: BaseTool) -> None:
    with FakeOpenAI() as fake:
        fake.reply(Call("count_words", {"text": "to be or not to be"}, id="1"), Say("Four of six."))
        async with model_at(fake) as model, running(model, [tool]) as chat:
            await chat.say("How many words are there?")
            assert [text for kind, _, text in chat.said() if kind == "tool"] == ["6 words, 4 of them different"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_links_to_is_there(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_test_that_the_readme_names_as_a_proof_is_there() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "README.md").read_text())
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
