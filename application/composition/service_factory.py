"""Build the services: the parts behind the page, joined."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from agent.models.replaceable import ReplaceableModels
from agent.run.blocking import BlockingPool
from agent.run.building import build_runner
from agent.run.hub import RunHub
from agent.run.parts import RunFollower, RunParts
from agent.run.runner import Runner
from agent.run.titles import TitleWriter
from agent.run.wire import ProcessWire
from agent.subagents.agents import Agents
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.protocol import Tracer
from application.composition import factory
from application.composition.loading import AgentLoader, DeferredGraph
from application.extension import BuildDriver, BuildFollower, Processes, build_each
from application.settings import Settings
from checkpoints import Runs, Store
from components.model_connector import ModelConnector
from components.services import Services
from components.transfers.long_requests import LongRequests
from components.transfers.uploads import Uploads
from components.workers.rendering import Renderer

# The pool is for changes and runs, of which only one writes at a time. `services.Readers` has the threads for reading.
MAX_POOL_THREADS = 4


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the settings, checked and not joined yet."""

    settings: Settings
    store: Store
    models: ReplaceableModels
    tracer: Tracer
    loader: AgentLoader
    agents: Agents
    connector: ModelConnector | None
    build_driver: BuildDriver | None = None
    processes: Processes | None = None
    build_followers: Sequence[BuildFollower] = ()
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = ()


def build_services(parts: Parts) -> Services:
    settings, store = parts.settings, parts.store
    pool = ThreadPoolExecutor(MAX_POOL_THREADS, thread_name_prefix="waymark")
    hub, runs, blocking = RunHub(), Runs(store), BlockingPool(pool)
    processes = parts.processes
    wire = processes.build_wire(hub, blocking) if processes else None
    return Services(
        store,
        runs,
        _build_runner(parts, runs, hub, blocking, wire),
        hub,
        pool,
        models=parts.models,
        is_loaded=lambda: parts.loader.agent is not None,
        connector=parts.connector,
        tracer=parts.tracer,
        prices=factory.build_prices(settings),
        renderer=Renderer(),
        long_requests=processes.build_long_requests(blocking) if processes else LongRequests(),
        uploads=processes.build_uploads(blocking) if processes else Uploads(),
        wire=wire,
        sign_out_url=settings.sign_out_url,
        audit_days=settings.audit_days,
    )


def _build_runner(parts: Parts, runs: Runs, hub: RunHub, blocking: BlockingPool, wire: ProcessWire | None) -> Runner:
    settings = parts.settings
    run_parts = RunParts(
        store=parts.store,
        runs=runs,
        hub=hub,
        graph=DeferredGraph(parts.loader, blocking),
        catalog=parts.models,
        blocking=blocking,
        limits=factory.build_limits(settings),
        tracer=parts.tracer,
        default_policy=settings.time_travel,
        numbers=settings.message_numbers,
        on_time_travel=parts.on_time_travel,
        agents=parts.agents,
        user_graphs=parts.build_driver(parts.store, hub, blocking) if parts.build_driver else None,
        remote_wire=wire,
    )
    followers: list[RunFollower] = []
    if settings.titles == "on":
        followers.append(TitleWriter(run_parts, settings.titles_model))
    followers += build_each(parts.build_followers, settings, run_parts)
    runner = build_runner(run_parts, followers)
    if parts.processes is not None:
        parts.processes.add_worker(runner)
    return runner
