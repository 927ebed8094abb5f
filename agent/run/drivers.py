"""Two drivers: the built-in agent answers, or the user graph that its conversation began with."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from agent.preparation.graph_inputs import InputForm
from agent.preparation.preparation import PreparedRun
from agent.preparation.questions import GraphRest
from agent.run.drafts import Drafts
from agent.run.recorder import RunRecorder
from agent.run.time_travel import TimeTravelBuilder
from agent.settings import GraphOffer
from agent.time_travel.executor import TimeTravelExecutor
from checkpoints import StateError
from checkpoints.values.sentence import sentence


class Driver(Protocol):
    """Does the work of runs that have begun on disk."""

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder) -> None:
        """Answer. Raises whatever ends the run early, and `AwaitingDecision` where a person decides first."""
        ...


class UserGraphRuns(Protocol):
    """The driver of user graphs, which may wait with questions of their own."""

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder, time_travel: TimeTravelExecutor | None) -> None:
        """Answer, as `Driver.drive`. The tools of the graph may ask for moves."""
        ...

    @property
    def offer(self) -> GraphOffer: ...

    def read_rest(self, thread_id: str, *, with_drafts: bool) -> GraphRest:
        """Return what the graph waits for where a conversation stands. Blocks.

        `with_drafts`: also what subgraphs have written that wait, or that others wait for.
        """
        ...

    async def check_answers(self, thread_id: str, graph: str, question_ids: Collection[str]) -> None:
        """Raise an error with a sentence for a question that no node of the graph waits for any more."""
        ...

    def find_form(self, graph: str) -> InputForm | None:
        """Return the inputs of a graph beside messages; None without any, or where they are not known."""
        ...

    def list_channels(self, graph: str) -> Collection[str] | None:
        """Return the names of a graph's channels; None where they are not known before a run makes the graph."""
        ...

    def close(self) -> None:
        """Release the graphs: the process is about to end. Blocks."""
        ...


class NoGraphsError(StateError):
    """The graph of a conversation is not there: this app has no user graphs."""

    def __init__(self, name: str) -> None:
        super().__init__(
            sentence("The graph of this conversation, {name}, is not there: start Waymark with it again (GRAPH).", name=name)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """Chooses the driver of each run by its conversation."""

    built_in: Driver
    user_graphs: UserGraphRuns | None
    drafts: Drafts
    time_travel: TimeTravelBuilder

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder) -> None:
        if not prepared.graph:
            await self.built_in.drive(prepared, recorder)
        elif self.user_graphs is None:
            raise NoGraphsError(prepared.graph)
        else:
            async with self.drafts.keep_draft(recorder):
                policy = self.time_travel.find_policy(prepared.settings)
                await self.user_graphs.drive(prepared, recorder, self.time_travel.build(prepared.run, policy))
