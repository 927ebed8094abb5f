"""Waymark: where the parts are built and joined, and the command that serves them."""

import asyncio
import gc
import logging
import os
import secrets
import socket
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from dash import Dash
from dash.backends._fastapi import FastAPIDashServer
from fastapi import FastAPI
from langchain_core.tools import BaseTool
from starlette.types import ASGIApp, Receive, Scope, Send

import commands
from agent.context.prices import ModelPrice
from agent.graph.budgets import Budget
from agent.graph.graph import build_graph
from agent.graph.state import Limits
from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys
from agent.models.parameters import ModelParameters
from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.run.judge import Judge
from agent.run.runner import build_runner
from agent.subagents.agents import BUILT_IN_AGENTS, Agent, Agents
from agent.time_travel.policy import TimeTravelEvent
from agent.tools.ask_agent import ask_agent
from agent.tools.mcp import McpServer, McpServers
from agent.tools.registry import MAIN_AGENT_TOOLS, select_graph_tools, select_tools
from agent.tools.registry import TOOL_NAMES as TOOLS
from agent.tracing.environment import switch_off_library_tracing
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import MAIN, Database, Runs, Store, StoreUnavailableError, TakesTooLongError
from components import page
from components.panels import toast
from components.rendering import Renderer
from components.routes import (
    agent_transcript,
    comparison,
    errors,
    export_download,
    file_content,
    full_text,
    growth,
    health,
    stream,
    thread_usage,
)
from components.services import Services
from components.views import file_links
from config import Settings, SettingsError, load_settings
from server import static_files
from server.guard import AllowedRoutes, Guard
from server.headers import build_security_policy
from server.session import Session

_log = logging.getLogger(__name__)
ROOT = Path(__file__).parent
MAX_POOL_THREADS = 4  # for changes and runs: one writes at a time anyway; see services.Readers for all that only reads
MAX_SOCKET_MESSAGE_BYTES = 16_384  # bytes; the page sends nothing over it
ROUTES = (
    stream,
    thread_usage,
    full_text,
    comparison,
    growth,
    export_download,
    file_content,
    agent_transcript,
    health,
)
ALLOWED_ROUTES = AllowedRoutes(
    paths=frozenset({"/", "/_dash-layout", "/_dash-dependencies", "/_dash-update-component"}),
    prefixes=("/t/", "/api/threads/"),
    user_file_prefixes=(file_links.FILES_PREFIX,),
    static_prefixes=("/assets/", "/_dash-component-suites/", "/vendor/"),
    max_body_bytes={"/_dash-update-component": 16_000_000},  # an import of 10 MB, as base64 inside JSON
)

# Dash 4.4's own WebSocket callbacks bypass authentication and die with the tab; without this the page opens one anyway.
FastAPIDashServer.websocket_capability = False


@dataclass(frozen=True)
class App:
    """One Waymark: the ASGI application and its parts."""

    asgi: ASGIApp
    services: Services
    session: Session | None
    address: str
    mcp: McpServers

    def create_link(self) -> str:
        """Return the address to open; with AUTH=token it admits one browser, once."""
        return f"{self.address}/" if self.session is None else f"{self.address}/?token={self.session.issue_link_token()}"

    async def close(self) -> None:
        """Interrupt the runs, and release the database."""
        await self.services.runner.close()
        await self.mcp.close()
        await self.services.run_blocking(self.services.tracer.close)
        self.services.close()
        self.services.store.database.close()


def create_app(
    settings: Settings,
    *,
    port: int,
    store: Store | None = None,
    models: ConfiguredModels | None = None,
    tracer: Tracer | None = None,
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = (),
) -> App:
    """Build and join everything. Parts that are passed in are used as they are.

    Each of `on_time_travel` is called with every move of an agent, on a thread of the pool. It should return soon; its
    errors are logged and harm no run.

    Raises `StoreUnavailableError` and `ModelConfigurationError`, whose texts are for the user.
    """
    switch_off_library_tracing()
    models = models or _build_models(settings)
    tracer = tracer or _build_tracer(settings)
    tools, approval, known = _build_tools(settings), set(settings.tools_approval or ()), _build_agents(settings, models)
    store = store or _open_store(settings)
    mcp = McpServers(_build_mcp_servers(settings), tools, approval)
    services = _build_services(settings, store, models, tracer, tools, approval, known, on_time_travel)
    services.runs.interrupt_orphans()
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    dash = _build_dash(server, services)
    session = None if settings.auth == "none" else Session(_load_secret(settings.data_dir), port=port)
    address = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{port}"
    policy = build_security_policy(dash.csp_hashes())
    names = {"127.0.0.1", "localhost", "[::1]", f"[{settings.host}]" if ":" in settings.host else settings.host}
    hosts = frozenset(names if port == 80 else {f"{name}:{port}" for name in names})  # browsers leave :80 out
    waymark: list[App] = []
    guard = Guard(
        _route_to_page(server),
        hosts=hosts,
        session=session,
        content_security_policy=lambda: policy,
        routes=ALLOWED_ROUTES,
        on_stale_link=lambda: _print_link(waymark[0]),
    )
    waymark.append(App(_add_lifespan(guard, waymark), services, session, address, mcp))
    return waymark[0]


