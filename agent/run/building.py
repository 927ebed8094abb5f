"""Building the runner: the parts of runs, joined."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.graph.state import AgentGraph, Limits
from agent.models.call_arguments import bound_argument_parsing
from agent.preparation.inputs import RunInputs
from agent.preparation.preparation import RunPreparer
from agent.run.active_runs import ActiveRuns
from agent.run.announcer import MoveAnnouncer
from agent.run.background import RunFollower
from agent.run.blocking import BlockingPool
from agent.run.candidates import CandidateDriver
from agent.run.conclusions import ConclusionWriter
from agent.run.drafts import Drafts
from agent.run.driver import RunDriver
from agent.run.drivers import Drivers, UserGraphRuns
from agent.run.hub import RunHub
from agent.run.reruns import Reruns
from agent.run.runner import Runner
from agent.run.starting import RunStarter
from agent.run.time_travel import TimeTravelBuilder
from agent.run.watchdog import RunWatchdog
from agent.run.wire import LocalWire, Wire
from agent.settings import ModelCatalog
from agent.subagents.agents import Agents
from agent.time_travel.policy import Policy, TimeTravelEvent
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import Runs, Store

if TYPE_CHECKING:
    from checkpoints.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerParts:
    """The parts of a runner."""

    store: Store
    runs: Runs
    hub: RunHub
    graph: AgentGraph
    catalog: ModelCatalog
    blocking: BlockingPool
    limits: Limits
    tracer: Tracer = NO_TRACING
    default_policy: Policy = "off"
    numbers: NumberStyle = DEFAULT_NUMBERS
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = ()
    followers: Sequence[RunFollower] = ()
    agents: Agents = field(default_factory=dict)
    user_graphs: UserGraphRuns | None = None
    # None: all pages are at this process.
    wire: Wire | None = None
    # None: no other process drives runs.
    workers: "Workers | None" = None


def build_runner(parts: RunnerParts) -> Runner:
    """Build a runner and join its parts."""
    bound_argument_parsing()
    store, runs, catalog, blocking, limits = parts.store, parts.runs, parts.catalog, parts.blocking, parts.limits
    inputs = _build_inputs(parts)
    drafts = Drafts(runs=runs, blocking=blocking, interval_seconds=limits.draft_seconds, publish=parts.hub.publish)
    candidates = _build_candidates(parts, inputs, drafts)
    followers = list(parts.followers)
    active_runs = _build_active_runs(parts, _build_drivers(parts, inputs, drafts, candidates), followers)
    wire = parts.wire or LocalWire(parts.hub)
    watchdog = RunWatchdog(
        runs=runs, wire=wire, active_runs=active_runs, blocking=blocking, check_seconds=limits.watch_seconds
    )
    preparer = RunPreparer(store=store, runs=runs, inputs=inputs, tracer=parts.tracer, limits=limits)
    starter = RunStarter(preparer=preparer, active_runs=active_runs, watchdog=watchdog, blocking=blocking)
    reruns = _build_reruns(parts, inputs, starter)
    # Reruns start runs themselves.
    followers.append(reruns)
    runner = Runner(
        store=store,
        catalog=catalog,
        inputs=inputs,
        starter=starter,
        reruns=reruns,
        active_runs=active_runs,
        watchdog=watchdog,
        blocking=blocking,
        followers=followers,
        default_policy=parts.default_policy,
        conclusions=ConclusionWriter(store=store, catalog=catalog, blocking=blocking, limits=limits),
        user_graphs=parts.user_graphs,
        candidates=candidates,
    )
    if parts.workers is not None:
        _add_worker(runner, parts, wire, parts.workers)
    return runner


def _build_inputs(parts: RunnerParts) -> RunInputs:
    return RunInputs(
        store=parts.store,
        runs=parts.runs,
        catalog=parts.catalog,
        limits=parts.limits,
        tracer=parts.tracer,
        agents=parts.agents,
        numbers=parts.numbers,
    )


def _build_candidates(parts: RunnerParts, inputs: RunInputs, drafts: Drafts) -> CandidateDriver:
    return CandidateDriver(
        runs=parts.runs,
        hub=parts.hub,
        graph=parts.graph,
        catalog=parts.catalog,
        inputs=inputs,
        blocking=parts.blocking,
        drafts=drafts,
    )


def _build_drivers(parts: RunnerParts, inputs: RunInputs, drafts: Drafts, candidates: CandidateDriver) -> Drivers:
    time_travel = TimeTravelBuilder(
        store=parts.store,
        runs=parts.runs,
        inputs=inputs,
        announcer=MoveAnnouncer(parts.tracer, parts.on_time_travel),
        default_policy=parts.default_policy,
        numbers=parts.numbers,
    )
    driver = RunDriver(
        store=parts.store,
        runs=parts.runs,
        hub=parts.hub,
        graph=parts.graph,
        catalog=parts.catalog,
        inputs=inputs,
        limits=parts.limits,
        agents=parts.agents,
        time_travel=time_travel,
        blocking=parts.blocking,
        drafts=drafts,
        candidates=candidates,
    )
    return Drivers(built_in=driver, user_graphs=parts.user_graphs, drafts=drafts, time_travel=time_travel)


def _build_active_runs(parts: RunnerParts, drivers: Drivers, followers: Sequence[RunFollower]) -> ActiveRuns:
    return ActiveRuns(
        runs=parts.runs,
        hub=parts.hub,
        driver=drivers,
        blocking=parts.blocking,
        followers=followers,
        stop_seconds=parts.limits.stop_seconds,
        retry_seconds=parts.limits.watch_seconds,
    )


def _build_reruns(parts: RunnerParts, inputs: RunInputs, starter: RunStarter) -> Reruns:
    return Reruns(
        store=parts.store,
        runs=parts.runs,
        catalog=parts.catalog,
        inputs=inputs,
        starter=starter,
        active_runs=starter.active_runs,
        hub=parts.hub,
        blocking=parts.blocking,
    )


def _add_worker(runner: Runner, parts: RunnerParts, wire: Wire, workers: "Workers") -> None:
    from agent.run.taking import RunTaker  # noqa: PLC0415  (for several processes)
    from agent.run.worker import RunWorker  # noqa: PLC0415  (as above)

    taker = RunTaker(
        store=runner.store,
        runs=parts.runs,
        inputs=runner.inputs,
        preparer=runner.starter.preparer,
        active_runs=runner.active_runs,
        watchdog=runner.watchdog,
        reruns=runner.reruns,
        followers=runner.followers,
        wire=wire,
        blocking=runner.blocking,
    )
    worker = RunWorker(
        workers=workers,
        runs=parts.runs,
        wire=wire,
        active_runs=runner.active_runs,
        watchdog=runner.watchdog,
        reruns=runner.reruns,
        candidates=runner.candidates,
        taker=taker,
        blocking=runner.blocking,
        shutdown_seconds=parts.limits.shutdown_seconds,
    )
    runner.worker = runner.starter.fleet = worker
    runner.active_runs.max_runs, runner.active_runs.confirm_hold = workers.max_runs, worker.confirm_hold
