"""Operations: the recorded changes of a thread, and the caller who asks for one."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .errors import DamagedOperationError
from .model import Actor, Json, Node
from .operation_detail import NO_DETAIL, OperationDetail


class OperationKind(StrEnum):
    """One recorded change. Names are those of the glossary."""

    APPEND = "append"
    EDIT = "edit"  # another question in the place of one
    RETRY = "retry"  # another answer: nothing is written yet
    REPLACE = "replace"  # another text in the place of one; the messages after it stay
    SAVE = "save"
    RENAME = "rename"
    PIN = "pin"
    ARCHIVE = "archive"  # of a thread, or the return of one
    TAG = "tag"  # a thread, or take its tags away
    SETTINGS = "settings"
    FORK = "fork"
    RESTORE = "restore"
    GOTO = "goto"
    REWIND = "rewind"
    COMPACT = "compact"
    SWITCH = "switch"
    DELETE = "delete"
    IMPORT = "import"
    CLEAR = "clear"
    ERASE = "erase"  # of what only undo could reach: what was done before it cannot be undone any more
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Caller:
    """The actor of a change, and the version that it expects.

    `expected_version` is the thread's version that the caller saw: another one means a conflict (None: any version).
    `request_id` is the caller's id for this request: the same one twice has one effect.
    `undo_group` joins operations that are undone together, such as all messages of one run.
    """

    actor: Actor = "user"
    expected_version: int | None = None
    request_id: str | None = None
    undo_group: str | None = None


USER = Caller()


def name_request_lock(request_id: str | None) -> str:
    """Return the key that a request locks, empty without one. A request id, which is any text, names no other key."""
    return f"request {request_id}" if request_id else ""


@dataclass(frozen=True, slots=True)
class RowChange:
    """The change of one mutable row by an operation: the named columns before and after."""

    table: str  # thread, branch or checkpoint
    id: str
    before: Json
    after: Json

    @property
    def inverse(self) -> "RowChange":
        return RowChange(self.table, self.id, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Operation:
    """One recorded change of a thread, with the row changes that undo it exactly."""

    thread_id: str
    version: int  # the thread's version that it made; with the thread's id, its name
    kind: OperationKind
    actor: Actor
    undo_group: str | None
    changes: tuple[RowChange, ...]
    result: str | None  # the id of what it made
    undone: bool
    created_at: datetime
    detail: OperationDetail = NO_DETAIL
    target: int | None = None  # of an undo or a redo: the version that it undid or redid
    person: str | None = None  # who acted, where people are told apart
    damaged: bool = False  # its changes cannot be read: `changes` is then empty
    abridged: bool = False  # its changes were not read, for a list: `changes` is then empty

    @property
    def is_rewriting(self) -> bool:
        """Whether a graph replaced or removed messages from before its turn."""
        return self.kind is OperationKind.EDIT and self.actor == "agent" and self.detail.messages > 0

    @property
    def intact(self) -> "Operation":
        """The operation itself, to be undone. Raises `DamagedOperationError`."""
        assert not self.abridged
        if self.damaged:
            raise DamagedOperationError(self.thread_id, self.version)
        return self


@dataclass(frozen=True, slots=True)
class Move:
    """A move or a summary, with its note. A summary replaced the messages of a path, up to `replaced`."""

    operation: Operation
    node: Node
    replaced: Node | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a change: the operation that recorded it."""

    operation: Operation
    repeated: bool = False  # an earlier call carried this request out; this one did nothing

    @property
    def version(self) -> int:
        """The thread's version from this change on."""
        return self.operation.version

    @property
    def result(self) -> str:
        return self.operation.result or ""
