"""The parts that runs use: what the classes that begin, drive, take and follow runs have in common."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.graph.state import AgentGraph, Limits
from agent.preparation.graph_inputs import InputForm
from agent.preparation.inputs import RunInputs
from agent.preparation.preparation import PreparedRun
from agent.preparation.questions import GraphRest
from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.run.recorder import RunRecorder
from agent.run.wire import LocalWire, Wire
from agent.settings import GraphOffer, ModelCatalog
from agent.subagents.agents import Agents
from agent.time_travel.executor import TimeTravelExecutor
from agent.time_travel.policy import Policy, TimeTravelEvent
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import Run, Runs, Store


class UserGraphRuns(Protocol):
    """The driver of user graphs. They may wait with their own questions."""

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder, time_travel: TimeTravelExecutor | None) -> None:
        """Answer, as `RunDriver.drive` does. The graph's tools may request moves."""
        ...

    @property
    def offer(self) -> GraphOffer: ...

    def read_rest(self, thread_id: str, *, with_drafts: bool) -> GraphRest:
        """Return what the graph waits for at the conversation's head. Blocks.

        `with_drafts` adds what waiting subgraphs, or subgraphs that others wait for, have written.
        """
        ...

    async def check_answers(self, thread_id: str, graph: str, question_ids: Collection[str]) -> None:
        """Raise an error with a sentence for a question for which no node of the graph waits any more."""
        ...

    def find_form(self, graph: str) -> InputForm | None:
        """Return a graph's inputs beside messages, or None if it has none or they are unknown."""
        ...

    def list_channels(self, graph: str) -> Collection[str] | None:
        """Return a graph's channel names, or None if only a run can make the graph."""
        ...

    def close(self) -> None:
        """Release the graphs before the process ends. Blocks."""
        ...


class RunFollower(Protocol):
    """Looks at the messages of runs. It is called after a run's end is published."""

    def consider(self, run: Run) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RunParts:
    store: Store
    runs: Runs
    hub: RunHub
    graph: AgentGraph
    catalog: ModelCatalog
    blocking: BlockingPool
    limits: Limits
    tracer: Tracer = NO_TRACING
    # For threads without their own setting.
    default_policy: Policy = "off"
    numbers: NumberStyle = DEFAULT_NUMBERS
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = ()
    agents: Agents = field(default_factory=dict)
    user_graphs: UserGraphRuns | None = None
    # None: all pages are at this process.
    remote_wire: Wire | None = None

    @cached_property
    def wire(self) -> Wire:
        return self.remote_wire or LocalWire(self.hub)

    @cached_property
    def inputs(self) -> RunInputs:
        return RunInputs(
            store=self.store,
            runs=self.runs,
            catalog=self.catalog,
            limits=self.limits,
            tracer=self.tracer,
            agents=self.agents,
            numbers=self.numbers,
        )
