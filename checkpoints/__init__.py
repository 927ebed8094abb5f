"""The states: conversations as trees of immutable messages, with movable heads and named checkpoints.

The package works without the rest of Waymark: `CheckpointManager()` keeps everything in memory.
"""

from .changes.append import HEAD
from .changes.run_changes import make_partial_messages
from .manager import CheckpointManager
from .rows.run_rows import RunEnd
from .run_ends import CandidateEnd
from .runs import Runs
from .storage.database import Database
from .storage.ownership import (
    EVERYBODY,
    LOCAL_OWNER,
    NOBODY,
    UnownedStatementError,
    act_for,
    get_acting_owner,
    make_context,
    require_writer,
)
from .store import Store, new_id
from .values.errors import (
    BranchNotFoundError,
    CheckpointNotFoundError,
    ConflictError,
    ContendedError,
    CurrentBranchError,
    DamagedMessageError,
    InvalidDocumentError,
    MessageNotFoundError,
    NotFoundError,
    NothingToSaveError,
    NothingToUndoError,
    RequestReusedError,
    RunActiveError,
    RunTakenError,
    StateError,
    StoreBusyError,
    StoreInUseError,
    StoreUnavailableError,
    TakesTooLongError,
    ThreadNotFoundError,
    UnfitMessageError,
)
from .values.model import (
    MAIN,
    UNTITLED,
    Actor,
    Branch,
    Checkpoint,
    Difference,
    ListPlace,
    Message,
    MessageStatus,
    NewMessage,
    Removal,
    State,
    Thread,
)
from .values.operation import Caller, Operation, OperationKind, Receipt
from .values.operation_detail import LONG_SETTINGS, OperationDetail
from .values.run import Candidate, CandidateKey, Draft, Handover, Rerun, RerunStep, Run, RunState
from .values.text import pluralize

__all__ = [
    "EVERYBODY",
    "HEAD",
    "LOCAL_OWNER",
    "LONG_SETTINGS",
    "MAIN",
    "NOBODY",
    "UNTITLED",
    "Actor",
    "Branch",
    "BranchNotFoundError",
    "Caller",
    "Candidate",
    "CandidateEnd",
    "CandidateKey",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointNotFoundError",
    "ConflictError",
    "ContendedError",
    "CurrentBranchError",
    "DamagedMessageError",
    "Database",
    "Difference",
    "Draft",
    "Handover",
    "InvalidDocumentError",
    "ListPlace",
    "Message",
    "MessageNotFoundError",
    "MessageStatus",
    "NewMessage",
    "NotFoundError",
    "NothingToSaveError",
    "NothingToUndoError",
    "Operation",
    "OperationDetail",
    "OperationKind",
    "Receipt",
    "Removal",
    "RequestReusedError",
    "Rerun",
    "RerunStep",
    "Run",
    "RunActiveError",
    "RunEnd",
    "RunState",
    "RunTakenError",
    "Runs",
    "State",
    "StateError",
    "Store",
    "StoreBusyError",
    "StoreInUseError",
    "StoreUnavailableError",
    "TakesTooLongError",
    "Thread",
    "ThreadNotFoundError",
    "UnfitMessageError",
    "UnownedStatementError",
    "act_for",
    "get_acting_owner",
    "make_context",
    "make_partial_messages",
    "new_id",
    "pluralize",
    "require_writer",
]
