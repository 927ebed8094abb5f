"""The tools of agents, each in its own file. The settings select among them (see docs/tools.md)."""

from collections.abc import Collection, Sequence
from pathlib import Path

from langchain_core.tools import BaseTool
from pydantic import SecretStr

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.tools.ask_agent import ask_agent
from agent.tools.calculator import calculator
from agent.tools.fork import fork
from agent.tools.read_file import make_read_file_tool
from agent.tools.time_travel import TIME_TRAVEL_TOOLS, describe_positions

# Tools that need no settings. Add a new tool here, and to names.py.
PLAIN: tuple[BaseTool, ...] = (calculator,)
# The graph of a run runs these.
GRAPH_TOOLS: tuple[BaseTool, ...] = (ask_agent, fork, *TIME_TRAVEL_TOOLS)


def select_tools(
    added: Sequence[BaseTool] = (),
    *,
    tavily_api_key: SecretStr | None,
    tavily_base_url: str | None,
    files_dir: Path | None = None,
    enabled: Collection[str] | None = None,
) -> list[BaseTool]:
    """Return the plain tools, those of extensions, web search if there is a key, and files if there is a folder.

    The model never sees a tool that cannot work. With `enabled`, only tools with these names are returned.
    """
    tools = [*PLAIN, *added]
    if tavily_api_key is not None and tavily_api_key.get_secret_value().strip():
        from agent.tools.web_search import make_web_search_tool  # noqa: PLC0415  (1.5 MiB and its client's tokenizer)

        tools.append(make_web_search_tool(tavily_api_key, tavily_base_url))
    if files_dir is not None:
        tools.append(make_read_file_tool(files_dir))
    return [tool for tool in tools if enabled is None or tool.name in enabled]


def select_graph_tools(enabled: Collection[str] | None, numbers: NumberStyle = DEFAULT_NUMBERS) -> list[BaseTool]:
    """Return the enabled tools that a run's graph runs, described for message numbers in this style."""
    tools = [describe_positions(tool, numbers) for tool in GRAPH_TOOLS]
    return [tool for tool in tools if enabled is None or tool.name in enabled]
