"""Insert new messages with their contents, hashes and places, in portions."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ..storage import schema
from ..storage.bulk_insert import insert_rows
from ..values import serde
from ..values.files import File
from ..values.model import Json, Message, MessageStatus, NewMessage, Node, Thread
from ..values.progress import Report, StepCounter, ignore_progress
from ..values.sentence import sentence
from . import thread_rows
from .search_index import NewEntry

# Progress is reported after this many rows.
_MAX_INSERTED_ROWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContent:
    """A new message without id and place, made without the database.

    `body` is canonical JSON, `created_at` is in microseconds since 1970, and `files` are named by the body.
    """

    agent: str
    status: MessageStatus
    body: str
    hash: str
    created_at: int
    run_id: str | None = None
    person: str | None = None
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedMessage:
    """A new message with its id, its place and its parent's id."""

    node: Node
    parent_id: str | None
    content: MessageContent

    def to_message(self, thread_id: str) -> Message:
        """Return the message as it would be read from its row."""
        content = self.content
        return Message(
            id=self.node.id,
            thread_id=thread_id,
            parent_id=self.parent_id,
            segment=self.node.segment,
            depth=self.node.depth,
            agent=content.agent,
            status=content.status,
            body=serde.parse_canonical(content.body),
            hash=content.hash,
            run_id=content.run_id,
            created_at=thread_rows.to_time(content.created_at),
            person=content.person,
        )

    def make_index_entry(self, thread: Thread) -> NewEntry:
        """Return its entry in the index of the search of this conversation."""
        segment, depth = self.node.place
        return NewEntry(
            segment=segment,
            depth=depth,
            created_at=self.content.created_at,
            thread_id=thread.id,
            owner=thread.owner,
            body=self.content.body,
        )


def make_message_content(
    message: NewMessage, parent_hash: str | None, now: int, run_id: str | None, person: str | None = None
) -> MessageContent:
    """Make the content of a message. The acting `person` wrote it, unless it has a time of its own from elsewhere."""
    body = serde.to_canonical(message.body)
    return MessageContent(
        agent=message.agent,
        status=message.status,
        body=body,
        hash=serde.hash_canonical_body(body, message.agent, message.status, parent_hash),
        created_at=now if message.created_at is None else message.created_at,
        run_id=message.run_id or run_id,
        person=person if message.created_at is None else message.person,
        files=message.files,
    )


def insert_messages(
    connection: sa.Connection, thread_id: str, messages: Sequence[PlacedMessage], report: Report = ignore_progress
) -> None:
    """Write messages, parents first. Their files are written separately."""
    counter = StepCounter(report, sentence("Writing"), len(messages), "messages")
    for start in range(0, len(messages), _MAX_INSERTED_ROWS):
        portion = messages[start : start + _MAX_INSERTED_ROWS]
        insert_rows(connection, schema.message, [_make_row(thread_id, each) for each in portion])
        counter.add(len(portion))


def _make_row(thread_id: str, message: PlacedMessage) -> Json:
    node, content = message.node, message.content
    return {
        "id": node.id,
        "thread_id": thread_id,
        "parent_id": message.parent_id,
        "segment": node.segment,
        "depth": node.depth,
        "agent": content.agent,
        "status": content.status,
        "body": content.body,
        "hash": content.hash,
        "run_id": content.run_id,
        "created_at": content.created_at,
        "person": content.person,
    }
