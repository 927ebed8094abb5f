"""The states: conversations as trees of immutable messages, heads that move over them, and checkpoints that name places.

Usable without the rest of Waymark: `CheckpointManager()` keeps everything in memory. Knows nothing of agents or pages.
"""

from checkpoints.changing import HEAD
from checkpoints.database import Database
from checkpoints.errors import (
    BranchNotFoundError,
    CheckpointNotFoundError,
    ConflictError,
    InvalidDocumentError,
    MessageNotFoundError,
    NotFoundError,
    NothingToSaveError,
    NothingToUndoError,
    RunActiveError,
    StateError,
    StoreInUseError,
    StoreUnavailableError,
    ThreadNotFoundError,
)
from checkpoints.manager import CheckpointManager
from checkpoints.model import (
    MAIN,
    UNTITLED,
    Actor,
    Branch,
    By,
    Checkpoint,
    Leaving,
    Message,
    MessageStatus,
    NewMessage,
    Operation,
    OperationKind,
    Receipt,
    Run,
    RunState,
    State,
    Thread,
    counted,
)
from checkpoints.runs import Runs, partial
from checkpoints.store import Store, new_id

__all__ = [
    "HEAD",
    "MAIN",
    "UNTITLED",
    "Actor",
    "Branch",
    "BranchNotFoundError",
    "By",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointNotFoundError",
    "ConflictError",
    "Database",
    "InvalidDocumentError",
    "Leaving",
    "Message",
    "MessageNotFoundError",
    "MessageStatus",
    "NewMessage",
    "NotFoundError",
    "NothingToSaveError",
    "NothingToUndoError",
    "Operation",
    "OperationKind",
    "Receipt",
    "Run",
    "RunActiveError",
    "RunState",
    "Runs",
    "State",
    "StateError",
    "Store",
    "StoreInUseError",
    "StoreUnavailableError",
    "Thread",
    "ThreadNotFoundError",
    "counted",
    "new_id",
    "partial",
]
