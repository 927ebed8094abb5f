"""Waymark: where the parts are built and joined, and the command that serves them."""

import gc
import logging

if __name__ == "__main__":
    gc.disable()  # until the server serves or a command begins: what the imports make stays, and passes only cost time

import asyncio
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

import command_line
import commands
import entering
import factory
from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.models.replaceable import ReplaceableModels
from agent.run.background import RunFollower
from agent.run.blocking import BlockingPool
from agent.run.building import build_runner
from agent.run.hub import RunHub
from agent.run.judge import Judge
from agent.run.run_ids import read_run_ids
from agent.run.titles import TitleWriter
from agent.subagents.agents import Agents
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.environment import remove_tracing_variables
from agent.tracing.protocol import Tracer
from checkpoints import EVERYBODY, Runs, Store, StoreUnavailableError, act_for
from components.model_connector import ModelConnector
from components.rendering import Renderer
from components.services import Services
from config import Settings, SettingsError, load_settings
from connecting import EnvFileConnector
from joining import Role, build_long_requests, build_uploads, join_workers
from loading import AgentLoader, DeferredGraph
from page_server import build_guard, format_host
from server import garbage
from server.json_log import JsonFormatter, note_requests
from server.layers import add_lifespan
from server.serving import open_listener, serve_until_signal
from server.session_door import SessionDoor
from server.terminal import configure_log, escape_controls
from server.working import run_until_signal

if TYPE_CHECKING:
    from agent.guests.catalog import GuestCatalog
    from checkpoints.workers import Workers
    from server.metrics import Metrics

MAX_POOL_THREADS = 4  # for changes and runs: one writes at a time anyway; see services.Readers for all that only reads


@dataclass(frozen=True)
class App:
    """One Waymark: the ASGI application and its parts."""

    asgi: ASGIApp
    services: Services
    sign_in: SessionDoor | None
    address: str
    loader: AgentLoader
    metrics: "Metrics | None" = None  # None: there is no /metrics

    def create_link(self) -> str:
        """Return the address to open; with AUTH=token it admits one browser, once."""
        return self.sign_in.create_link() if self.sign_in else f"{self.address}/"

    async def load_agent(self) -> None:
        """Load the agent, and open the sessions of the MCP servers. Until then, runs wait (see loading)."""
        if self.services.wire is not None:
            self.services.wire.start()
        self.services.runner.open()
        agent = await self.services.run_blocking(self.loader.load)
        agent.mcp.start()
        self.services.start_indexing()

    async def close(self) -> None:
        """Interrupt the runs, and release the database."""
        await _close_parts(self.services, self.loader, self.metrics, self.sign_in)


def create_app(
    settings: Settings,
    *,
    port: int,
    store: Store | None = None,
    models: ConfiguredModels | None = None,
    tracer: Tracer | None = None,
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = (),
    env_file: Path | None = None,
    role: Role = "all",
) -> App:
    """Build and join everything. Parts that are passed in are used as they are.

    The page can connect a model only with an `env_file`, which keeps its settings.

    Each of `on_time_travel` is called with every move of an agent, on a thread of the pool. It should return soon; its
    errors are logged and harm no run.

    Raises `StoreUnavailableError`, and `SettingsError` and `ModelConfigurationError`, whose texts are for the user.
    """
    remove_tracing_variables()
    factory.check_access(settings)
    loader = AgentLoader(lambda: factory.load_agent(settings, configured))
    configured = models or factory.build_models(settings, prepare=loader.load)
    catalog = ReplaceableModels(configured)
    is_shared = settings.auth in ("proxy", "password", "oidc")
    connector = EnvFileConnector(catalog, loader.load, env_file) if env_file and not is_shared else None  # keys are for all
    tracer = tracer or factory.build_tracer(settings)
    factory.check_tools(settings)
    factory.check_titles(settings, configured)
    agents = factory.build_agents(settings, configured)
    guests = factory.load_guests(settings)
    store = store or factory.open_store(settings)
    workers = join_workers(store, settings, role)
    store.meter.limits = factory.build_person_limits(settings)
    if is_shared:
        store.database.separate_owners()
    services = _build_services(settings, store, catalog, tracer, loader, agents, guests, on_time_travel, connector, workers)
    if workers is None:  # else: see RunWorker
        services.runs.interrupt_orphans()
    address = f"http://{format_host(settings.host)}:{port}"
    people = entering.build_people(settings, address, services) if role != "work" else None
    sign_in = people.door if people else entering.build_sign_in(settings, port, address, _print_link)
    entering.record_sign_ins(sign_in, settings, services)
    metrics = _build_metrics(settings, services)
    proxy, public_url = factory.build_proxy(settings), settings.public_url
    networks = settings.proxy_networks or ()
    guard = build_guard(
        services, settings.host, port, sign_in, metrics, proxy=proxy, public_url=public_url, people=people, proxies=networks
    )
    watched = note_requests(metrics.watch(guard) if metrics else guard)
    asgi = add_lifespan(watched, partial(_close_parts, services, loader, metrics, sign_in))
    return App(asgi, services, sign_in, public_url or address, loader, metrics)


