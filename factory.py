"""Build what the settings name: models, tools, agents, MCP servers, limits, the tracer, the store, and the sessions.

Each function raises `SettingsError` for a setting that it cannot use.
"""

from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from agent.context.prices import ModelPrice, Prices
from agent.graph.budgets import Budget
from agent.graph.state import Limits
from agent.guests.definitions import GraphLoadError
from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys
from agent.models.parameters import ModelParameters
from agent.run.blocking import BlockingPool
from agent.run.drivers import GuestRuns
from agent.run.hub import RunHub
from agent.subagents.agents import BUILT_IN_AGENTS, Agent, Agents
from agent.tools.names import ASK_AGENT, MAIN_AGENT_TOOLS, TOOL_NAMES
from agent.tracing.environment import switch_off_library_tracing
from agent.tracing.events import TraceLabels
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import LOCAL_OWNER, MAIN, Database, Runs, Store
from checkpoints.person_limits import MEGABYTE, PersonLimits
from config import Settings, SettingsError
from graph_files import list_graphs
from loading import LoadedAgent
from server.session_door import PAGE_KEY_HEADER
from server.session_file import SessionFile, load_sessions
from server.trusted_proxy import SECRET_HEADER, TrustedProxy

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from agent.guests.catalog import GuestCatalog
    from agent.run.postgresql_wire import PostgresqlWire
    from agent.tools.mcp import McpServer


def build_models(settings: Settings, prepare: Callable[[], object] = lambda: None) -> ConfiguredModels:
    """Return the models, checked and not loaded. `prepare` is called before any is loaded."""
    keys = ProviderKeys(
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        azure_openai_api_key=settings.azure_openai_api_key,
        azure_openai_endpoint=settings.azure_openai_endpoint,
        azure_openai_api_version=settings.azure_openai_api_version,
        azure_openai_deployment_name=settings.azure_openai_deployment_name,
        azure_openai_reasoning_effort=settings.azure_openai_reasoning_effort,
        idle_seconds=settings.model_idle_seconds,
        other_keys={name: key for name, key in settings.provider_keys.items() if key is not None},
    )
    offered, seconds = settings.models_offered or (), settings.demo_seconds_per_token
    parameters = ModelParameters(
        temperature=settings.model_temperature,
        top_p=settings.model_top_p,
        max_tokens=settings.model_max_tokens,
        reasoning_effort=settings.model_reasoning_effort,
        extra_body=settings.model_extra_body,
    )
    return ConfiguredModels(
        keys,
        settings.model,
        offered=offered,
        demo_seconds_per_token=seconds,
        parameters=parameters,
        offered_source=settings.name_source("models_offered"),
        prepare=prepare,
    )


def open_store(settings: Settings) -> Store:
    """Open the database. A file is locked for this process alone."""
    return Store(Database.open_url(settings.connection_url))


def build_person_limits(settings: Settings) -> PersonLimits:
    storage = settings.person_storage_mb
    return PersonLimits(settings.person_runs, settings.person_tokens_a_day, None if storage is None else storage * MEGABYTE)


def build_wire(store: Store, hub: RunHub, blocking: BlockingPool) -> "PostgresqlWire | None":
    """Return the wire to other processes; None for a database that only one process can serve."""
    if store.database.kind != "postgresql":
        return None
    from agent.run.followed_rows import FollowedRows  # noqa: PLC0415
    from agent.run.postgresql_wire import PostgresqlWire  # noqa: PLC0415
    from checkpoints.storage.notifications import Notifications  # noqa: PLC0415  (psycopg)

    return PostgresqlWire(hub, Notifications(store.database.engine), FollowedRows(store, Runs(store), blocking))


def open_sessions(folder: Path, port: int) -> SessionFile:
    try:
        return load_sessions(folder, port)
    except OSError as error:
        raise SettingsError(f"DATA_DIR {folder} cannot be used: {error.strerror}.") from error


