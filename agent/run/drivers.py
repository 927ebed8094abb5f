"""Chooses between two drivers: the built-in agent, or the user graph with which a conversation began."""

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
        """Answer. Raises whatever ends the run early, or `AwaitingDecision` if a person must decide first."""
        ...


class UserGraphRuns(Protocol):
    """The driver of user graphs. They may wait with their own questions."""

    async def drive(self, prepared: PreparedRun, recorder: RunRecorder, time_travel: TimeTravelExecutor | None) -> None:
        """Answer, as `Driver.drive` does. The graph's tools may request moves."""
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


class NoGraphsError(StateError):
    """The graph of a conversation is missing: this app has no user graphs."""

    def __init__(self, name: str) -> None:
        super().__init__(
            sentence("The graph of this conversation, {name}, is not there: start Waymark with it again (GRAPH).", name=name)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
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
