"""The state model: frozen values without I/O, and the only objects that cross the store's interface."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from . import serde
from .errors import DamagedMessageError
from .files import File
from .graph_author import is_by_graph

Json = dict[str, Any]
# {"messages": [BaseMessage, …], **json_keys}
State = dict[str, Any]
Actor = Literal["user", "agent", "judge", "system"]
# The agent the user talks to.
MAIN = "main"
UNTITLED = "New conversation"


class MessageStatus(StrEnum):
    """Whether a message is complete. A partial message was cut off, and no tool call of it is run."""

    DONE = "done"
    PARTIAL = "partial"


class ThreadRole(StrEnum):
    """The rights of a person in a conversation. Editors and readers are its members."""

    OWNER = "owner"
    EDITOR = "editor"
    READER = "reader"


NewId = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation. `head_id` is the head of its current branch (None: empty), `state_id` the graph state there. Pinned
    threads come first in the list. Archived threads are found by the search only. `tags` are ids, also of removed tags."""

    id: str
    owner: str
    title: str
    settings: Mapping[str, Any]
    branch_id: str
    head_id: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    deleted: bool
    pinned: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()
    state_id: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadProgress:
    version: int
    run_id: str | None


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A thread's place in the list: pinned threads first, then the most recently changed."""

    pinned: bool
    updated_at: datetime
    thread_id: str


@dataclass(frozen=True, slots=True)
class Node:
    """A message's place in the tree: the `depth`-th (from 0) on its path, in `segment` (see history)."""

    id: str
    segment: int
    depth: int

    @property
    def place(self) -> tuple[int, int]:
        return self.segment, self.depth


@dataclass(frozen=True, slots=True)
class Message:
    """An immutable node of the tree. `hash` covers `body`, the LangChain message as JSON, and all messages before it.
    `person` wrote it or asked for it. If it is `damaged`, the bytes do not fit the hash, and `body` has only the type."""

    id: str
    thread_id: str
    parent_id: str | None
    segment: int
    depth: int
    agent: str
    status: MessageStatus
    body: Json
    hash: str
    run_id: str | None
    created_at: datetime
    person: str | None = None
    damaged: bool = False

    @property
    def type(self) -> str:
        return str(self.body["type"])

    @property
    def is_by_graph(self) -> bool:
        return is_by_graph(self.body)

    @property
    def intact(self) -> "Message":
        """The message itself. Raises `DamagedMessageError`, so nobody passes damaged content on."""
        if self.damaged:
            raise DamagedMessageError(self.thread_id, self.id, self.depth)
        return self

    @property
    def langchain(self) -> BaseMessage:
        """A fresh LangChain message. Changes to it are not stored. Raises `DamagedMessageError`."""
        return serde.to_message(self.intact.body)


@dataclass(frozen=True, slots=True)
class MessageSize:
    """The size of a stored message. `byte_count` counts the bytes of its JSON."""

    depth: int
    agent: str
    type: str
    byte_count: int


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message on its way into the store. `created_at` is in microseconds since 1970 for imports, None for now. `files` may
    not be stored yet. `run_id` and `person` name the first author of a copy, None the current run and person."""

    body: Json
    agent: str = MAIN
    status: MessageStatus = MessageStatus.DONE
    id: str | None = None
    created_at: int | None = None
    files: tuple[File, ...] = ()
    run_id: str | None = None
    person: str | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A named head. `state_id` is the graph state at the head, if any."""

    id: str
    thread_id: str
    name: str
    head_id: str | None
    state_id: int | None = None


@dataclass(frozen=True)
class Checkpoint:
    """A named bookmark on a message. `state`, the path to it, is read on first access, as a copy: changes are not stored.
    `detached`: listed although it is off the path, see `history.filter_visible`. `position` counts earlier checkpoints.
    `person` saved it, where people are told apart. `state_id` is a graph's state."""

    id: str
    name: str
    timestamp: datetime
    message_count: int
    description: str = ""
    created_by: Actor = "user"
    tokens: int | None = None
    pinned: bool = False
    node: Node | None = field(default=None, repr=False, compare=False)
    extra: Json = field(default_factory=dict, repr=False, compare=False)
    branch_id: str = field(default="", repr=False, compare=False)
    detached: bool = field(default=False, repr=False, compare=False)
    position: int = field(default=0, repr=False, compare=False)
    load_state: Callable[[], State] | None = field(default=None, repr=False, compare=False)
    state_id: int | None = field(default=None, repr=False, compare=False)
    person: str | None = field(default=None, repr=False, compare=False)

    @cached_property
    def state(self) -> State:
        return self.load_state() if self.load_state else {"messages": []}

    def to_summary(self) -> Json:
        return {
            "id": self.id,
            "name": self.name,
            "timestamp": self.timestamp.isoformat(),
            "message_count": self.message_count,
            "description": self.description,
            "created_by": self.created_by,
            "tokens": self.tokens,
            "pinned": self.pinned,
        }

    def to_dict(self) -> Json:
        state = {key: value for key, value in self.state.items() if key != "messages"}
        return {**self.to_summary(), "state": {**state, "messages": [serde.to_body(m) for m in self.state["messages"]]}}

    @classmethod
    def from_dict(cls, data: Json) -> "Checkpoint":
        state = dict(data["state"])
        state["messages"] = [serde.to_message(body) for body in state["messages"]]
        return cls(
            id=data["id"],
            name=data["name"],
            timestamp=datetime.fromisoformat(data["timestamp"]),
            message_count=data["message_count"],
            description=data.get("description", ""),
            created_by=data.get("created_by", "user"),
            tokens=data.get("tokens"),
            pinned=data.get("pinned", False),
            load_state=lambda: state,
        )


@dataclass(frozen=True, slots=True)
class CheckpointPortion:
    """Some visible checkpoints of a branch, oldest first: the newest, the pinned, and those at the head. `count`
    includes the rest. `standing_ids` are the checkpoints at the current position of the conversation and its graph."""

    checkpoints: list[Checkpoint]
    count: int
    standing_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """The messages removed by the last restore, by their last node, their number and their newest checkpoints.
    `is_newest`: the restore is the newest change, so Undo brings them back."""

    node: Node
    messages: int
    checkpoints: list[Checkpoint]
    is_newest: bool


@dataclass(frozen=True, slots=True)
class RemovedPart:
    """The first messages removed by the last restore. `count`, `end_id` (the last) and `is_newest` are `LeftBehind`'s."""

    messages: list[Message]
    count: int
    end_id: str
    is_newest: bool


@dataclass(frozen=True, slots=True)
class CheckpointMark:
    """A checkpoint of the current path. `count` is the number of checkpoints at its message."""

    id: str
    name: str
    created_by: str
    segment: int
    depth: int
    count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Two paths of a thread: the number of shared messages, and the messages of each path after these. `lengths`
    counts the messages after the shared part. `left` and `right` may hold only the first of them."""

    shared_length: int
    last_shared_id: str | None
    left: list[Message]
    right: list[Message]
    lengths: tuple[int, int]
    # The last shared answer and its shared results, if `left` or `right` alone has a result of its calls.
    calling_messages: list[Message] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PathSize:
    count: int
    byte_count: int


@dataclass(frozen=True, slots=True)
class Removal:
    """What a change removes from the conversation, as counted by the store. `agents` names the sub-agents with removed
    messages. `first_prompt` is the text of the user's first removed message."""

    messages: int
    checkpoints: int
    agents: tuple[str, ...] = ()
    first_prompt: str = ""
