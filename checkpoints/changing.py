"""One change of one thread, while it is being made: the writing half of the store.

Everything that moves goes through `move` or `move_head`, which note the columns before and after. So every operation is
undone by one piece of code, exactly: put the noted columns back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from checkpoints import bookmarks, files, history, rows, schema, serde
from checkpoints.errors import ConflictError, RunActiveError
from checkpoints.limits import to_tokens
from checkpoints.model import (
    DESCRIPTION_LENGTH,
    UNTITLED,
    By,
    Change,
    Checkpoint,
    Json,
    NewId,
    NewMessage,
    Node,
    Operation,
    OperationKind,
    Receipt,
    Thread,
    counted,
    named,
)

_UPDATES: Final = {  # one row of what moves, by its id
    name: sa.update(table).where(table.c.id == sa.bindparam("row_id")) for name, table in schema.MOVABLE.items()
}
# The condition is the compare-and-swap: it fails if anyone else moved the version inside this transaction's view.
_NEXT_VERSION: Final = sa.update(schema.thread).where(
    schema.thread.c.id == sa.bindparam("thread_id"), schema.thread.c.version == sa.bindparam("seen")
)
_OPERATION: Final = sa.insert(schema.operation)

HEAD: Final = "(head)"  # as the place to append after: wherever the head stands; no message can have this id


@dataclass
class Changing:
    """An open change. `standing` is as it was found; `head` follows what the change does."""

    connection: sa.Connection
    standing: rows.Standing
    now: int  # microseconds since 1970
    new_id: NewId
    by: By
    changes: list[Change] = field(default_factory=list)
    head: Node | None = None
    target: int | None = None  # of an undo or a redo
    note: str = ""  # one line for people about what was changed
    _forks: history.Forks | None = field(default=None, init=False, repr=False)  # until a segment is made

    def __post_init__(self) -> None:
        self.head = self.standing.head

    @property
    def thread(self) -> Thread:
        """As it was found."""
        return self.standing.thread

    # reading what the change is about

    def path(self) -> history.Path:
        """The path to the head as the change has it now."""
        return self.path_to(self.head)

    def path_to(self, place: Node | None) -> history.Path:
        if self._forks is None:
            self._forks = rows.forks(self.connection, self.thread.id)
        return history.path_to(place, self._forks)

    def checkpoint(self, checkpoint_id: str) -> Checkpoint:
        """One of the checkpoints that the current branch shows. Raises `CheckpointNotFoundError`."""
        return bookmarks.one(self.connection, self.thread, checkpoint_id, self.path())

    def shown(self) -> list[Checkpoint]:
        """The checkpoints that the current branch shows."""
        return history.listed(bookmarks.every(self.connection, self.thread.id), self.thread.branch_id, self.path())

    # writing

    def move(self, table: str, identifier: str, **after: Any) -> None:
        """Set columns of a movable row, noting what they were."""
        if not after:
            return
        target = schema.MOVABLE[table]
        columns = [target.c[name] for name in after]
        row = self.connection.execute(sa.select(*columns).where(target.c.id == identifier)).one()
        self._set(table, identifier, dict(row._mapping), after)

    def _set(self, table: str, identifier: str, before: Json, after: Json) -> None:
        if before != after:
            self.changes.append(Change(table, identifier, before, after))
            self.connection.execute(_UPDATES[table], {"row_id": identifier, **after})

    def made(self, table: str, identifier: str) -> None:
        """Note a row that this change inserted: undoing hides it again."""
        self.changes.append(Change(table, identifier, {"deleted_at": self.now}, {"deleted_at": None}))

    def put(self, change: Change) -> None:
        """Apply a noted change, refusing if the row has moved on since."""
        target = schema.MOVABLE[change.table]
        row = self.connection.execute(
            sa.select(*(target.c[name] for name in change.before)).where(target.c.id == change.id)
        ).one()
        if dict(row._mapping) != change.before:
            raise ConflictError(self.thread.id, self.thread.version, self.thread.version)
        self.connection.execute(_UPDATES[change.table], {"row_id": change.id, **change.after})
        self.changes.append(change)

    def move_head(self, place: Node | None) -> None:
        # Nothing else in a change moves this head, so that what it was is known: `put` is an undo's alone.
        before = self.head.id if self.head else None
        self._set("branch", self.thread.branch_id, {"head_id": before}, {"head_id": place.id if place else None})
        self.head = place

    def leave_for(self, place: Node | None) -> None:
        """Move the head elsewhere; checkpoints that this leaves behind stay listed, as detached ones."""
        path = self.path_to(place)
        if self.head is not None and self.head not in path:
            for checkpoint in self.shown():
                if checkpoint.node not in path and not checkpoint.detached:
                    self.move("checkpoint", checkpoint.id, detached=True, branch_id=self.thread.branch_id)
        self.move_head(place)

    def let_go(self, detached: Sequence[Checkpoint], *, to_branch: str | None = None) -> None:
        """Take these detached checkpoints out of the branch's list.

        From then on they are listed by where a head stands, like all others, or are detached on another branch.
        """
        after = {"branch_id": to_branch} if to_branch else {"detached": False}
        for checkpoint in detached:
            self.move("checkpoint", checkpoint.id, **after)

    def add(self, parent: Node | None, messages: Sequence[NewMessage], *, run_id: str | None = None) -> list[Node]:
        """Write a chain of messages below `parent` and return where they stand. The head is not moved."""
        if not messages:
            return []
        segment, depth = self._place_below(parent)
        hash_, parent_id = rows.tail_hash(self.connection, parent), parent.id if parent else None
        values, nodes = [], []
        for offset, message in enumerate(messages):
            hash_ = serde.content_hash(message.body, message.agent, message.status, hash_)
            place = Node(message.id or self.new_id(), segment, depth + offset)
            values.append(self._row(message, place, parent_id, hash_, run_id))
            nodes.append(place)
            parent_id = place.id
        files.write(self.connection, (file for message in messages for file in message.files), self.now)
        self.connection.execute(sa.insert(schema.message), values)
        return nodes

    def _row(self, message: NewMessage, place: Node, parent_id: str | None, hash_: str, run_id: str | None) -> Json:
        return {
            "id": place.id,
            "thread_id": self.thread.id,
            "parent_id": parent_id,
            "segment": place.segment,
            "depth": place.depth,
            "agent": message.agent,
            "status": message.status,
            "body": serde.canonical(message.body),
            "hash": hash_,
            "run_id": message.run_id or run_id,
            "created_at": self.now if message.created_at is None else message.created_at,
        }

    def _place_below(self, parent: Node | None) -> tuple[int, int]:
        """The segment and depth of a next message: the parent's own segment when the parent is its tip, else a new one."""
        if parent is not None:
            table = schema.message.c
            taken = sa.select(table.id).where(table.segment == parent.segment, table.depth == parent.depth + 1)
            if self.connection.execute(taken).first() is None:
                return parent.segment, parent.depth + 1
        origin, depth = (parent.segment, parent.depth) if parent else (None, -1)
        row = {"thread_id": self.thread.id, "parent": origin, "fork_depth": depth}
        made = self.connection.execute(sa.insert(schema.segment).values(**row)).inserted_primary_key
        self._forks = None
        assert made is not None
        return int(made[0]), depth + 1

    def add_branch(self, name: str, head_id: str | None) -> str:
        identifier = self.new_id()
        table = schema.branch
        before = sa.select(sa.func.count()).select_from(table).where(table.c.thread_id == self.thread.id)
        position = self.connection.execute(before).scalar_one()
        name = named(name) or f"Branch {position + 1}"
        row = {"id": identifier, "thread_id": self.thread.id, "name": name, "head_id": head_id}
        self.connection.execute(sa.insert(table).values(**row, position=position, created_at=self.now))
        self.made("branch", identifier)
        return identifier

    def add_checkpoint(self, checkpoint: Checkpoint) -> str:
        """Write a bookmark: one row, whatever the length of the conversation."""
        assert checkpoint.node is not None
        position = self._next_position()
        identifier = checkpoint.id or self.new_id()
        row = {
            "id": identifier,
            "thread_id": self.thread.id,
            "position": position,
            "branch_id": checkpoint.branch_id or self.thread.branch_id,
            "message_id": checkpoint.node.id,
            "segment": checkpoint.node.segment,
            "depth": checkpoint.node.depth,
            "name": named(checkpoint.name) or self._free_name(position + 1),
            "description": serde.writable(checkpoint.description)[:DESCRIPTION_LENGTH],
            "created_by": checkpoint.created_by,
            "tokens": to_tokens(checkpoint.tokens),
            "pinned": checkpoint.pinned,
            "detached": checkpoint.detached,
            "extra": checkpoint.extra,
            "created_at": rows.from_time(checkpoint.timestamp),
        }
        self.connection.execute(sa.insert(schema.checkpoint).values(**row))
        self.made("checkpoint", identifier)
        self.note = self.note or str(row["name"])
        return identifier

    def _next_position(self) -> int:
        table = schema.thread.c
        counted = (
            sa.update(schema.thread).where(table.id == self.thread.id).values(checkpoints_made=table.checkpoints_made + 1)
        )
        return int(self.connection.execute(counted.returning(table.checkpoints_made)).scalar_one()) - 1

    def _free_name(self, number: int) -> str:
        """The default name with this number, or the next that no checkpoint of this thread ever had."""
        table = schema.checkpoint
        while self.connection.execute(
            sa.select(table.c.id).where(table.c.thread_id == self.thread.id, table.c.name == f"Checkpoint {number}")
        ).first():
            number += 1
        return f"Checkpoint {number}"

    def perform(self, kind: OperationKind, body: "Body") -> Receipt:
        """Carry out `body` and record it."""
        result = body(self)
        version = self._record(kind, result)
        return Receipt(
            Operation(
                thread_id=self.thread.id,
                version=version,
                kind=kind,
                actor=self.by.actor,
                group=self.by.group,
                changes=tuple(self.changes),
                note=self.note,
                result=result,
                undone=False,
                created_at=rows.to_time(self.now),
                target=self.target,
            )
        )

    def _record(self, kind: OperationKind, result: str | None) -> int:
        """Write the operation and the thread's new version, which is returned."""
        version = self.thread.version + 1
        seen = {"thread_id": self.thread.id, "seen": self.thread.version}
        moved = self.connection.execute(_NEXT_VERSION, {**seen, "version": version, "updated_at": self.now})
        if moved.rowcount != 1:
            raise ConflictError(self.thread.id, self.thread.version, version)
        row = {
            "thread_id": self.thread.id,
            "version": version,
            "kind": kind,
            "actor": self.by.actor,
            "grouped": self.by.group,
            "changes": [[c.table, c.id, c.before, c.after] for c in self.changes],
            "note": self.note,
            "result": result,
            "target": self.target,
            "request": self.by.request,
            "created_at": self.now,
        }
        self.connection.execute(_OPERATION, row)
        return version


