"""Building the runner: the classes of runs, joined."""

from collections.abc import Sequence

from agent.models.call_arguments import bound_argument_parsing
from agent.preparation.preparation import RunPreparer
from agent.run.active_runs import ActiveRuns
from agent.run.candidates import CandidateDriver
from agent.run.conclusions import ConclusionWriter
from agent.run.drafts import Drafts
from agent.run.driver import RunDriver
from agent.run.parts import RunFollower, RunParts
from agent.run.reruns import Reruns
from agent.run.runner import Runner
from agent.run.starting import RunStarter
from agent.run.watchdog import RunWatchdog


def build_runner(parts: RunParts, followers: Sequence[RunFollower] = ()) -> Runner:
    """Build a runner of a single process. An extension may add others."""
    bound_argument_parsing()
    drafts = Drafts(
        runs=parts.runs,
        blocking=parts.blocking,
        interval_seconds=parts.limits.draft_seconds,
        publish=parts.hub.publish,
    )
    candidates = CandidateDriver(parts, drafts)
    # Reruns start runs themselves, and follow them, too.
    all_followers = [*followers]
    active_runs = ActiveRuns(parts, RunDriver(parts, drafts, candidates), all_followers)
    watchdog = RunWatchdog(parts, active_runs)
    preparer = RunPreparer(store=parts.store, runs=parts.runs, inputs=parts.inputs, tracer=parts.tracer, limits=parts.limits)
    starter = RunStarter(preparer, active_runs, watchdog, parts.blocking)
    reruns = Reruns(parts, starter)
    all_followers.append(reruns)
    return Runner(
        parts=parts,
        starter=starter,
        reruns=reruns,
        active_runs=active_runs,
        watchdog=watchdog,
        conclusions=ConclusionWriter(parts),
        candidates=candidates,
    )
