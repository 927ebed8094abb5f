"""Build the agent of the settings: its tools, sub-agents and MCP servers.

Each function raises `SettingsError` for an unusable setting.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.subagents.agents import BUILT_IN_AGENTS, Agent, Agents
from agent.tools.names import ASK_AGENT, MAIN_AGENT_TOOLS, TOOL_NAMES
from agent.tracing.environment import switch_off_library_tracing
from application.composition.loading import LoadedAgent
from application.settings import Settings, SettingsError
from checkpoints import MAIN

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from agent.tools.mcp import McpServer


def check_files_dir(settings: Settings) -> None:
    """Refuse a folder of files if a model could read keys or the conversations there. Raises `SettingsError`."""
    if settings.files_dir is None:
        return
    folder, data = settings.files_dir.resolve(), settings.data_dir.resolve()
    if (folder / ".env").exists():
        raise SettingsError(
            f"FILES_DIR {folder} holds a file .env, with keys. Name a folder with nothing but files to read."
        )
    kept = [data, *(Path(name).resolve() for name in (".env", "waymark.toml") if Path(name).exists())]
    if url := settings.connection_url.partition("sqlite:///")[2]:
        kept.append(Path(url).resolve())
    if folder.is_relative_to(data) or any(path.is_relative_to(folder) for path in kept):
        raise SettingsError(f"FILES_DIR {folder} holds Waymark's data or settings. Name a folder beside them.")


def check_tools(settings: Settings, added: Collection[str] = ()) -> None:
    """Refuse settings if their tools cannot be built. `added` are the names of the extensions' tools."""
    check_files_dir(settings)
    if taken := set(TOOL_NAMES).intersection(added):
        raise SettingsError(f"An extension cannot have a tool {min(taken)}: Waymark has one of that name.")
    known = (*TOOL_NAMES, *added)
    for field, names in (("tools_enabled", settings.tools_enabled), ("tools_approval", settings.tools_approval)):
        if not set(names or ()) <= set(known):
            raise SettingsError(f"{settings.name_source(field)} must be a list of tools' names: {', '.join(known)}.")


def build_tools(settings: Settings, added: "Sequence[BaseTool]" = ()) -> "list[BaseTool]":
    from agent.tools.registry import select_tools  # noqa: PLC0415  (see load_agent)

    check_tools(settings, [tool.name for tool in added])
    return select_tools(
        added,
        tavily_api_key=settings.tavily_api_key,
        tavily_base_url=settings.tavily_base_url,
        files_dir=settings.files_dir,
        enabled=settings.tools_enabled,
    )


def build_agents(settings: Settings, models: ConfiguredModels, added: Collection[str] = ()) -> Agents:
    """Return the built-in sub-agents, overridden by the file's; none if `ask_agent` is not enabled.

    `added` are the names of the extensions' tools.
    """
    for name, definition in settings.agents.items():
        place = f"[agents.{name}]"
        if name == MAIN:
            raise SettingsError(f"{place} in waymark.toml cannot be: {MAIN} is the agent that the user talks to.")
        for tool in definition.tools:
            if tool not in (*TOOL_NAMES, *added) and tool.partition("__")[0] not in settings.mcp:
                raise SettingsError(f"{place} tools in waymark.toml: there is no tool {tool[:80]!r}.")
            if tool in MAIN_AGENT_TOOLS:
                reason = "its branches are branches of the conversation"
                raise SettingsError(f"{place} tools in waymark.toml: {tool} is a tool of the main agent alone: {reason}.")
        try:
            models.check_model(definition.model)
        except ModelConfigurationError as error:
            raise SettingsError(f"{place} model in waymark.toml cannot be used. {error}") from error
    if settings.tools_enabled is not None and ASK_AGENT not in settings.tools_enabled:
        return {}
    configured = {
        name: Agent(name, definition.instructions, definition.tools, definition.description, definition.model)
        for name, definition in settings.agents.items()
    }
    return BUILT_IN_AGENTS | configured


def load_agent(settings: Settings, models: ConfiguredModels, added: "Sequence[BaseTool]" = ()) -> LoadedAgent:
    """Import the agent's libraries, and build the parts that need them. This takes half as long as the rest of the start.

    The settings were checked before (see `create_app`).
    """
    switch_off_library_tracing()
    from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: PLC0415

    from agent.graph.graph import build_graph  # noqa: PLC0415
    from agent.tools.mcp import McpServers  # noqa: PLC0415
    from agent.tools.registry import select_graph_tools  # noqa: PLC0415

    tools, approval, numbers = build_tools(settings, added), set(settings.tools_approval or ()), settings.message_numbers
    mcp = McpServers(_build_mcp_servers(settings), tools, approval)
    graph_tools = select_graph_tools(settings.tools_enabled, numbers)
    models.load_offered_models()
    for tool in (*tools, *graph_tools):
        # LangChain keeps the schema. Otherwise the first message would wait for it.
        convert_to_openai_tool(tool)
    return LoadedAgent(build_graph(tools, approval=approval, graph_tools=graph_tools, numbers=numbers), mcp)


def _build_mcp_servers(settings: Settings) -> "list[McpServer]":
    from agent.tools.mcp import McpServer  # noqa: PLC0415

    return [
        McpServer(
            name,
            command=definition.command,
            args=definition.args,
            env={key: value.get_secret_value() for key, value in definition.env.items()},
            url=definition.url,
            headers={key: value.get_secret_value() for key, value in definition.headers.items()},
            approval=definition.approval,
        )
        for name, definition in settings.mcp.items()
    ]