def _build_models(settings: Settings) -> ConfiguredModels:
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
    return ConfiguredModels(keys, settings.model, offered=offered, demo_seconds_per_token=seconds, parameters=parameters)


def _open_store(settings: Settings) -> Store:
    """Open the database and claim it for this server alone."""
    database = Database.open_url(settings.connection_url)
    try:
        database.claim()
    except StoreUnavailableError:
        database.close()
        raise
    return Store(database)


def _build_tracer(settings: Settings) -> Tracer:
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
    )


def _build_services(
    settings: Settings,
    store: Store,
    models: ConfiguredModels,
    tracer: Tracer,
    tools: list[BaseTool],
    approval: set[str],
    sub_agents: Agents,
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]],
) -> Services:
    pool = ThreadPoolExecutor(MAX_POOL_THREADS, thread_name_prefix="waymark")
    hub, runs = RunHub(), Runs(store)
    limits = _build_limits(settings)
    prices = {spec: ModelPrice(price.input, price.output, price.cached) for spec, price in settings.prices.items()}
    blocking = BlockingPool(pool)
    runner = build_runner(
        store,
        runs,
        hub,
        build_graph(tools, approval=approval, graph_tools=select_graph_tools(settings.tools_enabled)),
        models,
        blocking=blocking,
        limits=limits,
        tracer=tracer,
        default_policy=settings.time_travel,
        on_time_travel=on_time_travel,
        judge=Judge(store, runs, hub, models, blocking, tracer) if settings.judge == "on" else None,
        agents=sub_agents,
    )
    return Services(store, runs, runner, hub, pool, models=models, tracer=tracer, prices=prices, renderer=Renderer())


def _build_limits(settings: Settings) -> Limits:
    return Limits(
        idle_seconds=settings.model_idle_seconds,
        max_window_tokens=settings.model_window,
        tool_seconds=settings.limits_tool_seconds,
        run=Budget(settings.limits_run_answers, settings.limits_run_calls, settings.limits_run_seconds),
        agent=Budget(settings.limits_agent_answers, settings.limits_agent_calls, settings.limits_agent_seconds),
        branch=Budget(settings.limits_branch_answers, settings.limits_branch_calls, settings.limits_branch_seconds),
        max_depth=settings.limits_depth,
    )


def _build_tools(settings: Settings) -> list[BaseTool]:
    for name in (*(settings.tools_enabled or ()), *(settings.tools_approval or ())):
        if name not in TOOLS:
            raise SettingsError(f"There is no tool {name[:80]!r}; there are {', '.join(TOOLS)}.")
    return select_tools(
        tavily_api_key=settings.tavily_api_key,
        tavily_base_url=settings.tavily_base_url,
        files_dir=settings.files_dir,
        enabled=settings.tools_enabled,
    )


def _build_agents(settings: Settings, models: ConfiguredModels) -> Agents:
    """Return the sub-agents: the built-in ones, overridden by the file's; none where `ask_agent` is not enabled."""
    for name, definition in settings.agents.items():
        place = f"[agents.{name}]"
        if name == MAIN:
            raise SettingsError(f"{place} in waymark.toml cannot be: {MAIN} is the agent that the user talks to.")
        for tool in definition.tools:
            if tool not in TOOLS and tool.partition("__")[0] not in settings.mcp:
                raise SettingsError(f"{place} tools in waymark.toml: there is no tool {tool[:80]!r}.")
            if tool in MAIN_AGENT_TOOLS:
                raise SettingsError(f"{place} tools in waymark.toml: {tool} is a tool of the main agent alone.")
        try:
            models.load_model(definition.model)
        except ModelConfigurationError as error:
            raise SettingsError(f"{place} model in waymark.toml cannot be used. {error}") from error
    if settings.tools_enabled is not None and ask_agent.name not in settings.tools_enabled:
        return {}
    configured = {
        name: Agent(name, definition.instructions, definition.tools, definition.description, definition.model)
        for name, definition in settings.agents.items()
    }
    return BUILT_IN_AGENTS | configured