def check_access(settings: Settings) -> None:
    """Refuse a way in that would let in too many, or nobody. Raises SettingsError."""
    is_loopback = settings.host == "localhost" or ip_address(settings.host).is_loopback
    if settings.auth == "proxy":
        for field in ("public_url", "proxy_networks", "proxy_secret"):
            if not getattr(settings, field):
                raise SettingsError(f"AUTH=proxy needs {field.upper()}: see docs/operations.md.")
        if settings.proxy_user_header.lower() in (SECRET_HEADER, PAGE_KEY_HEADER):
            raise SettingsError(f"PROXY_USER_HEADER cannot be {settings.proxy_user_header}: it names another thing.")
        return
    if settings.auth == "oidc":
        _check_provider(settings)
    if not is_loopback and settings.auth in ("password", "oidc"):
        if not (settings.public_url or "").startswith("https://"):
            raise SettingsError(
                f"HOST {settings.host} can be reached from other machines, and Waymark speaks no TLS: sign-ins would be "
                "readable on the way. Set PUBLIC_URL to the https:// address of a proxy that adds TLS, or leave HOST at "
                "127.0.0.1."
            )
    elif not is_loopback:
        raise SettingsError(
            f"HOST {settings.host} can be reached from other machines, and AUTH={settings.auth} is for one person on this "
            "one. Set AUTH=proxy, behind a proxy that signs people in, or AUTH=oidc or AUTH=password, or leave HOST at "
            "127.0.0.1."
        )


def _check_provider(settings: Settings) -> None:
    for field in ("oidc_issuer", "oidc_client_id"):
        if not getattr(settings, field):
            raise SettingsError(f"AUTH=oidc needs {field.upper()}: see docs/operations.md.")
    if not (settings.oidc_admin_groups or settings.oidc_member_groups or settings.oidc_reader_groups):
        raise SettingsError(
            "AUTH=oidc needs OIDC_ADMIN_GROUPS, OIDC_MEMBER_GROUPS or OIDC_READER_GROUPS: whoever is in none is refused."
        )


def build_proxy(settings: Settings) -> TrustedProxy | None:
    """Return the proxy that signs people in; None where it does not."""
    if settings.auth != "proxy":
        return None
    assert settings.proxy_secret
    networks, secret = settings.proxy_networks or (), settings.proxy_secret.get_secret_value()
    return TrustedProxy(networks, secret, settings.proxy_user_header, reserved_names=frozenset({LOCAL_OWNER}))


def build_tracer(settings: Settings) -> Tracer:
    """Return the Langfuse tracer if it has keys. Only then is its package imported, which takes 80 ms and 6 MB."""
    public, secret, host = settings.langfuse_public_key, settings.langfuse_secret_key, settings.langfuse_host
    if not public and not secret:
        return NO_TRACING
    if not public or not secret or not host:
        raise SettingsError("LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY must both be set, or neither.")
    from agent.tracing.langfuse import LangfuseTracer  # noqa: PLC0415

    return LangfuseTracer(
        public_key=public.get_secret_value(),
        secret_key=secret,
        host=host,
        prompt_label=settings.langfuse_prompt_label,
        mask=settings.langfuse_mask == "on",
        labels=TraceLabels(
            environment=settings.langfuse_tracing_environment,
            release=settings.langfuse_release,
            user=settings.langfuse_user,
            tags=settings.langfuse_tags or (),
        ),
        prices=build_prices(settings),
    )


def build_prices(settings: Settings) -> Prices:
    return {spec: ModelPrice(price.input, price.output, price.cached) for spec, price in settings.prices.items()}


def check_files_dir(settings: Settings) -> None:
    """Refuse a folder of files through which a model could read keys or the conversations. Raises SettingsError."""
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


def check_tools(settings: Settings) -> None:
    """Refuse settings with which no tools can be built. Raises SettingsError."""
    check_files_dir(settings)
    for field, names in (("tools_enabled", settings.tools_enabled), ("tools_approval", settings.tools_approval)):
        if not set(names or ()) <= set(TOOL_NAMES):
            raise SettingsError(f"{settings.name_source(field)} must be a list of tools' names: {', '.join(TOOL_NAMES)}.")


