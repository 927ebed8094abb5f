"""A project of LangGraph's, as `langgraph new` lays it out and its author went on: an agent with tools, and a new graph."""

import json

_LANGGRAPH = {
    "$schema": "https://langgra.ph/schema.json",
    "dependencies": ["."],
    "graphs": {"agent": "./src/react_agent/graph.py:graph", "new_agent": "agent.graph:graph"},
    "env": ".env",
    "python_version": "3.13",
    "image_distro": "wolfi",
}
ANSWER_ENV = """# Copy this file to .env, and fill in your keys
OPENAI_API_KEY={key}
OPENAI_BASE_URL={address}
CHAT_MODEL=openai/gpt-5.2
"""
_CONTEXT = '''"""Define the configurable parameters for the agent."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Annotated

from . import prompts


@dataclass(kw_only=True)
class Context:
    """The context for the agent."""

    system_prompt: str = field(
        default=prompts.SYSTEM_PROMPT,
        metadata={"description": "The system prompt to use for the agent's interactions."},
    )
    chat_model: Annotated[str, {"__template_metadata__": {"kind": "llm"}}] = field(
        default="anthropic/claude-sonnet-4-5",
        metadata={"description": "The name of the language model, in the form provider/model-name."},
    )
    max_search_results: int = field(default=10)

    def __post_init__(self) -> None:
        """Fetch env vars for attributes that were not passed as args."""
        for f in fields(self):
            if not f.init:
                continue
            if getattr(self, f.name) == f.default:
                setattr(self, f.name, os.environ.get(f.name.upper(), f.default))
'''
_PROMPTS = '"""Default prompts."""\n\nSYSTEM_PROMPT = "You are a helpful AI assistant.\\n{system_time}"\n'
_STATE = '''"""Define the state structures for the agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

from langchain_core.messages import AnyMessage
from langgraph.graph import add_messages
from langgraph.managed import IsLastStep
from typing_extensions import Annotated


@dataclass
class InputState:
    """Defines the input state for the agent, representing a narrower interface to the outside world."""

    messages: Annotated[Sequence[AnyMessage], add_messages] = field(default_factory=list)


@dataclass
class State(InputState):
    """Represents the complete state of the agent, extending InputState with additional attributes."""

    is_last_step: IsLastStep = field(default=False)
    searches: int = 0
'''
_TOOLS = '''"""This module provides example tools for web scraping and search functionality."""

from typing import Any, Callable, List, Optional, cast

from langgraph.runtime import get_runtime

from react_agent.context import Context


async def search(query: str) -> Optional[dict[str, Any]]:
    """Search for general web results."""
    runtime = get_runtime(Context)
    return {"title": f"Search results for {query}", "count": runtime.context.max_search_results}


TOOLS: List[Callable[..., Any]] = [search]
'''
_UTILS = '''"""Utility & helper functions."""

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel


def load_chat_model(fully_specified_name: str) -> BaseChatModel:
    """Load a chat model from a fully specified name, in the form provider/model."""
    provider, model = fully_specified_name.split("/", maxsplit=1)
    return init_chat_model(model, model_provider=provider)
'''
_REACT_GRAPH = '''"""Define a custom Reasoning and Action agent.

Works with a chat model with tool calling support.
"""

from datetime import datetime, timezone
from typing import Any, Dict, Literal, cast

from langchain_core.messages import AIMessage
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime

from react_agent.context import Context
from react_agent.state import InputState, State
from react_agent.tools import TOOLS
from react_agent.utils import load_chat_model


async def call_model(state: State, runtime: Runtime[Context]) -> Dict[str, Any]:
    """Call the LLM powering our agent."""
    model = load_chat_model(runtime.context.chat_model).bind_tools(TOOLS)
    system_message = runtime.context.system_prompt.format(system_time=datetime.now(tz=timezone.utc).isoformat())
    response = cast(
        "AIMessage",
        await model.ainvoke([{"role": "system", "content": system_message}, *state.messages]),
    )
    if state.is_last_step and response.tool_calls:
        return {"messages": [AIMessage(id=response.id, content="Sorry, I could not find an answer in time.")]}
    return {"messages": [response], "searches": state.searches + len(response.tool_calls)}


builder = StateGraph(State, input_schema=InputState, context_schema=Context)
builder.add_node(call_model)
builder.add_node("tools", ToolNode(TOOLS))
builder.add_edge("__start__", "call_model")


def route_model_output(state: State) -> Literal["__end__", "tools"]:
    """Determine the next node based on the model's output."""
    last_message = state.messages[-1]
    if not isinstance(last_message, AIMessage):
        raise ValueError(f"Expected AIMessage in output edges, but got {type(last_message).__name__}")
    return "tools" if last_message.tool_calls else "__end__"


builder.add_conditional_edges("call_model", route_model_output)
builder.add_edge("tools", "call_model")

graph = builder.compile(name="ReAct Agent")
'''
_NEW_GRAPH = '''"""LangGraph single-node graph template.

Returns a predefined response. Replace logic and configuration as needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict

from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict


class Context(TypedDict):
    """Context parameters for the agent."""

    my_configurable_param: str


@dataclass
class State:
    """Input state for the agent."""

    changeme: str = "example"


async def call_model(state: State, runtime: Runtime[Context]) -> Dict[str, Any]:
    """Process input and returns output."""
    configured = (runtime.context or {}).get("my_configurable_param")
    return {"changeme": f"output from call_model. Configured with {configured}"}


graph = (
    StateGraph(State, context_schema=Context)
    .add_node(call_model)
    .add_edge("__start__", "call_model")
    .compile(name="New Graph")
)
'''
_PYPROJECT = """[project]
name = "agent"
version = "0.0.1"
description = "Starter template for making a new agent LangGraph."
requires-python = ">=3.10"
dependencies = ["langgraph>=1.0.0", "langchain>=1.0.0", "langchain-openai", "python-dotenv>=1.0.1"]

[tool.setuptools]
packages = ["langgraph.templates.react_agent", "react_agent", "agent"]
[tool.setuptools.package-dir]
"react_agent" = "src/react_agent"
"agent" = "src/agent"
"""
FILES = {  # beside .env
    "langgraph.json": json.dumps(_LANGGRAPH, indent=2),
    "pyproject.toml": _PYPROJECT,
    ".env.example": ANSWER_ENV.format(key="", address=""),
    "README.md": "# ReAct agent\n",
    "src/react_agent/__init__.py": '"""React Agent."""\n\nfrom react_agent.graph import graph\n\n__all__ = ["graph"]\n',
    "src/react_agent/context.py": _CONTEXT,
    "src/react_agent/prompts.py": _PROMPTS,
    "src/react_agent/state.py": _STATE,
    "src/react_agent/tools.py": _TOOLS,
    "src/react_agent/utils.py": _UTILS,
    "src/react_agent/graph.py": _REACT_GRAPH,
    "src/agent/__init__.py": '"""New LangGraph Agent."""\n\nfrom agent.graph import graph\n\n__all__ = ["graph"]\n',
    "src/agent/graph.py": _NEW_GRAPH,
}
