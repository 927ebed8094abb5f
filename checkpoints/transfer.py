"""Export and import: conversations as documents of the format waymark/1.

Reading runs nothing and resolves nothing, and checks everything before anything is touched. Importing never overwrites: it
makes a new conversation, adds to one, or (through the library face) moves a conversation's head to what was imported,
undoably.
"""

import base64
from dataclasses import dataclass, replace

from checkpoints import document, files, open_webui, rows
from checkpoints.document import Document
from checkpoints.errors import DamagedFileError, ExportTooLargeError
from checkpoints.importing import NothingNewError, filling, merging
from checkpoints.model import (
    USER,
    By,
    Checkpoint,
    Json,
    Message,
    MessageStatus,
    Operation,
    OperationKind,
    Receipt,
    Thread,
    counted,
)
from checkpoints.redaction import Redaction
from checkpoints.store import Store

__all__ = ["Preview", "export", "exported", "filling", "import_thread", "merge", "preview", "standing"]


@dataclass(frozen=True, slots=True)
class Preview:
    """What importing a document would do, counted; nothing was done yet."""

    title: str
    messages: int  # in the whole tree, each once
    branches: int
    checkpoints: int
    here: int  # of the messages, those that the conversation to merge into holds already
    files: int
    existing: Thread | None  # the conversation that was made from the same document before
    warnings: tuple[str, ...]  # sentences


def export(store: Store, thread_id: str, redaction: Redaction | None = None) -> str:
    """The conversation as text: what its branches and checkpoints reach, every message once, parents first.

    With the extra state of each checkpoint and the place where the conversation stands. Operations are not in it, and so
    nothing that only an undo could bring back, and no alternative (‹ 2/3 ›) that no branch or checkpoint holds.

    Raises `DamagedMessageError` or `DamagedFileError` rather than hand on what nobody said or attached, and
    `ExportTooLargeError` for attached files with which it could not be imported again.
    """
    return document.to_text(exported(store, thread_id, redaction))


def exported(store: Store, thread_id: str, redaction: Redaction | None = None) -> Json:
    """The document as JSON."""
    thread, branches, checkpoints, messages = store.whole(thread_id)
    roots = {b.head_id for b in branches} | {c.node.id for c in checkpoints if c.node}
    standing = {b.id for b in branches}
    made: Json = {
        "format": document.FORMAT,
        "exported_at": store.now().isoformat(),
        "thread": {"title": thread.title, "settings": dict(thread.settings)},
        "messages": [_message(m) for m in _reached(messages, roots)],
        "branches": [{"id": b.id, "name": b.name, "head": b.head_id} for b in branches],
        "checkpoints": [_checkpoint(c if c.branch_id in standing else _adopted(c, thread)) for c in checkpoints],
        "active": thread.branch_id,
    }
    made = redaction.document(made) if redaction else made
    if attached := _attached(store, made["messages"]):
        made = {**made, "files": attached}
    return {**made, "sha256": document.body_hash(made)}


def _attached(store: Store, messages: list[Json]) -> list[Json]:
    """The files that these messages name, each once, in the order in which they are named."""
    found = {part["file"]: part for each in messages for part in files.parts(each["message"]["data"].get("content"))}
    if sum(part["size"] for part in found.values()) * 4 // 3 > document.MAX_BYTES:  # base64
        limit = document.MAX_BYTES // 1_000_000
        raise ExportTooLargeError(f"With its attached files this export would be over {limit} MB. Leave the files out.")
    held = store.held(found)
    if lost := next((part for hash_, part in found.items() if hash_ not in held), None):
        raise DamagedFileError(lost["name"])
    return [
        {"hash": hash_, "media_type": part["mime_type"], "data": base64.b64encode(held[hash_]).decode()}
        for hash_, part in found.items()
    ]


def standing(store: Store, thread_id: str, redaction: Redaction | None = None) -> Json:
    """Only the conversation as it stands, in the document's form: damage elsewhere in its tree does not matter."""
    with store.database.reading():
        thread, messages = store.thread(thread_id), store.messages(thread_id)
    made: Json = {
        "thread": {"title": thread.title, "settings": {}},
        "messages": [_message(message) for message in messages],
        "branches": [],
        "checkpoints": [],
    }
    return redaction.document(made) if redaction else made


