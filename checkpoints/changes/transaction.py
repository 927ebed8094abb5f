"""One open change of one thread: the writing half of the store.

Every update of a mutable row records the columns before and after. One piece of code therefore undoes every operation
exactly: it restores the recorded columns.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import sqlalchemy as sa

from checkpoints import history, serde
from checkpoints.errors import ConflictError, RunActiveError
from checkpoints.limits import to_tokens
from checkpoints.model import MAX_DESCRIPTION_CHARS, UNTITLED, Checkpoint, Json, NewId, NewMessage, Node, Thread, clean_name
from checkpoints.operation import Caller, Operation, OperationKind, Receipt, RowChange
from checkpoints.operation_detail import NO_DETAIL, OperationDetail
from checkpoints.storage import checkpoint_rows, file_rows, message_rows, operation_rows, rows, schema

_UPDATE_ROW: Final = {  # one row of what moves, by its id
    name: sa.update(table).where(table.c.id == sa.bindparam("row_id")) for name, table in schema.MOVABLE_TABLES.items()
}
# The condition is the compare-and-swap: it fails if anyone else moved the version inside this transaction's view.
_NEXT_VERSION: Final = sa.update(schema.thread).where(
    schema.thread.c.id == sa.bindparam("thread_id"), schema.thread.c.version == sa.bindparam("seen")
)
_INSERT_OPERATION: Final = sa.insert(schema.operation)

_PORTION = 200  # default names that are looked for at once

HEAD: Final = "(head)"  # as the place to append after: wherever the head stands; no message can have this id


@dataclass
class Transaction:
    """An open change. `loaded` is the thread before it; `head` follows the change."""

    connection: sa.Connection
    loaded: rows.LoadedThread
    now: int  # microseconds since 1970
    new_id: NewId
    caller: Caller
    changes: list[RowChange] = field(default_factory=list)
    head: Node | None = None
    target: int | None = None  # of an undo or a redo
    detail: OperationDetail | None = None  # None: nothing set it
    _parents: history.SegmentParents | None = field(default=None, init=False, repr=False)  # until a segment is made

    def __post_init__(self) -> None:
        self.head = self.loaded.head

    @property
    def thread(self) -> Thread:
        """The thread before the change."""
        return self.loaded.thread

    # reading what the change is about

    def current_path(self) -> history.Path:
        """Return the path to the head, including moves of this change."""
        return self.path_to(self.head)

    def path_to(self, node: Node | None) -> history.Path:
        if self._parents is None:
            self._parents = rows.select_segment_parents(self.connection, self.thread.id)
        return history.path_to(node, self._parents)

    def find_checkpoint(self, checkpoint_id: str) -> Checkpoint:
        """One of the checkpoints that the current branch shows. Raises `CheckpointNotFoundError`."""
        return checkpoint_rows.select_checkpoint(self.connection, self.thread, checkpoint_id, self.current_path())

    def visible_checkpoints(self) -> list[Checkpoint]:
        """The checkpoints that the current branch shows."""
        return history.filter_visible(
            checkpoint_rows.select_checkpoints(self.connection, self.thread.id), self.thread.branch_id, self.current_path()
        )

    # writing

    def update_row(self, table: str, identifier: str, **after: Any) -> None:
        """Set columns of a mutable row, and record the old values."""
        if not after:
            return
        target = schema.MOVABLE_TABLES[table]
        columns = [target.c[name] for name in after]
        row = self.connection.execute(sa.select(*columns).where(target.c.id == identifier)).one()
        self._write_columns(table, identifier, dict(row._mapping), after)

    def _write_columns(self, table: str, identifier: str, before: Json, after: Json) -> None:
        if before != after:
            self.changes.append(RowChange(table, identifier, before, after))
            self.connection.execute(_UPDATE_ROW[table], {"row_id": identifier, **after})

    def move_each(self, table: str, after: Mapping[str, Json]) -> None:
        """Set columns of many mutable rows, and record the old values; `after` holds the new ones by row id."""
        wanted = [(table, identifier, names) for identifier, names in after.items()]
        before = self._columns(wanted)
        changes = [RowChange(table, each, before[table, each], dict(values)) for each, values in after.items() if values]
        self.put_all([change for change in changes if change.before != change.after])

    def move_all(self, table: str, identifiers: Iterable[str], **after: Any) -> None:
        """Set the same columns of many mutable rows, and record the old values."""
        self.move_each(table, dict.fromkeys(identifiers, after))

    def record_insert(self, table: str, identifier: str) -> None:
        """Record an inserted row: undoing the change hides it."""
        self.changes.append(RowChange(table, identifier, {"deleted_at": self.now}, {"deleted_at": None}))

    def put_all(self, changes: Sequence[RowChange]) -> None:
        """Apply noted changes in their order, refusing if a row has moved on since.

        In portions: there may be thousands. Raises `NoResultFound` for a row that is not there.
        """
        now = self._columns([(change.table, change.id, change.before) for change in changes])
        moved: dict[tuple[str, str], Json] = defaultdict(dict)
        for change in changes:
            row = now[change.table, change.id]
            if any(row[name] != value for name, value in change.before.items()):
                raise ConflictError(self.thread.id, self.thread.version, self.thread.version)
            row.update(change.after)
            moved[change.table, change.id].update(change.after)
        alike: dict[tuple[str, ...], list[Json]] = defaultdict(list)
        for (table, identifier), values in moved.items():
            alike[table, *values].append({"row_id": identifier, **values})
        for (table, *_), rows_of_it in alike.items():
            self.connection.execute(_UPDATE_ROW[table], rows_of_it)
        self.changes.extend(changes)

    def _columns(self, wanted: Iterable[tuple[str, str, Iterable[str]]]) -> dict[tuple[str, str], Json]:
        """These columns of rows that move, by table and id: each is named with its table, its id and its columns."""
        asked: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
        for table, identifier, names in wanted:
            asked[table, tuple(names)].append(identifier)
        found: dict[tuple[str, str], Json] = defaultdict(dict)
        for (table, names), identifiers in asked.items():
            target = schema.MOVABLE_TABLES[table].c
            query = sa.select(target.id, *(target[name].label(f"now_{name}") for name in names))
            for row in rows.select_with_ids(self.connection, query, set(identifiers)):
                found[table, row[0]].update(zip(names, row[1:], strict=True))
            if any((table, identifier) not in found for identifier in identifiers):
                raise sa.exc.NoResultFound
        return dict(found)

    def move_head(self, node: Node | None) -> None:
        # Nothing else in a change moves this head, so its earlier value is known: only an undo's `put_all` writes heads.
        before = self.head.id if self.head else None
        self._write_columns("branch", self.thread.branch_id, {"head_id": before}, {"head_id": node.id if node else None})
        self.head = node

    def detach_and_move(self, node: Node | None) -> None:
        """Move the head elsewhere; checkpoints that this leaves behind stay listed, as detached ones."""
        path = self.path_to(node)
        if self.head is not None and self.head not in path:
            left = [each.id for each in self.visible_checkpoints() if each.node not in path and not each.detached]
            self.move_all("checkpoint", left, detached=True, branch_id=self.thread.branch_id)
        self.move_head(node)

    def unlist_checkpoints(self, checkpoints: Sequence[Checkpoint], *, to_branch: str | None = None) -> None:
        """Take these detached checkpoints out of the branch's list.

        From then on they are listed by where a head stands, like all others, or are detached on another branch.
        """
        after: Json = {"branch_id": to_branch} if to_branch else {"detached": False}
        self.move_all("checkpoint", [checkpoint.id for checkpoint in checkpoints], **after)

    def add_messages(self, parent: Node | None, messages: Sequence[NewMessage], *, run_id: str | None = None) -> list[Node]:
        """Write a chain of messages below `parent` and return where they stand. The head is not moved."""
        if not messages:
            return []
        segment, depth = self._allocate_place(parent)
        hash_, parent_id = message_rows.select_tail_hash(self.connection, parent), parent.id if parent else None
        values, nodes = [], []
        for offset, message in enumerate(messages):
            hash_ = serde.hash_message(message.body, message.agent, message.status, hash_)
            place = Node(message.id or self.new_id(), segment, depth + offset)
            values.append(self._message_values(message, place, parent_id, hash_, run_id))
            nodes.append(place)
            parent_id = place.id
        file_rows.write_files(self.connection, (file for message in messages for file in message.files), self.now)
        self.connection.execute(sa.insert(schema.message), values)
        return nodes

    def _message_values(
        self, message: NewMessage, node: Node, parent_id: str | None, hash_: str, run_id: str | None
    ) -> Json:
        return {
            "id": node.id,
            "thread_id": self.thread.id,
            "parent_id": parent_id,
            "segment": node.segment,
            "depth": node.depth,
            "agent": message.agent,
            "status": message.status,
            "body": serde.to_canonical(message.body),
            "hash": hash_,
            "run_id": message.run_id or run_id,
            "created_at": self.now if message.created_at is None else message.created_at,
        }

    def _allocate_place(self, parent: Node | None) -> tuple[int, int]:
        """The segment and depth of a next message: the parent's own segment when the parent is its tip, else a new one."""
        if parent is not None:
            table = schema.message.c
            taken = sa.select(table.id).where(table.segment == parent.segment, table.depth == parent.depth + 1)
            if self.connection.execute(taken).first() is None:
                return parent.segment, parent.depth + 1
        origin, depth = (parent.segment, parent.depth) if parent else (None, -1)
        row = {"thread_id": self.thread.id, "parent": origin, "fork_depth": depth}
        made = self.connection.execute(sa.insert(schema.segment).values(**row)).inserted_primary_key
        self._parents = None
        assert made is not None
        return int(made[0]), depth + 1

    def add_branch(self, name: str, head_id: str | None) -> str:
        return self.add_branches([(name, head_id)])[0]

    def add_branches(self, begun: Sequence[tuple[str, str | None]]) -> list[str]:
        """New branches, each with a name and the message that it stands on; their ids."""
        table = schema.branch
        before = sa.select(sa.func.count()).select_from(table).where(table.c.thread_id == self.thread.id)
        first = self.connection.execute(before).scalar_one() if begun else 0
        values = []
        for position, (name, head_id) in enumerate(begun, first):
            row = {"id": self.new_id(), "thread_id": self.thread.id, "position": position, "head_id": head_id}
            values.append({**row, "name": clean_name(name) or f"Branch {position + 1}", "created_at": self.now})
        return self._insert("branch", values)

    def add_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """Write a checkpoint: one row, whatever the length of the conversation."""
        return self.add_checkpoints([checkpoint])[0]

    def add_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
        """Write checkpoints: one row each. Return them with the ids and names that they got."""
        first = self._reserve_positions(len(checkpoints)) if checkpoints else 0
        names = self._free_names(first + 1)
        written = [
            replace(
                checkpoint,
                id=checkpoint.id or self.new_id(),
                name=clean_name(checkpoint.name) or names(position + 1),
                position=position,
            )
            for position, checkpoint in enumerate(checkpoints, first)
        ]
        self._insert("checkpoint", [self._checkpoint_values(checkpoint) for checkpoint in written])
        return written

    def _insert(self, table: str, values: Sequence[Json]) -> list[str]:
        if values:
            self.connection.execute(sa.insert(schema.MOVABLE_TABLES[table]), values)
        identifiers = [str(row["id"]) for row in values]
        for identifier in identifiers:
            self.record_insert(table, identifier)
        return identifiers

    def _checkpoint_values(self, checkpoint: Checkpoint) -> Json:
        assert checkpoint.node is not None
        return {
            "id": checkpoint.id,
            "position": checkpoint.position,
            "name": checkpoint.name,
            "thread_id": self.thread.id,
            "branch_id": checkpoint.branch_id or self.thread.branch_id,
            "message_id": checkpoint.node.id,
            "segment": checkpoint.node.segment,
            "depth": checkpoint.node.depth,
            "description": serde.sanitize_text(checkpoint.description)[:MAX_DESCRIPTION_CHARS],
            "created_by": checkpoint.created_by,
            "tokens": to_tokens(checkpoint.tokens),
            "pinned": checkpoint.pinned,
            "detached": checkpoint.detached,
            "extra": checkpoint.extra,
            "created_at": rows.from_time(checkpoint.timestamp),
        }

    def _reserve_positions(self, number: int) -> int:
        """Reserve the positions of new checkpoints, and return the first one."""
        table = schema.thread.c
        made = table.checkpoints_made + number
        counted = sa.update(schema.thread).where(table.id == self.thread.id).values(checkpoints_made=made)
        return int(self.connection.execute(counted.returning(table.checkpoints_made)).scalar_one()) - number

    def _free_names(self, first: int) -> Callable[[int], str]:
        """Return a function that gives the default name with a number, or the next name that this thread never used."""
        taken: set[str] = set()
        looked, number = first, first  # up to which numbers it is known what is taken; those before are given

        def name(least: int) -> str:
            nonlocal looked, number
            number = max(number, least)
            while True:
                if number >= looked:
                    looked = number + _PORTION
                    taken.update(
                        checkpoint_rows.names_among(
                            self.connection, self.thread.id, map(_default_name, range(number, looked))
                        )
                    )
                number += 1
                if _default_name(number - 1) not in taken:
                    return _default_name(number - 1)

        return name

    def run_body(self, kind: OperationKind, body: "ChangeBody") -> Receipt:
        """Run `body` and record the operation."""
        result = body(self)
        version = self._record_operation(kind, result)
        return Receipt(
            Operation(
                thread_id=self.thread.id,
                version=version,
                kind=kind,
                actor=self.caller.actor,
                undo_group=self.caller.undo_group,
                changes=tuple(self.changes),
                result=result,
                undone=False,
                created_at=rows.to_time(self.now),
                detail=self.detail or NO_DETAIL,
                target=self.target,
            )
        )

    def _record_operation(self, kind: OperationKind, result: str | None) -> int:
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
            "actor": self.caller.actor,
            "grouped": self.caller.undo_group,
            "changes": [[c.table, c.id, c.before, c.after] for c in self.changes],
            "detail": (self.detail or NO_DETAIL).to_json(),
            "result": result,
            "target": self.target,
            "request": self.caller.request_id,
            "created_at": self.now,
        }
        self.connection.execute(_INSERT_OPERATION, row)
        return version