def _build_mcp_servers(settings: Settings) -> list[McpServer]:
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


def _build_dash(server: FastAPI, services: Services) -> Dash:
    errors.add_error_responses(server)
    page.add_route(server, services)
    dash = page.Page(
        "waymark",
        server=server,  # type: ignore[arg-type]  # Dash types only what its Flask backend takes
        title="Waymark",
        update_title=None,  # type: ignore[arg-type]  # its documented off switch
        assets_folder=str(ROOT / "assets"),
        assets_path_ignore=["modules"],
        assets_ignore=r"early|\.css",  # the frame names the one above everything else; the others come as one
        external_stylesheets=[static_files.build_stylesheet_address()],
        index_string=page.build_index(static_files.list_eager_modules()),
        meta_tags=page.META_TAGS,
        enable_mcp=False,
        on_error=_report_callback_error,
    )
    dash.layout = page.layout()
    page.register(dash, services)
    static_files.add_static_routes(server)
    for route in ROUTES:
        route.add_route(server, services)
    return dash


def _report_callback_error(error: Exception) -> None:
    """Log an unexpected error of a callback, and show the user a sentence. Dash alone would show nothing."""
    if isinstance(error, StoreUnavailableError):  # the log has it (see Database), and the page shows a banner
        return
    if isinstance(error, TakesTooLongError):
        toast.show_toast(str(error))
        return
    reference = secrets.token_hex(4)
    _log.error("a callback failed [%s]", reference, exc_info=error)
    toast.show_toast(f"Something went wrong (reference {reference}). Try again, or reload the page.")


def _route_to_page(server: ASGIApp) -> ASGIApp:
    """Serve the same page at every conversation's address; the page reads the conversation from it.

    A separate route would not do: Dash sets itself up, and notes the request of its page, at its own addresses only.
    """

    async def serve_page(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/t/"):
            scope = {**scope, "path": "/", "raw_path": b"/"}
        await server(scope, receive, send)

    return serve_page


def _add_lifespan(guard: ASGIApp, waymark: list[App]) -> ASGIApp:
    """Wrap the guard with the lifespan of the process. Dash's own handling would answer every unknown path with the page."""

    async def serve_lifespan(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await guard(scope, receive, send)
            return
        await receive()
        waymark[0].mcp.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await waymark[0].close()
        await send({"type": "lifespan.shutdown.complete"})

    return serve_lifespan


def _load_secret(folder: Path) -> bytes:
    """Load the secret that signs the cookies, or create it. It is kept, so that a restart logs nobody out."""
    path = folder / "session.key"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            new = path.with_suffix(".new")  # never half a secret under the real name, whenever the process is killed
            with open(os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
            new.rename(path)
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"DATA_DIR {folder} cannot be used: {error.strerror}.") from error


class _AnnouncingServer(uvicorn.Server):
    """A server that prints the page's address once the page can be opened."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _print_link(self._app)


def _print_link(app: App) -> None:
    ready = "Waymark is ready. Open this link (it works once; the browser then stays signed in):"
    print(f"\n  {ready}\n\n    {app.create_link()}\n", flush=True)


def serve(settings: Settings) -> None:
    """Serve until the process receives a signal to end."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        raise SettingsError(f"PORT {settings.port} cannot be used on {settings.host}: {error.strerror}.") from error
    app = create_app(settings, port=listener.getsockname()[1])
    gc.freeze()  # these objects live to the end: collecting through them would halt all streams for 0.2 s each time
    config = uvicorn.Config(
        app.asgi,
        ws_per_message_deflate=False,  # the page is on the same machine: it costs more than it saves
        log_level="warning",
        access_log=False,  # an address may contain the launch token
        ws_max_size=MAX_SOCKET_MESSAGE_BYTES,
        server_header=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_AnnouncingServer(config, app).serve([listener]))


def main(arguments: list[str]) -> int:
    options = commands.parse_arguments(arguments)
    switch_off_library_tracing()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        settings = load_settings()
        if options.command == "demo":
            return commands.run_demonstration(options, _build_models(settings))
        if options.command != "serve":
            return commands.run_command(options, settings)
        with suppress(KeyboardInterrupt):  # uvicorn has ended quietly by then, and raises the signal again
            serve(settings)
    except (SettingsError, ModelConfigurationError, StoreUnavailableError) as error:
        print(f"Waymark cannot start. {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