def check_titles(settings: Settings, models: ConfiguredModels) -> None:
    """Refuse a model for titles that cannot be used. Raises SettingsError."""
    if settings.titles_model is None:
        return
    try:
        models.check_model(settings.titles_model, settings.name_source("titles_model"))
    except ModelConfigurationError as error:
        raise SettingsError(str(error)) from error


def build_tools(settings: Settings) -> "list[BaseTool]":
    from agent.tools.registry import select_tools  # noqa: PLC0415  (see load_agent)

    check_tools(settings)
    return select_tools(
        tavily_api_key=settings.tavily_api_key,
        tavily_base_url=settings.tavily_base_url,
        files_dir=settings.files_dir,
        enabled=settings.tools_enabled,
    )


def build_limits(settings: Settings) -> Limits:
    return Limits(
        idle_seconds=settings.model_idle_seconds,
        max_window_tokens=settings.model_window,
        tool_seconds=settings.limits_tool_seconds,
        run=Budget(settings.limits_run_answers, settings.limits_run_calls, settings.limits_run_seconds),
        agent=Budget(settings.limits_agent_answers, settings.limits_agent_calls, settings.limits_agent_seconds),
        branch=Budget(settings.limits_branch_answers, settings.limits_branch_calls, settings.limits_branch_seconds),
        max_depth=settings.limits_depth,
    )


def build_agents(settings: Settings, models: ConfiguredModels) -> Agents:
    """Return the sub-agents: the built-in ones, overridden by the file's; none where `ask_agent` is not enabled."""
    for name, definition in settings.agents.items():
        place = f"[agents.{name}]"
        if name == MAIN:
            raise SettingsError(f"{place} in waymark.toml cannot be: {MAIN} is the agent that the user talks to.")
        for tool in definition.tools:
            if tool not in TOOL_NAMES and tool.partition("__")[0] not in settings.mcp:
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


def load_agent(settings: Settings, models: ConfiguredModels) -> LoadedAgent:
    """Import the agent's libraries, and build the parts that need them. It takes as long as half of the rest of the start.

    The settings were checked before (see `create_app`).
    """
    switch_off_library_tracing()
    from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: PLC0415

    from agent.graph.graph import build_graph  # noqa: PLC0415
    from agent.tools.mcp import McpServers  # noqa: PLC0415
    from agent.tools.registry import select_graph_tools  # noqa: PLC0415

    tools, approval, numbers = build_tools(settings), set(settings.tools_approval or ()), settings.message_numbers
    mcp = McpServers(_build_mcp_servers(settings), tools, approval)
    graph_tools = select_graph_tools(settings.tools_enabled, numbers)
    models.load_offered_models()
    for tool in (*tools, *graph_tools):
        convert_to_openai_tool(tool)  # LangChain keeps the schema: the first message would wait for it
    return LoadedAgent(build_graph(tools, approval=approval, graph_tools=graph_tools, numbers=numbers), mcp)


def load_guests(settings: Settings) -> "GuestCatalog | None":
    """Import the files of the graphs that the settings name; None without any, when no library is imported for them.

    Raises `SettingsError`, whose text names the file and the line.
    """
    definitions = list_graphs(settings)
    if not definitions:
        return None
    switch_off_library_tracing()  # a langgraph.json may have set its variables again
    from agent.guests.catalog import GuestCatalog  # noqa: PLC0415  (LangGraph)

    try:
        return GuestCatalog.load_graphs(definitions, default=definitions[0].name if settings.graph else "")
    except GraphLoadError as error:
        raise SettingsError(str(error)) from error


def build_guest_driver(guests: "GuestCatalog | None", store: Store, hub: RunHub, blocking: BlockingPool) -> GuestRuns | None:
    """Return the driver of the guest graphs, with the saver of their states; None without graphs."""
    if guests is None:
        return None
    from agent.guests.driver import GuestDriver  # noqa: PLC0415  (as above)
    from checkpoints.graph_states import WaymarkSaver  # noqa: PLC0415

    return GuestDriver(store, Runs(store), hub, guests, WaymarkSaver(store, takes_unfit_messages=False), blocking)


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
