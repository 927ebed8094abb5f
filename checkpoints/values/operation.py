"""Operations: the recorded changes of a thread, and the caller of a change."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .errors import DamagedOperationError
from .model import Actor, Json, Node
from .operation_detail import NO_DETAIL, OperationDetail


class OperationKind(StrEnum):
    """The kind of a recorded change. The names are in the glossary."""

    APPEND = "append"
    # Replaces a question.
    EDIT = "edit"
    # Asks for another answer. Nothing is written yet.
    RETRY = "retry"
    # Replaces a text. The messages after it stay.
    REPLACE = "replace"
    SAVE = "save"
    RENAME = "rename"
    PIN = "pin"
    # Archives a thread, or brings it back.
    ARCHIVE = "archive"
    # Adds tags to a thread, or removes them.
    TAG = "tag"
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
    # Erases content only undo could reach. Earlier changes cannot be undone any more.
    ERASE = "erase"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Caller:
    """The actor of a change, and the version it expects.

    `expected_version` is the thread version the caller saw; another version is a conflict. None accepts any version.
    `request_id` identifies the request: sent twice, it has one effect. `undo_group` joins operations undone together,
    such as all messages of a run.
    """

    actor: Actor = "user"
    expected_version: int | None = None
    request_id: str | None = None
    undo_group: str | None = None


USER = Caller()


def name_request_lock(request_id: str | None) -> str:
    """Return the lock key of a request, or an empty text. The prefix keeps any id from naming another key."""
    return f"request {request_id}" if request_id else ""


@dataclass(frozen=True, slots=True)
class RowChange:
    """The change of a mutable row by an operation: the named columns before and after. `table` is thread, branch or
    checkpoint."""

    table: str
    id: str
    before: Json
    after: Json

    @property
    def inverse(self) -> "RowChange":
        return RowChange(self.table, self.id, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Operation:
    """A recorded change of a thread, with the row changes that undo it exactly.

    The thread's id and `version`, the version it made, identify it. `result` is the id of the object it made. `target`
    is the version undone or redone. `person` acted, where people are told apart. `changes` is empty if the operation
    is `damaged` (they cannot be read) or `abridged` (they were not read, for a list).
    """

    thread_id: str
    version: int
    kind: OperationKind
    actor: Actor
    undo_group: str | None
    changes: tuple[RowChange, ...]
    result: str | None
    undone: bool
    created_at: datetime
    detail: OperationDetail = NO_DETAIL
    target: int | None = None
    person: str | None = None
    damaged: bool = False
    abridged: bool = False

    @property
    def is_rewriting(self) -> bool:
        """Whether a graph replaced or removed messages from before its turn."""
        return self.kind is OperationKind.EDIT and self.actor == "agent" and self.detail.messages > 0

    @property
    def intact(self) -> "Operation":
        """The operation itself, for an undo. Raises `DamagedOperationError`."""
        assert not self.abridged
        if self.damaged:
            raise DamagedOperationError(self.thread_id, self.version)
        return self


@dataclass(frozen=True, slots=True)
class Move:
    """A move or a summary, with its note. A summary replaced the messages of a path up to `replaced`."""

    operation: Operation
    node: Node
    replaced: Node | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a change: its operation. `repeated` means an earlier call made the change, and this call did nothing."""

    operation: Operation
    repeated: bool = False

    @property
    def version(self) -> int:
        """The thread's version made by this change."""
        return self.operation.version

    @property
    def result(self) -> str:
        return self.operation.result or ""
