"""A conversation to be read outside of Waymark: the current path, and the places of all branches and checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..model import Checkpoint, Json, Message, Node
from ..operation import OperationKind
from ..store import Store
from ..tree_reader import Fork, read_tree
from . import transfer
from .export_options import WHOLE_EXPORT, ExportOptions

MAX_PLACES = 2_000  # branches and checkpoints each, the newest


@dataclass(frozen=True, slots=True)
class ReadableBranch:
    """A branch and its last message; None: it is empty."""

    name: str
    head: Node | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class ReadableCheckpoint:
    name: str
    description: str
    created_by: str
    time: str  # ISO 8601
    node: Node


@dataclass(frozen=True, slots=True)
class ReadableMove:
    """A move of an agent or a summary, at its note, and the number of messages that it removed or replaced."""

    kind: OperationKind
    messages: int
    node: Node


@dataclass(frozen=True, slots=True)
class ReadableConversation:
    """A conversation without what the redaction leaves out. `forks` joins the places, as in `ConversationTree`."""

    title: str
    messages: list[Message]
    branches: list[ReadableBranch]
    checkpoints: list[ReadableCheckpoint]
    moves: list[ReadableMove]
    forks: Mapping[int, Fork | None]


def read_conversation(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> ReadableConversation:
    """Read a conversation from one snapshot, and redact it. Damage elsewhere in the tree does not matter.

    Raises `ThreadNotFoundError`, `DamagedMessageError` and what `ExportOptions.redact` raises.
    """
    with store.database.begin_read():
        thread, path = store.get_thread(thread_id), store.list_messages(thread_id, report=options.report)
        branches = [branch for branch, _ in store.list_branches(thread_id)]
        branches = [each for each in branches[:-MAX_PLACES] if each.id == thread.branch_id] + branches[-MAX_PLACES:]
        checkpoints = [each for each in store.list_all_checkpoints(thread_id) if each.node][-MAX_PLACES:]
        tree = read_tree(store, thread_id, {branch.id for branch in branches}, checkpoints, count=1)
    document: Json = {
        "thread": {"title": thread.title, "settings": {}},
        "messages": [transfer.export_message(message) for message in path],
        "branches": [{"id": branch.id, "name": branch.name, "head": None} for branch in branches],
        "checkpoints": [_describe_checkpoint(each) for each in checkpoints],
    }
    document = options.apply_redaction(document)
    return ReadableConversation(
        title=document["thread"]["title"],
        messages=[_restore_message(message, part) for message, part in zip(path, document["messages"], strict=True)],
        branches=[
            ReadableBranch(part["name"], tree.heads[branch.id], branch.id == thread.branch_id)
            for branch, part in zip(branches, document["branches"], strict=True)
        ],
        checkpoints=[_read_checkpoint(each, part) for each, part in zip(checkpoints, document["checkpoints"], strict=True)],
        moves=[ReadableMove(operation.kind, operation.detail.messages, node) for operation, node in tree.moves],
        forks=tree.forks,
    )


def _describe_checkpoint(checkpoint: Checkpoint) -> Json:
    return {**checkpoint.to_summary(), "message_id": None, "branch": "", "extra": {}}


def _read_checkpoint(checkpoint: Checkpoint, part: Json) -> ReadableCheckpoint:
    assert checkpoint.node
    described = part["name"], part["description"], checkpoint.created_by
    return ReadableCheckpoint(*described, checkpoint.timestamp.isoformat(), checkpoint.node)


def _restore_message(message: Message, part: Json) -> Message:
    return replace(message, id=part["id"], parent_id=part["parent_id"], agent=part["agent"], body=part["message"])
