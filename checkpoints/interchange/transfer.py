"""Export and import: conversations as documents of the format waymark/1.

Reading runs no code and fetches nothing, and checks everything before the first write. Importing never overwrites: it
makes a new conversation, adds to one, or (through `CheckpointManager`) replaces the contents of one, which can be undone.
"""

import base64
from collections.abc import Collection
from dataclasses import dataclass, replace

from ..rows import message_rows, tag_rows
from ..storage.ownership import get_acting_owner
from ..storage.postgresql import allow_long_pauses
from ..store import Store
from ..values import files, limits
from ..values.errors import DamagedFileError, ExportTooLargeError
from ..values.model import Checkpoint, Json, Message, Thread
from ..values.operation import USER, Caller, Operation, OperationKind, Receipt
from ..values.progress import Progress, Report, ignore_progress
from ..values.sentence import sentence
from . import waymark
from .document_redaction import leave_out_parts
from .export_options import WHOLE_EXPORT, ExportOptions
from .import_limits import describe_exceeded_limit
from .import_plan import NothingNewError
from .import_warnings import list_warnings
from .importing import make_merge, make_new_thread, make_replacement
from .message_export import MessageExport, export_messages
from .redaction import Redaction
from .state_export import StateExport, leave_out_states
from .waiting_steps import StepReader
from .waymark import Document

__all__ = [
    "Export",
    "ImportPreview",
    "export",
    "export_current_path",
    "export_document",
    "import_thread",
    "list_warnings",
    "make_replacement",
    "merge_document",
    "preview_import",
    "write_export",
]


@dataclass(frozen=True, slots=True)
class Export:
    """The text of an exported conversation."""

    text: str
    exceeded_limit: str | None = None  # the sentence with which an import would refuse it


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """The effect of importing a document, in numbers. Nothing is written yet."""

    title: str
    messages: int  # in the whole tree, each once
    branches: int
    checkpoints: int
    known_messages: int  # of the messages, those that the target conversation already has
    files: int
    is_target_empty: bool  # the target shows no message: it will show those of the document
    existing_thread: Thread | None  # the conversation that was made from the same document before
    warnings: tuple[str, ...]  # sentences


def export(store: Store, thread_id: str, redaction: Redaction | None = None, report: Report = ignore_progress) -> str:
    """Export a conversation: the messages of its branches and checkpoints, each once, parents first.

    The export contains the extra state of each checkpoint and the current branch. It contains no operations, no messages
    that only an undo can restore, and no alternatives (‹ 2/3 ›) outside all branches and checkpoints. The states of a graph
    are in it unless something is redacted, or they would make it too large: then it says so (`without_states`).

    Raises `DamagedMessageError` or `DamagedFileError` rather than export damaged content, and `ExportTooLargeError` for
    attached files that would make it too large to be imported, or for words to redact that stand everywhere.
    """
    return write_export(store, thread_id, ExportOptions(redaction, report)).text


