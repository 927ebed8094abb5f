"""What flows through the graph, and what a run lends to its nodes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypedDict, TypeVar

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.graph.message import add_messages

from agent.approval import Decision
from agent.tracing import RunTrace, untraced
from agent.travelling import Traveller
from checkpoints import MessageStatus

T = TypeVar("T")


class AgentState(TypedDict):
    """The messages of the acting agent, as the model may see them."""

    messages: Annotated[list[AnyMessage], add_messages]


class Recorder(Protocol):
    """Where a run's nodes put what happens. A message that `commit` has returned from is on disk."""

    def text(self, delta: str) -> None: ...

    def tool_started(self, call_id: str) -> None: ...

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        """Returns the message's position on the path."""
        ...

    async def work(self, work: Callable[[], T]) -> T:
        """Run blocking work of the run's own to its end."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go. Times in seconds."""

    idle_seconds: float = 60.0  # how long a model may be silent
    tool_seconds: float = 60.0
    draft_seconds: float = 1.0  # a crash loses at most this much of an answer
    most_tokens: int = 100_000  # of the conversation in one request, by a rough estimate
    most_messages: int = 2_000  # read from the path's end to build a request
    most_steps: int = 25  # answers of the model in one run
    most_calls: int = 50  # of tools in one run
    most_characters: int = 500_000  # of one answer, its calls' arguments included
    most_result: int = 100_000  # characters of a tool's result


@dataclass(slots=True)
class Spent:
    """What a run has used of its limits."""

    calls: int = 0


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the nodes of one run share."""

    recorder: Recorder
    limits: Limits = Limits()
    spent: Spent = field(default_factory=Spent)
    decisions: Mapping[str, Decision] = field(default_factory=dict)  # by the call's id
    trace: RunTrace = field(default_factory=untraced)
    traveller: Traveller | None = None  # None: this agent does not move through time


class LimitReached(Exception):
    """The run went as far as its limits allow. The text is a sentence for people."""
