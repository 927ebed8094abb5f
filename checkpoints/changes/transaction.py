"""An open change of a thread: the writing half of the store. Every update of a mutable row records the columns before
and after, so the same code undoes every operation exactly, by restoring the recorded columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import sqlalchemy as sa

from ..rows import (
    audit_rows,
    checkpoint_rows,
    file_rows,
    message_inserts,
    message_rows,
    movable_rows,
    operation_rows,
    search_index,
    segment_rows,
    state_rows,
    tag_rows,
    thread_counters,
    thread_rows,
    tree_rows,
    usage_rows,
)
from ..storage import schema
from ..storage.bulk_insert import insert_rows
from ..storage.ownership import find_person
from ..values import history
from ..values.errors import CheckpointNotFoundError, ConflictError
from ..values.model import Branch, Checkpoint, Json, NewId, NewMessage, Node, Thread
from ..values.names import clean_name
from ..values.operation import Caller, Operation, OperationKind, Receipt, RowChange
from ..values.operation_detail import NO_DETAIL, OperationDetail
from ..values.progress import Report, ignore_progress
from .alternatives import check_room_after
from .default_names import DefaultNames


@dataclass
class Transaction:
    """An open change. `loaded` is the thread before it; `head` and `state_id` (of a graph's state) follow the change."""

    connection: sa.Connection
    loaded: thread_rows.LoadedThread
    # `now` is in microseconds since 1970.
    now: int
    new_id: NewId
    caller: Caller
    changes: list[RowChange] = field(default_factory=list)
    head: Node | None = None
    # The version undone by an undo, or redone by a redo.
    target: int | None = None
    detail: OperationDetail | None = None
    state_id: int | None = None
    last_added: message_inserts.PlacedMessage | None = field(default=None, init=False, repr=False)
    # The segments' parents are cached until a segment is made.
    _parents: history.SegmentParents | None = field(default=None, init=False, repr=False)
    # The node before a chain of new messages, by the id of its last message.
    _added_after: dict[str, Node | None] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.head, self.state_id = self.loaded.head, self.loaded.thread.state_id

    @property
    def thread(self) -> Thread:
        return self.loaded.thread

    def trace_current_path(self) -> history.Path:
        """Return the path to the head, including moves of this change."""
        return self.trace_path(self.head)

    def trace_path(self, node: Node | None) -> history.Path:
        if self._parents is None:
            self._parents = thread_rows.select_segment_parents(self.connection, self.thread.id)
        return history.trace_path(node, self._parents)

    def find_checkpoint(self, checkpoint_id: str) -> Checkpoint:
        """Return a checkpoint visible on any branch. Raises `CheckpointNotFoundError`."""
        found = checkpoint_rows.select_live_checkpoint(self.connection, self.thread.id, checkpoint_id)
        # Mostly the current branch lists it. There may be thousands of other branches, which are then not read.
        is_shown = history.is_visible(found, self.thread.branch_id, self.trace_current_path())
        if not is_shown and not tree_rows.filter_listed(self.connection, self.thread.id, [found]):
            raise CheckpointNotFoundError(checkpoint_id)
        return found

    def select_visible_checkpoints(self) -> list[Checkpoint]:
        return history.filter_visible(
            checkpoint_rows.select_checkpoints(self.connection, self.thread.id),
            self.thread.branch_id,
            self.trace_current_path(),
        )

    def update_row(self, table: str, identifier: str, **after: Any) -> None:
        """Set columns of a mutable row, and record the old values."""
        if after:
            self._write_columns(table, identifier, movable_rows.select_row(self.connection, table, identifier, after), after)

    def _write_columns(self, table: str, identifier: str, before: Json, after: Json) -> None:
        if before != after:
            self.changes.append(RowChange(table, identifier, before, after))
            movable_rows.update_row(self.connection, table, identifier, after)

    def update_each_row(self, table: str, after: Mapping[str, Json]) -> None:
        """Set columns of many mutable rows, given by row id, and record the old values."""
        wanted = [(table, identifier, names) for identifier, names in after.items()]
        before = movable_rows.select_rows(self.connection, wanted)
        changes = [RowChange(table, each, before[table, each], dict(values)) for each, values in after.items() if values]
        self.write_changes([change for change in changes if change.before != change.after])

    def update_rows(self, table: str, identifiers: Iterable[str], **after: Any) -> None:
        """Set the same columns of many mutable rows, and record the old values."""
        self.update_each_row(table, dict.fromkeys(identifiers, after))

    def record_insert(self, table: str, identifier: str) -> None:
        """Record an inserted row, so undoing the change hides it."""
        self.changes.append(RowChange(table, identifier, {"deleted_at": self.now}, {"deleted_at": None}))

    def write_changes(self, changes: Sequence[RowChange]) -> None:
        """Apply recorded changes in order, in batches, since there may be thousands. Raises `ConflictError` if a row
        has changed since, and `NoResultFound` if it is missing."""
        if not movable_rows.write_row_changes(self.connection, changes):
            raise ConflictError(self.thread.id, self.thread.version, self.thread.version)
        self.changes.extend(changes)

    def move_head(self, node: Node | None, state_id: int | None = None) -> None:
        """Move the head and a graph's state, by default the state that belongs to the message."""
        self.stand_at(node, self.find_state(node) if state_id is None else state_id)

    def stand_at(self, node: Node | None, state_id: int | None) -> None:
        # Only this method moves the head during a change, except for an undo, so its earlier value is known.
        before: Json = {"head_id": self.head.id if self.head else None, "state_id": self.state_id}
        after: Json = {"head_id": node.id if node else None, "state_id": state_id}
        changed = [name for name in after if after[name] != before[name]]
        before, after = ({name: columns[name] for name in changed} for columns in (before, after))
        self._write_columns("branch", self.thread.branch_id, before, after)
        self.head, self.state_id = node, state_id

    def find_state(self, node: Node | None) -> int | None:
        """Return the graph state for a message: the newest state there, or at the nearest message before it."""
        if not self.loaded.has_states or node is None:
            return None
        # New messages have no state yet.
        place = self._added_after.get(node.id, node)
        if self.head in (node, place):
            return self.state_id
        return state_rows.find_state(self.connection, self.trace_path(place))

    def detach_and_move(self, node: Node | None, state_id: int | None = None) -> None:
        """Move the head. Checkpoints off its new path stay listed as detached."""
        if (
            self.head is not None
            and not history.continues(node, self.head)
            and self.head not in (path := self.trace_path(node))
        ):
            left = [each.id for each in self.select_visible_checkpoints() if each.node not in path and not each.detached]
            self.update_rows("checkpoint", left, detached=True, branch_id=self.thread.branch_id)
        self.move_head(node, state_id)

    def unlist_checkpoints(self, checkpoints: Sequence[Checkpoint], *, to_branch: str | None = None) -> None:
        """Remove detached checkpoints from the branch's list. From then on the heads decide whether they are listed,
        or they are detached on `to_branch`."""
        after: Json = {"branch_id": to_branch} if to_branch else {"detached": False}
        self.update_rows("checkpoint", [checkpoint.id for checkpoint in checkpoints], **after)

    def add_messages(self, parent: Node | None, messages: Sequence[NewMessage], *, run_id: str | None = None) -> list[Node]:
        """Write a chain of messages below `parent` and return their nodes. The head is not moved."""
        if not messages:
            return []
        tail = message_rows.select_tail(self.connection, parent) if parent else message_rows.EMPTY_TAIL
        segment, depth = self._allocate_position(parent, is_last=tail.is_last)
        hash_, parent_id, placed, person = tail.hash, parent.id if parent else None, [], find_person(self.connection)
        for offset, message in enumerate(messages):
            content = message_inserts.make_message_content(message, hash_, self.now, run_id, person)
            node = Node(message.id or self.new_id(), segment, depth + offset)
            placed.append(message_inserts.PlacedMessage(node, parent_id, content))
            hash_, parent_id = content.hash, node.id
        self.insert_messages(placed)
        self.last_added = placed[-1]
        self._added_after[placed[-1].node.id] = self._added_after.get(parent.id, parent) if parent else None
        return [each.node for each in placed]

    def insert_messages(self, messages: Sequence[message_inserts.PlacedMessage], report: Report = ignore_progress) -> None:
        """Write messages with known places, parents first, with their files."""
        file_rows.write_files(self.connection, (file for each in messages for file in each.content.files), self.now)
        message_inserts.insert_messages(self.connection, self.thread.id, messages, report)
        usage_rows.add_answers(self.connection, self.loaded, self.now, (each.content for each in messages))
        search_index.add_entries(self.connection, [each.make_index_entry(self.thread) for each in messages])

    def _allocate_position(self, parent: Node | None, *, is_last: bool) -> tuple[int, int]:
        """Return the place for a next message: in the parent's segment if the parent is its last message, else in a
        new segment."""
        if parent is not None and is_last:
            return parent.segment, parent.depth + 1
        check_room_after(self.connection, self.thread, parent)
        return self.add_segment(parent), parent.depth + 1 if parent else 0

    def add_segment(self, parent: Node | None) -> int:
        """Add a segment below a message, or at the root for None, and return its id."""
        self._parents = None
        return segment_rows.insert_segment(self.connection, self.thread.id, parent)

    def insert_segments(self, segments: Sequence[segment_rows.NewSegment]) -> None:
        """Write segments with reserved ids, parents first."""
        self._parents = None
        segment_rows.insert_segments(self.connection, self.thread.id, segments)

    def switch_to(self, branch_id: str) -> None:
        """Make a branch current. No other code in a change switches branches."""
        self._write_columns("thread", self.thread.id, {"branch_id": self.thread.branch_id}, {"branch_id": branch_id})

    def add_branch(self, name: str, head: Node | None) -> Branch:
        return self.add_branches([(name, head)])[0]

    def add_branches(
        self, new_branches: Sequence[tuple[str, Node | None]], states: Iterable[int | None] = ()
    ) -> list[Branch]:
        """Add branches with names and heads, and return them. `states` are their graph states, where known."""
        first = thread_counters.count_branches(self.connection, self.thread.id) if new_branches else 0
        made = []
        for position, ((name, head), state_id) in enumerate(zip_longest(new_branches, states), first):
            name, head_id = clean_name(name) or f"Branch {position + 1}", head.id if head else None  # noqa: PLW2901
            made.append(Branch(self.new_id(), self.thread.id, name, head_id, state_id or self.find_state(head)))
        common = {"thread_id": self.thread.id, "created_at": self.now}
        rows = [common | {name: getattr(each, name) for name in ("id", "name", "head_id", "state_id")} for each in made]
        self._insert("branch", [row | {"position": position} for position, row in enumerate(rows, first)])
        return made

    def add_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """Write a checkpoint: a single row, whatever the conversation's length."""
        return self.add_checkpoints([checkpoint])[0]

    def add_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
        """Write checkpoints, a row each. Return them with their new ids and names."""
        first = self.reserve_positions(len(checkpoints)) if checkpoints else 0
        names = DefaultNames(self.connection, self.thread.id, first + 1)
        written = [
            replace(
                checkpoint,
                id=checkpoint.id or self.new_id(),
                name=clean_name(checkpoint.name) or names.take_next(position + 1),
                position=position,
                state_id=checkpoint.state_id or self.find_state(checkpoint.node),
            )
            for position, checkpoint in enumerate(checkpoints, first)
        ]
        self._insert("checkpoint", [checkpoint_rows.make_checkpoint_row(checkpoint, self.thread) for checkpoint in written])
        return written

    def _insert(self, table: str, values: Sequence[Json]) -> list[str]:
        insert_rows(self.connection, schema.MOVABLE_TABLES[table], values)
        identifiers = [str(row["id"]) for row in values]
        for identifier in identifiers:
            self.record_insert(table, identifier)
        return identifiers

    def reserve_positions(self, number: int) -> int:
        return thread_counters.reserve_positions(self.connection, self.thread.id, number)

    def apply_and_record(self, kind: OperationKind, body: "ChangeBody") -> Receipt:
        """Run `body` and record the operation."""
        result = body(self)
        self._index_checkpoints()
        self._index_tags()
        audit_rows.insert_settings_entries(self.connection, thread_rows.to_time(self.now), self.thread.id, self.changes)
        operation = Operation(
            thread_id=self.thread.id,
            version=thread_counters.raise_version(self.connection, self.thread, self.now),
            kind=kind,
            actor=self.caller.actor,
            undo_group=self.caller.undo_group,
            changes=tuple(self.changes),
            result=result,
            undone=False,
            created_at=thread_rows.to_time(self.now),
            detail=self.detail or NO_DETAIL,
            target=self.target,
            person=find_person(self.connection),
        )
        operation_rows.insert_operation(self.connection, operation, self.caller.request_id)
        return Receipt(operation)

    def _index_checkpoints(self) -> None:
        search_index.update_checkpoints(self.connection, [each for each in self.changes if each.table == "checkpoint"])

    def _index_tags(self) -> None:
        written = [each.after["tags"] for each in self.changes if each.table == "thread" and "tags" in each.after]
        if written:
            tag_rows.index_thread(self.connection, self.thread.id, written[-1])


# Makes the change, and returns the id of what it made.
ChangeBody = Callable[[Transaction], str | None]
