"""The state that flows through the graph, and the context of its nodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from langchain_core.messages import BaseMessage, ToolCall

from agent.context.attachments import FileReader
from agent.graph.budgets import AGENT_OWNER, RUN_OWNER, Budget, BudgetUsage, RunUsage
from agent.marks import MemoryCheckpointMark
from agent.settings import ChosenModel
from agent.time_travel.protocol import TimeTravel
from agent.tools.decisions import Decision
from agent.tracing.run_trace import RunTrace, make_null_trace
from checkpoints import MAIN, MessageStatus
from checkpoints.values.limits import MAX_ANSWER_CHARS, MAX_RESULT_CHARS

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

T = TypeVar("T")
_RUN_BUDGET = Budget(answers=500, calls=1_000, seconds=3_600.0)
_AGENT_BUDGET = Budget(answers=100, calls=200, seconds=1_800.0)
_BRANCH_BUDGET = Budget(answers=50, calls=100, seconds=600.0)


class Recorder(Protocol):
    """Records the messages and events of a run's nodes. A message is on disk once `commit` has returned."""

    def note_model(self, spec: str) -> None:
        """Note the model that writes the next answer, for its text if that is cut off."""
        ...

    def append_text(self, delta: str) -> None: ...

    def append_reasoning(self, delta: str) -> None: ...

    def withdraw_text(self) -> None:
        """Keep the uncommitted text as reasoning, as a later tag has shown."""
        ...

    async def begin_tool(self, call_id: str) -> None:
        """Note that a tool begins. Raises an error if another process may have the run, since no tool may run twice."""
        ...

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        """Write a message and return its position for the agent: on the path, or in its memory."""
        ...

    async def cut_off(self) -> None:
        """End an agent's work: keep its unfinished text as a partial message, and answer its open calls."""
        ...

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Run blocking work of this run to its end."""
        ...

    def unique_call_id(self, call_id: str) -> str:
        """Return the id, or a new id if another call of this run has it. A decision must apply to one call only."""
        ...

    def for_agent(self, agent: str, memory_length: int | None = None) -> "Recorder":
        """Return the recorder of a sub-agent in the same run, which commits under its name.

        With `memory_length`, positions refer to the memory instead of the path.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a tool call, as text for the model."""

    text: str
    is_failed: bool = False
    mark: MemoryCheckpointMark | None = None


class Delegator(Protocol):
    """The sub-agents of a run (see delegation)."""

    def is_in_progress(self, agent: str, call: ToolCall) -> bool:
        """Return whether a sub-agent works on this call already."""
        ...

    async def ask(self, call: ToolCall, context: "RunContext") -> ToolOutcome:
        """Return the answer of the agent that a call names. Raises `AwaitingDecision`."""
        ...


class ForkExplorer(Protocol):
    """The forks of a run (see forking)."""

    @property
    def needs_approval(self) -> bool:
        """Return whether a person decides about each fork first."""
        ...

    async def explore(self, call: ToolCall, context: "RunContext") -> ToolOutcome:
        """Work on every prompt of a call, and return the results."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    # How long a model may be silent.
    idle_seconds: float = 60.0
    tool_seconds: float = 60.0
    # How long the work of a stopped run may take to end before it is abandoned.
    stop_seconds: float = 0.5
    # The interval between two checks for runs that no task drives.
    watch_seconds: float = 5.0
    # How long tools and user graphs may take to end where other processes continue the rest.
    shutdown_seconds: float = 70.0
    # A crash loses at most this much of an answer.
    draft_seconds: float = 1.0
    # None: the window that the model's package reports.
    max_window_tokens: int | None = None
    # Messages read from the path's end to build a request.
    max_messages: int = 6_400
    # Budgets of all agents and branches together, of the main agent in a run and each sub-agent with one question, and of
    # each branch of a fork.
    run: Budget = _RUN_BUDGET
    agent: Budget = _AGENT_BUDGET
    branch: Budget = _BRANCH_BUDGET
    # Sub-agents below the main agent that wait for each other.
    max_depth: int = 5
    max_answer_chars: int = MAX_ANSWER_CHARS
    max_result_chars: int = MAX_RESULT_CHARS


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context that an agent's nodes share in a run."""

    recorder: Recorder
    limits: Limits = Limits()
    # None: no model is asked.
    model: ChosenModel | None = None
    run_usage: RunUsage = field(default_factory=lambda: RunUsage(Limits().run, RUN_OWNER))
    own_usage: BudgetUsage = field(default_factory=lambda: BudgetUsage(Limits().agent, AGENT_OWNER))
    # Agents that wait for this agent.
    depth: int = 0
    # Keys are ids of calls.
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    trace: RunTrace = field(default_factory=make_null_trace)
    # None: this agent does not move through time.
    time_travel: TimeTravel | None = None
    # Returns the contents of attached files by hash.
    read_files: FileReader = lambda _: {}
    # The agent that acts, and the tools that it may have; None: all tools.
    agent: str = MAIN
    tool_names: Sequence[str] | None = None
    # None: there are no sub-agents.
    delegator: Delegator | None = None
    # None: this agent does not fork.
    fork_explorer: ForkExplorer | None = None
    # No person can approve, so calls that need approval are refused.
    is_unattended: bool = False
    # Answers of the run that are reserved for the agents that wait for this agent.
    reserved_answers: int = 0


class AgentGraph(Protocol):
    """The graph as its runs use it (see graph). The module itself takes long to import."""

    async def ainvoke(self, input: Any, config: "RunnableConfig", *, context: RunContext) -> Any:
        """Run the agent on its messages, `{"messages": [...]}`, to its end. Return them with its answers."""
        ...


def build_config(limits: Limits, thread_id: str) -> "RunnableConfig":
    """Name the conversation for tools. The library's limit of nodes is so high that a run reaches its own limit first."""
    return {"recursion_limit": 2 * limits.run.answers + 2, "configurable": {"thread_id": thread_id}}
