"""LangChain's standard tests of tools: every tool works synchronously, asynchronously and as a call."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from pydantic import SecretStr

from agent.tools.calculator import calculator
from agent.tools.read_file import make_read_file_tool
from agent.tools.web_search import make_web_search_tool
from tests.fakes.tavily import FakeTavily

ARGUMENTS = {
    "calculator": {"expression": "6 * 7"},
    "read_file": {"path": "plan.md"},
    "web_search": {"query": "weather in Oslo"},
}


class OneTool:
    """The tool under test: one after the other, each with arguments that it takes."""

    chosen: BaseTool

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture(autouse=True, params=ARGUMENTS)
    def choose_tool(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
        (tmp_path / "plan.md").write_text("One step.")
        with FakeTavily() as tavily:
            made = [calculator, make_read_file_tool(tmp_path), make_web_search_tool(SecretStr("tvly-key"), tavily.base_url)]
            self.chosen = next(each for each in made if each.name == request.param)
            yield

    @property
    def tool_constructor(self) -> BaseTool:
        return self.chosen

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return ARGUMENTS[self.chosen.name]


class TestDefinition(OneTool, ToolsUnitTests):
    pass


@pytest.mark.anyio
class TestCalls(OneTool, ToolsIntegrationTests):
    pass
