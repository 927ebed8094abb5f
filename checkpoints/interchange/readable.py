"""A conversation to be read outside of Waymark: the current path, and the places of all branches and checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..storage.postgresql import allow_long_pauses
from ..store import Store
from ..tree_reader import Fork, read_tree
from ..values.model import Branch, Checkpoint, Json, Message, Node
from ..values.operation import Move, OperationKind
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
    """A move of an agent or a summary, at its note, and the number of messages that it removed or replaced.

    `replaced`: the last message that a summary replaced, where that is known.
    """

    kind: OperationKind
    messages: int
    node: Node
    replaced: Node | None


@dataclass(frozen=True, slots=True)
class ReadableConversation:
    """A conversation after its redaction. `forks` joins the places, as in `ConversationTree`."""

    title: str
    messages: list[Message]
    branches: list[ReadableBranch]
    checkpoints: list[ReadableCheckpoint]
    moves: list[ReadableMove]
    forks: Mapping[int, Fork | None]


def read_conversation(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> ReadableConversation:
    """Read a conversation from one snapshot, and redact it. Damage elsewhere in the tree does not matter.

    Raises `ThreadNotFoundError`, `DamagedMessageError` and the errors of `ExportOptions.redact`.
    """
    with store.database.begin_read() as connection:
        allow_long_pauses(connection)
        thread, path = store.get_thread(thread_id), store.list_messages(thread_id, report=options.report)
        branches = [branch for branch, _ in store.list_branches(thread_id)]
        branches = [each for each in branches[:-MAX_PLACES] if each.id == thread.branch_id] + branches[-MAX_PLACES:]
        checkpoints = [each for each in store.list_all_checkpoints(thread_id) if each.node][-MAX_PLACES:]
        tree = read_tree(store, thread_id, {branch.id for branch in branches}, checkpoints, count=1)
    document = _redact(thread.title, path, branches, checkpoints, options)
    return ReadableConversation(
        title=document["thread"]["title"],
        messages=_restore_messages(path, document),
        branches=[
            ReadableBranch(part["name"], tree.heads[branch.id], branch.id == thread.branch_id)
            for branch, part in zip(branches, document["branches"], strict=True)
        ],
        checkpoints=_restore_checkpoints(checkpoints, document),
        moves=[_read_move(each) for each in tree.moves],
        forks=tree.forks,
    )


def read_path(
    store: Store, thread_id: str, checkpoint: Checkpoint | None = None, options: ExportOptions = WHOLE_EXPORT
) -> ReadableConversation:
    """Read the current path with its checkpoints, or the path to one checkpoint under its name; no other place of the tree.

    Raises the errors of `read_conversation`.
    """
    with store.database.begin_read() as connection:
        allow_long_pauses(connection)
        if checkpoint is None or checkpoint.node is None:
            title, checkpoints = store.get_thread(thread_id).title, store.list_checkpoints(thread_id)[-MAX_PLACES:]
            path = store.list_messages(thread_id, report=options.report)
        else:
            title, checkpoints = checkpoint.name, [checkpoint]
            path = store.list_messages_to(thread_id, checkpoint.node.id)
    places = {(message.segment, message.depth) for message in path}
    checkpoints = [each for each in checkpoints if each.node and each.node.place in places]
    document = _redact(title, path, [], checkpoints, options)
    made = _restore_messages(path, document), _restore_checkpoints(checkpoints, document)
    return ReadableConversation(document["thread"]["title"], made[0], [], made[1], [], {})


def _redact(
    title: str, path: list[Message], branches: list[Branch], checkpoints: list[Checkpoint], options: ExportOptions
) -> Json:
    document: Json = {
        "thread": {"title": title, "settings": {}},
        "messages": [transfer.export_message(message) for message in path],
        "branches": [{"id": branch.id, "name": branch.name, "head": None} for branch in branches],
        "checkpoints": [_describe_checkpoint(each) for each in checkpoints],
    }
    return options.apply_redaction(document)


def _restore_messages(path: list[Message], document: Json) -> list[Message]:
    return [_restore_message(message, part) for message, part in zip(path, document["messages"], strict=True)]


def _restore_checkpoints(checkpoints: list[Checkpoint], document: Json) -> list[ReadableCheckpoint]:
    return [_read_checkpoint(each, part) for each, part in zip(checkpoints, document["checkpoints"], strict=True)]


def _describe_checkpoint(checkpoint: Checkpoint) -> Json:
    return {**checkpoint.to_summary(), "message_id": None, "branch": "", "extra": {}}


def _read_checkpoint(checkpoint: Checkpoint, part: Json) -> ReadableCheckpoint:
    assert checkpoint.node
    described = part["name"], part["description"], checkpoint.created_by
    return ReadableCheckpoint(*described, checkpoint.timestamp.isoformat(), checkpoint.node)


def _read_move(move: Move) -> ReadableMove:
    return ReadableMove(move.operation.kind, move.operation.detail.messages, move.node, move.replaced)


def _restore_message(message: Message, part: Json) -> Message:
    return replace(message, id=part["id"], parent_id=part["parent_id"], agent=part["agent"], body=part["message"])
