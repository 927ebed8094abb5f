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

    def append_text(self, delta: str) -> None: ...

    def append_reasoning(self, delta: str) -> None: ...

    def withdraw_text(self) -> None:
        """Keep the text of the answer in progress as its reasoning: a tag after it has shown that."""
        ...

    async def begin_tool(self, call_id: str) -> None:
        """Note that a tool begins. Raises an error where the run may be another process's: no tool runs twice."""
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
        """Return the id, or a new one where a call of this run has it: a decision about one call must hold for no other."""
        ...

    def for_agent(self, agent: str, memory_length: int | None = None) -> "Recorder":
        """Return the recorder of a sub-agent in the same run, which commits under its name.

        With the length of its memory, positions are those of the memory and not of the path.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a tool call, as text for the model."""

    text: str
    is_failed: bool = False
    mark: MemoryCheckpointMark | None = None


class Delegator(Protocol):
    """The sub-agents of one run (see delegation)."""

    def is_in_progress(self, agent: str, call: ToolCall) -> bool:
        """Return whether a sub-agent works on this call already."""
        ...

    async def ask(self, call: ToolCall, context: "RunContext") -> ToolOutcome:
        """Return the answer of the agent that a call names. Raises `AwaitingDecision`."""
        ...


class ForkExplorer(Protocol):
    """The forks of one run (see forking)."""

    @property
    def needs_approval(self) -> bool:
        """Return whether a person decides about each fork first."""
        ...

    async def explore(self, call: ToolCall, context: "RunContext") -> ToolOutcome:
        """Work on every prompt of a call, and return the results."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run. Times are in seconds."""

    idle_seconds: float = 60.0  # how long a model may be silent
    tool_seconds: float = 60.0
    stop_seconds: float = 0.5  # that the work of a stopped run has to end; then it is abandoned
    watch_seconds: float = 5.0  # between two looks for runs that no task drives
    shutdown_seconds: float = 70.0  # that tools and user graphs have to end, where other processes go on with the rest
    draft_seconds: float = 1.0  # a crash loses at most this much of an answer
    max_window_tokens: int | None = None  # tokens of a model's window; None: as its package reports
    max_messages: int = 6_400  # read from the path's end to build a request
    run: Budget = _RUN_BUDGET  # all agents and branches together
    agent: Budget = _AGENT_BUDGET  # the main agent in a run, and each sub-agent with one question
    branch: Budget = _BRANCH_BUDGET  # each branch of a fork
    max_depth: int = 5  # sub-agents below the main agent that wait for each other
    max_answer_chars: int = MAX_ANSWER_CHARS
    max_result_chars: int = MAX_RESULT_CHARS


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context that one agent's nodes share in a run."""

    recorder: Recorder
    limits: Limits = Limits()
    model: ChosenModel | None = None  # None: no model is asked
    run_usage: RunUsage = field(default_factory=lambda: RunUsage(Limits().run, RUN_OWNER))
    own_usage: BudgetUsage = field(default_factory=lambda: BudgetUsage(Limits().agent, AGENT_OWNER))  # by this agent alone
    depth: int = 0  # agents that wait for this one
    decisions: Mapping[str, Decision] = field(default_factory=dict)  # by the call's id
    trace: RunTrace = field(default_factory=make_null_trace)
    time_travel: TimeTravel | None = None  # None: this agent does not move through time
    read_files: FileReader = lambda _: {}  # contents of attached files, by hash
    agent: str = MAIN  # the agent that acts
    tool_names: Sequence[str] | None = None  # the tools that it may have; None: all
    delegator: Delegator | None = None  # None: there are no sub-agents
    fork_explorer: ForkExplorer | None = None  # None: this agent does not fork
    is_unattended: bool = False  # no person can approve: calls that need approval are refused
    reserved_answers: int = 0  # answers of the run kept for the agents that wait for this one


class AgentGraph(Protocol):
    """The graph as its runs use it (see graph), which takes long to import."""

    async def ainvoke(self, input: Any, config: "RunnableConfig", *, context: RunContext) -> Any:
        """Run the agent on its messages, `{"messages": [...]}`, to its end. Return them with its answers."""
        ...


def build_config(limits: Limits) -> "RunnableConfig":
    """Set the library's limit of nodes, high enough that a run reaches its own limit of answers first."""
    return {"recursion_limit": 2 * limits.run.answers + 2}
