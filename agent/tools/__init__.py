"""The tools that an agent can be given: one file a tool, chosen here by what the settings allow."""

from langchain_core.tools import BaseTool
from pydantic import SecretStr

from agent.tools.calculator import calculator
from agent.tools.web_search import web_search_tool


def tools_for(*, tavily_api_key: SecretStr | None, tavily_base_url: str | None) -> list[BaseTool]:
    """The calculator always; web search only with a key, so that the model is never offered what cannot work."""
    tools: list[BaseTool] = [calculator]
    if tavily_api_key is not None and tavily_api_key.get_secret_value().strip():
        tools.append(web_search_tool(tavily_api_key, tavily_base_url))
    return tools