def write_export(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> Export:
    """Export a conversation as `export` does, and tell whether an import would refuse the file."""
    document, messages = _build_document(store, thread_id, options)
    options.report(Progress(sentence("Writing the file")))
    written = waymark.write_document(document, messages.find_texts(document))
    excess = describe_exceeded_limit(document, written)
    if excess is not None and "states" in document:
        document = leave_out_states(document)
        written = waymark.write_document(document, messages.find_texts(document))
        excess = describe_exceeded_limit(document, written)
    return Export(written.text, excess)


def export_document(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> Json:
    """Build the document as plain JSON, without its hash: see `export`."""
    return _build_document(store, thread_id, options)[0]


def _build_document(store: Store, thread_id: str, options: ExportOptions) -> tuple[Json, MessageExport]:
    """Build the document, and its messages as they were before their redaction."""
    with store.database.begin_read() as connection:
        allow_long_pauses(connection)
        thread, branches, checkpoints, rows = store.load_tree(thread_id)
        names = tag_rows.select_names(connection, thread.tags)
        heads = {b.head_id for b in branches} | {c.node.id for c in checkpoints if c.node}
        reached = waymark.find_reachable({row.id: row.parent_id for row in rows}, heads)
        states = StateExport(thread_id, reached)
        if options.redaction is None:
            held = {*(each.state_id for each in branches), *(each.state_id for each in checkpoints)}
            steps = StepReader.at_thread(connection, store, thread)
            states.read_states(steps, {number for number in held if number is not None})
    messages = export_messages(rows, reached, options.report)
    del rows  # as large as the messages
    branch_ids = {b.id for b in branches}
    made: Json = {
        "format": waymark.FORMAT,
        "exported_at": store.now().isoformat(),
        "thread": _export_thread(
            thread,
            [names[tag_id] for tag_id in thread.tags if tag_id in names],
            lacks_states=thread.state_id is not None and states.find_id(thread.state_id) is None,
        ),
        "messages": messages.parts,
        "branches": [{"id": b.id, "name": b.name, "head": b.head_id} for b in branches],
        "checkpoints": [
            _export_checkpoint(c if c.branch_id in branch_ids else _adopt_checkpoint(c, thread)) for c in checkpoints
        ],
        "active": thread.branch_id,
    }
    written = options.apply_redaction(made) if options.redaction else leave_out_parts(made, options.report)
    made = states.attach_to(written, made, branches, checkpoints)
    attached = _export_files(store, made["messages"])
    return ({**made, "files": attached} if attached else made), messages


def _export_thread(thread: Thread, tags: list[str], *, lacks_states: bool) -> Json:
    """Export a thread's own properties. Marks that it does not have are left out: earlier versions do not know them."""
    marks = {"pinned": thread.pinned, "archived": thread.archived, "without_states": lacks_states}
    return {
        "title": thread.title,
        "settings": dict(thread.settings),
        **{key: True for key, is_set in marks.items() if is_set},
        **({"tags": tags} if tags else {}),
    }


def _export_files(store: Store, messages: list[Json]) -> list[Json]:
    """Export the files that these messages name, each once, in the order of their first mention."""
    found = {
        part["file"]: part for each in messages for part in files.find_file_parts(each["message"]["data"].get("content"))
    }
    if sum(part["size"] for part in found.values()) * 4 // 3 > limits.MAX_DOCUMENT_BYTES:  # base64
        limit = limits.MAX_DOCUMENT_BYTES // 1_000_000
        raise ExportTooLargeError(
            sentence("With its attached files this export would be over {limit} MB. Leave the files out.", limit=limit)
        )
    contents = store.read_files(found)
    if lost := next((part for hash_, part in found.items() if hash_ not in contents), None):
        raise DamagedFileError(lost["name"])
    return [
        {"hash": hash_, "media_type": part["mime_type"], "data": base64.b64encode(contents[hash_]).decode()}
        for hash_, part in found.items()
    ]


def export_current_path(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> Json:
    """Export the current path only, in the document's form: damage elsewhere in the tree does not matter.

    Each message tells, as `is_by_other`, whether another person than the reader asked for it. Nobody is named.
    """
    with store.database.begin_read() as connection:
        allow_long_pauses(connection)
        thread, messages = store.get_thread(thread_id), store.list_messages(thread_id, report=options.report)
    reader = get_acting_owner() or thread.owner
    made: Json = {
        "thread": {"title": thread.title, "settings": {}},
        "messages": [{**export_message(each), "is_by_other": (each.person or reader) != reader} for each in messages],
        "branches": [],
        "checkpoints": [],
    }
    return options.apply_redaction(made)


def export_message(message: Message) -> Json:
    return {
        "id": message.id,
        "parent_id": message.parent_id,
        "agent": message.agent,
        "status": message.status,
        "created_at": message.created_at.isoformat(),
        "message": message.intact.body,
        "hash": message.hash,
    }


def _adopt_checkpoint(checkpoint: Checkpoint, thread: Thread) -> Checkpoint:
    """Move a checkpoint of a deleted branch, which is on another branch's path, to the current branch."""
    return replace(checkpoint, branch_id=thread.branch_id, detached=False)


def _export_checkpoint(checkpoint: Checkpoint) -> Json:
    assert checkpoint.node is not None
    return {
        **checkpoint.to_summary(),
        "message_id": checkpoint.node.id,
        "branch": checkpoint.branch_id,
        "detached": checkpoint.detached,
        "extra": checkpoint.extra,
    }


def preview_import(store: Store, doc: Document, thread_id: str | None = None, graphs: Collection[str] = ()) -> ImportPreview:
    """Count the effect of an import: as a new conversation, or into this thread. Raises `ThreadNotFoundError`.

    `graphs` are the names of those that are offered here.
    """
    known, is_empty = set[str](), False
    if thread_id:
        with store.database.begin_read() as connection:
            allow_long_pauses(connection)
            is_empty = store.get_thread(thread_id).head_id is None
            intact = message_rows.select_intact_messages(connection, thread_id)
            known = {message.hash for message in intact.values()}
    return ImportPreview(
        title=doc.thread.title,
        messages=len(doc.messages),
        branches=len(doc.branches),
        checkpoints=len(doc.checkpoints),
        files=len(doc.files),
        is_target_empty=is_empty,
        known_messages=sum(message.hash in known for message in doc.messages),
        existing_thread=store.find_import(doc.sha256),
        warnings=tuple(list_warnings(doc, graphs)),
    )


def import_thread(
    store: Store,
    doc: Document,
    *,
    graphs: Collection[str] = (),
    caller: Caller = USER,
    report: Report = ignore_progress,
) -> Receipt:
    """Make a conversation from a document; the result is its id. The same document again returns the same conversation.

    The graph that answered it goes on, if it is among `graphs`; no other setting of the document is applied.
    """
    graph = doc.thread.find_offered_graph(graphs)
    fill, settings = make_new_thread(doc, report), {"graph": graph} if graph or doc.states else {}
    return store.import_thread(doc.thread.title, doc.sha256, fill, settings=settings, caller=caller)


def merge_document(
    store: Store, thread_id: str, doc: Document, *, caller: Caller = USER, report: Report = ignore_progress
) -> Receipt:
    """Add a document to a conversation. Messages that it already has are not written again.

    The head stays, unless the current branch is empty: then it shows the document.

    The merge is one operation, which can be undone. Without anything new, nothing is written and the receipt is `repeated`.
    """
    try:
        return store.import_into(thread_id, make_merge(doc, report), caller=caller)
    except NothingNewError:
        return Receipt(_build_empty_operation(store, thread_id, caller), repeated=True)


def _build_empty_operation(store: Store, thread_id: str, caller: Caller) -> Operation:
    return Operation(
        thread_id=thread_id,
        version=store.get_thread(thread_id).version,
        kind=OperationKind.IMPORT,
        actor=caller.actor,
        undo_group=caller.undo_group,
        changes=(),
        result=thread_id,
        undone=False,
        created_at=store.now(),
    )