def _reached(messages: list[Message], roots: set[str | None]) -> list[Message]:
    parents = {m.id: m.parent_id for m in messages}
    wanted: set[str] = set()
    for identifier in roots:
        while identifier is not None and identifier not in wanted:
            wanted.add(identifier)
            identifier = parents[identifier]  # noqa: PLW2901
    return [m for m in messages if m.id in wanted]


def _message(message: Message) -> Json:
    return {
        "id": message.id,
        "parent_id": message.parent_id,
        "agent": message.agent,
        "status": message.status,
        "created_at": message.created_at.isoformat(),
        "message": message.intact.body,
        "hash": message.hash,
    }


def _adopted(checkpoint: Checkpoint, thread: Thread) -> Checkpoint:
    """A checkpoint that was made on a branch which was deleted since, and that the path of another one shows."""
    return replace(checkpoint, branch_id=thread.branch_id, detached=False)


def _checkpoint(checkpoint: Checkpoint) -> Json:
    assert checkpoint.node is not None
    return {
        **checkpoint.summary(),
        "message_id": checkpoint.node.id,
        "branch": checkpoint.branch_id,
        "detached": checkpoint.detached,
        "extra": checkpoint.extra,
    }


def preview(store: Store, doc: Document, thread_id: str | None = None) -> Preview:
    """What importing this would bring: as a new conversation, or into the one given. Raises `ThreadNotFoundError`."""
    known: set[str] = set()
    if thread_id:
        with store.database.reading() as connection:
            known = {hash_ for hash_, _ in rows.whole(connection, store.thread(thread_id).id).values()}
    return Preview(
        title=doc.thread.title,
        messages=len(doc.messages),
        branches=len(doc.branches),
        checkpoints=len(doc.checkpoints),
        files=len(doc.files),
        here=sum(message.hash in known for message in doc.messages),
        existing=store.thread_from(doc.sha256),
        warnings=tuple(_warnings(doc)),
    )


def _warnings(doc: Document) -> list[str]:
    system = sum(part.message["type"] == "system" for part in doc.messages)
    partial = sum(part.status is MessageStatus.PARTIAL for part in doc.messages)
    images = sum(_images_left_out(part.message) for part in doc.messages)
    found = []
    if system:
        found.append(f"It holds {counted(system, 'system message')}: kept as notes, they never become instructions.")
    if images:
        found.append(f"{counted(images, 'image')} in it cannot be imported: a line in the text says where.")
    if partial:
        found.append(
            f"{counted(partial, 'message')} in it {'was' if partial == 1 else 'were'} cut off, and will be marked so."
        )
    if doc.thread.settings:
        found.append("The settings in it are not taken over.")
    return found


def _images_left_out(body: Json) -> int:
    metadata = body["data"].get("response_metadata")
    count = metadata.get(open_webui.LEFT_OUT) if isinstance(metadata, dict) else None
    return count if isinstance(count, int) and 0 < count < document.MAX_MESSAGES else 0


def import_thread(store: Store, doc: Document, *, by: By = USER) -> Receipt:
    """A new conversation from a document; the result is its id. The same document again is the conversation it made."""
    return store.import_thread(doc.thread.title, doc.sha256, filling(doc), by=by)


def merge(store: Store, thread_id: str, doc: Document, *, by: By = USER) -> Receipt:
    """Add a document to a conversation, whose head stays where it is: what it holds already is not written again.

    One operation, which can be undone. If all of it is there already, nothing is done, and the receipt is a repeated one.
    """
    try:
        return store.import_into(thread_id, merging(doc), by=by)
    except NothingNewError:
        return Receipt(_nothing(store, thread_id, by), repeated=True)


def _nothing(store: Store, thread_id: str, by: By) -> Operation:
    return Operation(
        thread_id=thread_id,
        version=store.thread(thread_id).version,
        kind=OperationKind.IMPORT,
        actor=by.actor,
        group=by.group,
        changes=(),
        note="",
        result=thread_id,
        undone=False,
        created_at=store.now(),
    )