def _build_metrics(settings: Settings, services: Services) -> "Metrics | None":
    if settings.metrics_key is None:
        return None
    from observing import build_metrics  # noqa: PLC0415  imports prometheus_client

    return build_metrics(settings.metrics_key.get_secret_value(), services)


async def _close_parts(
    services: Services, loader: AgentLoader, metrics: "Metrics | None", sign_in: SessionDoor | None
) -> None:
    with act_for(EVERYBODY):
        await services.runner.close()
    if services.wire is not None:
        await services.wire.close()
    await services.search_indexing.close()
    if loader.agent is not None:
        await loader.agent.mcp.close()
    await services.run_blocking(services.tracer.close)
    services.close()
    services.store.database.close()
    if sign_in is not None:
        sign_in.close()
    if metrics is not None:
        logging.getLogger().removeHandler(metrics)


def _build_services(
    settings: Settings,
    store: Store,
    models: ReplaceableModels,
    tracer: Tracer,
    loader: AgentLoader,
    agents: Agents,
    guests: "GuestCatalog | None",
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]],
    connector: ModelConnector | None,
    workers: "Workers | None",
) -> Services:
    pool = ThreadPoolExecutor(MAX_POOL_THREADS, thread_name_prefix="waymark")
    hub, runs, blocking = RunHub(), Runs(store), BlockingPool(pool)
    prices, wire = factory.build_prices(settings), factory.build_wire(store, hub, blocking)
    runner = build_runner(
        store,
        runs,
        hub,
        DeferredGraph(loader, blocking),
        models,
        blocking=blocking,
        limits=factory.build_limits(settings),
        tracer=tracer,
        default_policy=settings.time_travel,
        numbers=settings.message_numbers,
        on_time_travel=on_time_travel,
        followers=_build_followers(settings, store, runs, hub, models, blocking, tracer),
        agents=agents,
        guests=factory.build_guest_driver(guests, store, hub, blocking),
        wire=wire,
        workers=workers,
    )
    return Services(
        store,
        runs,
        runner,
        hub,
        pool,
        models=models,
        is_loaded=lambda: loader.agent is not None,
        connector=connector,
        tracer=tracer,
        prices=prices,
        renderer=Renderer(),
        long_requests=build_long_requests(store, blocking),
        uploads=build_uploads(store, blocking),
        wire=wire,
        sign_out_url=settings.sign_out_url,
        has_passwords=settings.auth == "password",
        audit_days=settings.audit_days,
    )


def _build_followers(
    settings: Settings,
    store: Store,
    runs: Runs,
    hub: RunHub,
    models: ReplaceableModels,
    blocking: BlockingPool,
    tracer: Tracer,
) -> list[RunFollower]:
    """Return the parts that act after the ends of runs."""
    followers: list[RunFollower] = []
    if settings.titles == "on":
        followers.append(TitleWriter(store, runs, hub, models, blocking, tracer, settings.titles_model))
    if settings.judge == "on":
        followers.append(Judge(store, runs, hub, models, blocking, tracer))
    return followers


def _print_link(link: str) -> None:
    how = " Open this link (it works once; the browser then stays signed in):" if "token=" in link else ""
    ready = f"Waymark is ready.{how}"
    print(f"\n  {ready}\n\n    {link}\n", flush=True)


def work(settings: Settings) -> None:
    """Drive the runs that other processes begin, until the process receives a signal to end."""
    app = create_app(settings, port=settings.port, role="work")
    print("\n  Waymark is at work.\n", flush=True)
    asyncio.run(run_until_signal(app.load_agent, app.close))


def serve(settings: Settings, role: Role) -> None:
    """Serve until the process receives a signal to end."""
    factory.check_access(settings)  # before anything listens
    try:
        listener = open_listener(settings.host, settings.port)
    except OSError as error:
        raise SettingsError(f"PORT {settings.port} cannot be used on {settings.host}: {error.strerror}.") from error
    app = create_app(settings, port=listener.getsockname()[1], env_file=Path(".env"), role=role)
    proxy = factory.build_proxy(settings)
    headers = proxy.header_names if proxy else frozenset[bytes]()
    serve_until_signal(app.asgi, listener, lambda: _print_link(app.create_link()), app.load_agent, headers)


def main(arguments: list[str]) -> int:
    options = command_line.parse_arguments(arguments)
    remove_tracing_variables()
    configure_log()
    try:
        settings = load_settings()
        if settings.log_format == "json":
            configure_log(JsonFormatter((read_run_ids,)))
        if options.command not in ("serve", "work"):
            garbage.resume_passes()
        if options.command == "demo":
            return commands.run_demonstration(options, factory.build_models(settings))
        if options.command == "work":
            work(settings)
            return 0
        if command := entering.COMMANDS.get(options.command):
            return command(options, settings)
        if options.command != "serve":
            return commands.run_command(options, settings)
        with suppress(KeyboardInterrupt):  # uvicorn has ended quietly by then, and raises the signal again
            serve(settings, "web" if options.web else "all")
    except (SettingsError, ModelConfigurationError, StoreUnavailableError) as error:
        print(escape_controls(f"Waymark cannot start. {error}"), file=sys.stderr)  # it quotes settings and names of files
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
