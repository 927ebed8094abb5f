"""Existing contents: all that an import has to know of the database, read once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..rows import checkpoint_rows, message_rows, thread_rows
from ..rows.checkpoint_rows import CheckpointListing
from ..rows.message_rows import IntactMessage
from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.ownership import pass_checks
from ..values.history import SegmentParents
from ..values.model import Branch, Checkpoint, Node, Thread
from .waymark import Document


@dataclass(frozen=True, slots=True)
class IdOwner:
    """The message that an id belongs to, or, for the id of a checkpoint, the message that the checkpoint is on."""

    hash: str
    thread_id: str
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingContents:
    """The contents of a conversation before an import, and the ids of the document that are in use anywhere."""

    thread_id: str
    branch_id: str  # of the current branch
    messages: Mapping[str, IntactMessage]  # by id
    last_depths: Mapping[int, int]  # by segment; damaged messages count
    segment_parents: SegmentParents
    branches: Sequence[tuple[Branch, Node | None]]  # each with its head; None for an empty branch or a lost message
    checkpoints: Sequence[Checkpoint]  # not deleted, in the order they were made
    listings: Mapping[str, CheckpointListing]  # of every checkpoint, deleted ones included, by id
    message_owners: Mapping[str, IdOwner]  # by id of the document
    checkpoint_owners: Mapping[str, IdOwner]  # by id of the document

    def match_messages(self, doc: Document) -> dict[str, Node]:
        """Return the messages of the document that the conversation has, by their ids in the document.

        Of several equal messages, the one with the document's id is used.
        """
        by_hash = {message.hash: message for message in self.messages.values()}
        return {
            part.id: self.messages.get(part.id, by_hash[part.hash]).node for part in doc.messages if part.hash in by_hash
        }


def read_existing_contents(connection: sa.Connection, thread: Thread, doc: Document) -> ExistingContents:
    message, checkpoint = schema.message, schema.checkpoint
    owner = (message.c.hash, message.c.thread_id, message.c.id.label("place"))
    checkpoint_query = sa.select(checkpoint.c.id, *owner).join_from(
        checkpoint, message, message.c.id == checkpoint.c.message_id
    )
    with pass_checks(connection):  # an id of somebody else cannot be given twice either
        message_owners = _index_owners(
            select_in_batches(connection, sa.select(message.c.id, *owner), message.c.id, [part.id for part in doc.messages])
        )
        checkpoint_owners = _index_owners(
            select_in_batches(connection, checkpoint_query, checkpoint.c.id, [part.id for part in doc.checkpoints])
        )
    return ExistingContents(
        thread_id=thread.id,
        branch_id=thread.branch_id,
        messages=message_rows.select_intact_messages(connection, thread.id),
        last_depths=thread_rows.select_last_depths(connection, thread.id),
        segment_parents=thread_rows.select_segment_parents(connection, thread.id),
        branches=thread_rows.select_branch_heads(connection, thread.id),
        checkpoints=checkpoint_rows.select_checkpoints(connection, thread.id),
        listings=checkpoint_rows.select_listings(connection, thread.id),
        message_owners=message_owners,
        checkpoint_owners=checkpoint_owners,
    )


def _index_owners(rows: Iterable[Any]) -> dict[str, IdOwner]:
    return {row[0]: IdOwner(*row[1:]) for row in rows}
