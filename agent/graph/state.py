"""What flows through the graph, and what a run lends to its nodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypedDict, TypeVar

from langchain_core.messages import AnyMessage, BaseMessage, ToolCall
from langgraph.graph.message import add_messages

from agent.context.attachments import FileReader
from agent.settings import ChosenModel
from agent.time_travel.executor import TimeTravel
from agent.tools.approval import Decision
from agent.tracing.protocol import RunTrace, make_null_trace
from checkpoints import MAIN, MessageStatus

T = TypeVar("T")


class AgentState(TypedDict):
    """The messages of the acting agent, as the model may see them."""

    messages: Annotated[list[AnyMessage], add_messages]


class Recorder(Protocol):
    """Where a run's nodes put what happens. A message that `commit` has returned from is on disk."""

    def append_text(self, delta: str) -> None: ...

    def report_tool_start(self, call_id: str) -> None: ...

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        """Returns the message's position on the path."""
        ...

    async def cut_off(self) -> None:
        """The agent goes no further: keep the text that it was writing as a partial message, and answer its open calls."""
        ...

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Run blocking work of the run's own to its end."""
        ...

    def unique_call_id(self, call_id: str) -> str:
        """The id, or another one where a call of this run has it already: what is decided about one holds for no other."""
        ...

    def for_agent(self, agent: str) -> "Recorder":
        """The recorder of a sub-agent in the same run: what it commits stands under its name."""
        ...


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a tool call, as text for the model."""

    text: str
    is_failed: bool = False


class Delegator(Protocol):
    """The sub-agents of one run (see delegation)."""

    def is_in_progress(self, agent: str, call: ToolCall) -> bool:
        """Whether another agent was asked with this call already, and has not answered."""
        ...

    async def ask(self, call: ToolCall, context: "RunContext") -> ToolOutcome:
        """Return the answer of the agent that a call names. Raises `AwaitingDecision`."""
        ...


class ForkExplorer(Protocol):
    """The ways that one run tries at once (see forking)."""

    @property
    def needs_approval(self) -> bool:
        """Whether a person decides about each before it is done."""
        ...

    async def explore(self, call: ToolCall, context: "RunContext") -> ToolOutcome:
        """Work on every prompt of a call, and return the results."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go. Times in seconds."""

    idle_seconds: float = 60.0  # how long a model may be silent
    tool_seconds: float = 60.0
    fork_seconds: float = 600.0  # for each branch of a fork
    stop_seconds: float = 0.5  # that the work of a stopped run has to come to rest; then it is let go of
    watch_seconds: float = 5.0  # between two looks for runs that nobody drives
    draft_seconds: float = 1.0  # a crash loses at most this much of an answer
    max_window_tokens: int | None = None  # tokens that a model can read and write at once; None: as many as its package says
    max_messages: int = 6_400  # read from the path's end to build a request
    max_steps: int = 25  # answers of the model in one run
    max_tool_calls: int = 50  # of tools in one run
    max_answer_chars: int = 500_000  # of one answer, its calls' arguments included
    max_result_chars: int = 100_000  # characters of a tool's result


@dataclass(slots=True)
class LimitUsage:
    """What a run, all its agents together, has used of its limits."""

    tool_calls: int = 0
    branches: int = 0  # that forks opened
    answers: int = 0


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the nodes of one run share, as one of its agents has it."""

    recorder: Recorder
    limits: Limits = Limits()
    model: ChosenModel | None = None  # None: nothing is asked of one
    usage: LimitUsage = field(default_factory=LimitUsage)
    decisions: Mapping[str, Decision] = field(default_factory=dict)  # by the call's id
    trace: RunTrace = field(default_factory=make_null_trace)
    time_travel: TimeTravel | None = None  # None: this agent does not move through time
    read_files: FileReader = lambda _: {}  # what attached files hold, by hash
    agent: str = MAIN  # who acts
    tool_names: Sequence[str] | None = None  # the names of those it may have; None: all
    delegator: Delegator | None = None  # None: there is nobody to ask
    fork_explorer: ForkExplorer | None = None  # None: this agent goes one way
    is_unattended: bool = False  # no person can be asked for leave: what needs it is refused
    reserved_answers: int = 0  # of the run's, for the agents that wait for this one


class LimitReached(Exception):
    """The run went as far as its limits allow. The text is a sentence for people."""
