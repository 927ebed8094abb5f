"""The values of the state model: frozen, free of I/O, and the only things that cross the store's seam."""

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
State = dict[str, Any]  # {"messages": [BaseMessage, …], **json_keys}
Actor = Literal["user", "agent", "judge", "system"]
MAIN = "main"  # the name of the agent that the user talks to
UNTITLED = "New conversation"


class MessageStatus(StrEnum):
    """Whether a message is whole. A partial one was cut off and nothing is ever run from it."""

    DONE = "done"
    PARTIAL = "partial"


class ThreadRole(StrEnum):
    """The rights of a person in a conversation. Members are all but the owner."""

    OWNER = "owner"
    EDITOR = "editor"
    READER = "reader"


NewId = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation. `head_id` is where its current branch stands; None before the first message."""

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
    pinned: bool = False  # before all others in the list
    archived: bool = False  # out of the list, and found by the search
    tags: tuple[str, ...] = ()  # ids, also of removed ones; `storage.tag_rows` knows their names
    state_id: int | None = None  # of a graph's state, where the current branch has one


@dataclass(frozen=True, slots=True)
class ThreadProgress:
    """How far a thread is: its version, and the run that is at work in it."""

    version: int
    run_id: str | None


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The place of a thread in the list: pinned ones first, then the most recently changed."""

    pinned: bool
    updated_at: datetime
    thread_id: str


@dataclass(frozen=True, slots=True)
class Node:
    """Where a message stands in the tree: the `depth`-th (from 0) on its path, in `segment` (see history)."""

    id: str
    segment: int
    depth: int

    @property
    def place(self) -> tuple[int, int]:
        return self.segment, self.depth


@dataclass(frozen=True, slots=True)
class Message:
    """An immutable node of the tree. `body` is the LangChain message as plain JSON, `hash` covers it and all before it."""

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
    person: str | None = None  # who wrote it, or asked for it, where people are told apart
    damaged: bool = False  # what is stored does not fit its hash: `body` is then an empty one of the same type

    @property
    def type(self) -> str:
        return str(self.body["type"])

    @property
    def is_by_graph(self) -> bool:
        return is_by_graph(self.body)

    @property
    def intact(self) -> "Message":
        """Itself, for whoever passes its content on. Raises `DamagedMessageError`."""
        if self.damaged:
            raise DamagedMessageError(self.thread_id, self.id, self.depth)
        return self

    @property
    def langchain(self) -> BaseMessage:
        """A fresh LangChain message; changing it changes nothing stored. Raises `DamagedMessageError`."""
        return serde.to_message(self.intact.body)


@dataclass(frozen=True, slots=True)
class MessageSize:
    """The size of a stored message, for a caller that need not read it."""

    depth: int
    agent: str
    type: str
    byte_count: int  # of its JSON


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message on its way into the store."""

    body: Json
    agent: str = MAIN
    status: MessageStatus = MessageStatus.DONE
    id: str | None = None  # chosen by the caller when it must be known beforehand
    created_at: int | None = None  # microseconds since 1970, of an imported message; None: now
    files: tuple[File, ...] = ()  # that its body names and that may not be stored yet
    run_id: str | None = None  # of the run that wrote it first, where it is a copy; None: whoever writes it now
    person: str | None = None  # who wrote it first, where it is a copy; None: who acts


@dataclass(frozen=True, slots=True)
class Branch:
    """A named head."""

    id: str
    thread_id: str
    name: str
    head_id: str | None
    state_id: int | None = None  # of a graph's state that belongs to the head


@dataclass(frozen=True)
class Checkpoint:
    """A named bookmark on a message; its state is the path to that message.

    `state` is read from the store when first asked for, as a copy of its own: changing it changes nothing stored.
    """

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
    detached: bool = field(
        default=False, repr=False, compare=False
    )  # listed although it is off the path: see history.listed
    position: int = field(default=0, repr=False, compare=False)  # how many checkpoints of the thread were made before it
    load_state: Callable[[], State] | None = field(default=None, repr=False, compare=False)
    state_id: int | None = field(default=None, repr=False, compare=False)  # of a graph's state
    person: str | None = field(default=None, repr=False, compare=False)  # who saved it, where people are told apart

    @cached_property
    def state(self) -> State:
        return self.load_state() if self.load_state else {"messages": []}

    def to_summary(self) -> Json:
        """Return all but the state, as a list shows it."""
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
        """The inverse of `to_dict`."""
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
    """Some of the checkpoints that a branch shows, oldest first: the newest, the pinned, and those at the head."""

    checkpoints: list[Checkpoint]
    count: int  # of all
    standing_ids: Sequence[str] = ()  # of those where the conversation stands, with its graph


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """The messages that the last restore removed: the last of them, their number, and the newest checkpoints on them."""

    node: Node
    messages: int
    checkpoints: list[Checkpoint]
    is_newest: bool  # the restore is the newest change: Undo brings the messages back


@dataclass(frozen=True, slots=True)
class RemovedPart:
    """The beginning of the messages that the last restore removed, and the number of all of them."""

    messages: list[Message]
    count: int
    end_id: str  # of the last of them
    is_newest: bool  # the restore is the newest change: Undo brings the messages back


@dataclass(frozen=True, slots=True)
class CheckpointMark:
    """A checkpoint of the current path, by its place, its id and its name."""

    id: str
    name: str
    created_by: str
    segment: int
    depth: int
    count: int  # of the checkpoints at its message


@dataclass(frozen=True, slots=True)
class Difference:
    """Two paths of one thread: the number of messages that both begin with, and the messages of each after these."""

    shared_length: int
    last_shared_id: str | None
    left: list[Message]
    right: list[Message]
    lengths: tuple[int, int]  # messages of each after the shared ones; `left` and `right` may be the first of them
    # The last shared answer and its shared results, where one of its calls has a result in `left` or `right` alone.
    calling_messages: list[Message] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PathSize:
    """The number of messages of a part of a path, and the bytes of their JSON together."""

    count: int
    byte_count: int


@dataclass(frozen=True, slots=True)
class Removal:
    """The messages and checkpoints that a change removes from the conversation, as the store counts them."""

    messages: int
    checkpoints: int
    agents: tuple[str, ...] = ()  # the names of the sub-agents whose messages are among them
    first_prompt: str = ""  # the text of the first message of the user among them