Body = Callable[[Changing], str | None]  # makes the change; returns the id of what it made


def check(connection: sa.Connection, standing: rows.Standing, by: By, *, while_running: bool, exact: bool = False) -> None:
    """Refuse a change whose caller saw another conversation, or that a run of somebody else's stands in the way of.

    What only names something (a checkpoint saved, a title changed) since the caller looked is no other conversation; but
    with `exact` it is, as for an undo, which would take back that instead of what the caller saw. What the judge saved never
    is: undo passes it over.
    """
    thread, seen = standing.thread, by.version
    changed = _acted_since if exact else _moved_since
    if seen is not None and seen != thread.version and changed(connection, thread, seen):
        raise ConflictError(thread.id, seen, thread.version)
    if not while_running and standing.running is not None and standing.running != by.group:
        raise RunActiveError(thread.id, standing.running)


def _acted_since(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Whether anything but the judge changed the thread after this version of it."""
    table = schema.operation.c
    since = rows.operations(connection, thread.id, table.version > version, table.actor != "judge", limit=1)
    return version > thread.version or bool(since)


def _moved_since(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Whether a head was moved, or another branch chosen, after this version of the thread.

    An answer that was written meanwhile is not counted: whoever acts while the agent is answering means to.
    """
    if version > thread.version:
        return True  # nobody can have seen that
    since = rows.operations(connection, thread.id, schema.operation.c.version > version)
    others = [op for op in since if (op.actor, op.kind) != ("agent", OperationKind.APPEND)]
    if any(op.kind is OperationKind.ERASE or op.damaged for op in since):
        return True  # what the changes before it had moved is not known any more
    heads = [change for op in others for change in op.changes if change.table in ("branch", "thread")]
    return any(("head_id" in c.after and c.id == thread.branch_id) or "branch_id" in c.after for c in heads)


def kind_of(after: str | None) -> OperationKind:
    """Adding at the head is an append; adding anywhere else replaces what stood there."""
    return OperationKind.APPEND if after == HEAD else OperationKind.EDIT


def appending(messages: Sequence[NewMessage], after: str | None, title: str, run_id: str | None) -> Body:
    """The change that writes messages after a place and moves the head to the last of them."""

    def body(change: Changing) -> str | None:
        place = change.head if after == HEAD else rows.node(change.connection, after, change.thread.id)
        if named(title) and change.thread.title == UNTITLED:
            change.move("thread", change.thread.id, title=named(title))
        nodes = change.add(place, messages, run_id=run_id)
        before = [] if change.note or kind_of(after) is OperationKind.APPEND else change.shown()
        change.move_head(nodes[-1] if nodes else place)
        if left := len(before) - len(change.shown() if before else []):
            change.note = f"{counted(left, 'checkpoint')} removed"
        return nodes[-1].id if nodes else None

    return body
