"""Building the runner: the parts of runs, joined."""

from collections.abc import Callable, Sequence
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
from agent.run.drivers import Drivers, GuestRuns
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


def build_runner(
    store: Store,
    runs: Runs,
    hub: RunHub,
    graph: AgentGraph,
    catalog: ModelCatalog,
    *,
    blocking: BlockingPool,
    limits: Limits,
    tracer: Tracer = NO_TRACING,
    default_policy: Policy = "off",
    numbers: NumberStyle = DEFAULT_NUMBERS,
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = (),
    followers: Sequence[RunFollower] = (),
    agents: Agents | None = None,
    guests: GuestRuns | None = None,
    wire: Wire | None = None,
    workers: "Workers | None" = None,
) -> Runner:
    """Build a runner and join its parts."""
    bound_argument_parsing()
    sub_agents = agents or {}
    inputs = RunInputs(store, runs, catalog, limits, tracer, sub_agents, numbers)
    drafts = Drafts(runs, blocking, limits.draft_seconds, hub.publish)
    candidates = CandidateDriver(runs, hub, graph, catalog, inputs, blocking, drafts)
    time_travel = TimeTravelBuilder(store, runs, inputs, MoveAnnouncer(tracer, on_time_travel), default_policy, numbers)
    driver = RunDriver(
        store, runs, hub, graph, catalog, inputs, limits, sub_agents, time_travel, blocking, drafts, candidates
    )
    drivers = Drivers(driver, guests, drafts, time_travel)
    all_followers = list(followers)
    active_runs = ActiveRuns(runs, hub, drivers, blocking, all_followers, limits.stop_seconds, limits.watch_seconds)
    wire = wire or LocalWire(hub)
    watchdog = RunWatchdog(runs, wire, active_runs, blocking, limits.watch_seconds)
    starter = RunStarter(RunPreparer(store, runs, inputs, tracer, limits), active_runs, watchdog, blocking)
    reruns = Reruns(store, runs, catalog, inputs, starter, active_runs, hub, blocking)
    all_followers.append(reruns)  # it starts runs itself
    conclusions = ConclusionWriter(store, catalog, blocking, limits)
    runner = Runner(
        store,
        catalog,
        inputs,
        starter,
        reruns,
        active_runs,
        watchdog,
        blocking,
        all_followers,
        default_policy,
        conclusions,
        guests,
        candidates,
    )
    if workers is not None:
        _add_worker(runner, workers, runs, wire, limits)
    return runner


def _add_worker(runner: Runner, workers: "Workers", runs: Runs, wire: Wire, limits: Limits) -> None:
    """Let a runner act as one process among several."""
    from agent.run.taking import RunTaker  # noqa: PLC0415  (for several processes)
    from agent.run.worker import RunWorker  # noqa: PLC0415  (as above)

    active_runs, watchdog, reruns = runner.active_runs, runner.watchdog, runner.reruns
    followers, blocking = runner.followers, runner.blocking
    taker = RunTaker(
        runner.store, runs, runner.inputs, runner.starter.preparer, active_runs, watchdog, reruns, followers, wire, blocking
    )
    worker = RunWorker(
        workers, runs, wire, active_runs, watchdog, reruns, runner.candidates, taker, blocking, limits.shutdown_seconds
    )
    runner.worker = runner.starter.fleet = worker
    active_runs.max_runs, active_runs.confirm_hold = workers.max_runs, worker.confirm_hold