def _default_name(number: int) -> str:
    return f"Checkpoint {number}"


ChangeBody = Callable[[Transaction], str | None]  # makes the change; returns the id of what it made


def check_caller(
    connection: sa.Connection, loaded: rows.LoadedThread, caller: Caller, *, while_running: bool, is_exact: bool = False
) -> None:
    """Refuse a change whose caller saw another conversation, or that the run of another caller blocks.

    A checkpoint saved or a title changed since then is no conflict. With `is_exact` it is: an undo would revert that
    change instead of the one that the caller saw. A milestone of the judge never is, because undo skips it.
    """
    thread, seen = loaded.thread, caller.expected_version
    changed = _has_newer_operation if is_exact else _has_moved_head
    if seen is not None and seen != thread.version and changed(connection, thread, seen):
        raise ConflictError(thread.id, seen, thread.version)
    if not while_running and loaded.active_run_id is not None and loaded.active_run_id != caller.undo_group:
        raise RunActiveError(thread.id, loaded.active_run_id)


def _has_newer_operation(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Whether anything but the judge changed the thread after this version of it."""
    table = schema.operation.c
    since = operation_rows.select_operations(connection, thread.id, table.version > version, table.actor != "judge", limit=1)
    return version > thread.version or bool(since)


def _has_moved_head(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Whether a head was moved, or another branch chosen, after this version of the thread.

    An answer that was written meanwhile is not counted: whoever acts while the agent is answering means to.
    """
    if version > thread.version:
        return True  # nobody can have seen that
    since = operation_rows.select_operations(connection, thread.id, schema.operation.c.version > version)
    others = [op for op in since if (op.actor, op.kind) != ("agent", OperationKind.APPEND)]
    if any(op.kind is OperationKind.ERASE or op.damaged for op in since):
        return True  # what the changes before it had moved is not known any more
    heads = [change for op in others for change in op.changes if change.table in ("branch", "thread")]
    return any(("head_id" in c.after and c.id == thread.branch_id) or "branch_id" in c.after for c in heads)


def append_kind(after: str | None, *, is_empty: bool) -> OperationKind:
    """Return the kind of a change that adds messages after a place, or only moves the head there for another answer."""
    if after == HEAD:
        return OperationKind.APPEND
    return OperationKind.RETRY if is_empty else OperationKind.EDIT


def make_append(messages: Sequence[NewMessage], after: str | None, title: str, run_id: str | None) -> ChangeBody:
    """Return the change that writes messages after a message and moves the head to the last of them."""

    def append_messages(transaction: Transaction) -> str | None:
        place = transaction.head if after == HEAD else rows.select_node(transaction.connection, after, transaction.thread.id)
        if clean_name(title) and transaction.thread.title == UNTITLED:
            transaction.update_row("thread", transaction.thread.id, title=clean_name(title))
        nodes = transaction.add_messages(place, messages, run_id=run_id)
        if transaction.detail is None and after != HEAD:
            old, new = transaction.current_path(), transaction.path_to(nodes[-1] if nodes else place)
            if left := checkpoint_rows.count_removal(transaction.connection, transaction.thread, old, new, ()).checkpoints:
                transaction.detail = OperationDetail(checkpoints=left)
        transaction.move_head(nodes[-1] if nodes else place)
        return nodes[-1].id if nodes else None

    return append_messages
