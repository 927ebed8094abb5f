"""What flows through the graph, and what a run lends to its nodes."""

from dataclasses import dataclass
from typing import Annotated, Protocol, TypedDict

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.graph.message import add_messages

from checkpoints import MessageStatus


class AgentState(TypedDict):
    """The messages of the acting agent, as the model may see them."""

    messages: Annotated[list[AnyMessage], add_messages]


class Recorder(Protocol):
    """Where a run's nodes put what happens. A message that `commit` has returned from is on disk."""

    def text(self, delta: str) -> None: ...

    def tool_started(self, call_id: str) -> None: ...

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> None: ...


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the nodes of one run share. Times are in seconds."""

    recorder: Recorder
    idle_seconds: float
    tool_seconds: float
