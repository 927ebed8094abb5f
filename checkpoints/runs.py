"""Runs: one pass of the agent. A running row is the thread's lock, and what a crash leaves behind is found through it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from checkpoints import bookmarks, branching, rows, schema, serde
from checkpoints.changing import HEAD, Changing, appending, check, kind_of
from checkpoints.errors import ConflictError
from checkpoints.model import (
    USER,
    By,
    Checkpoint,
    Message,
    MessageStatus,
    NewMessage,
    OperationKind,
    Receipt,
    Run,
    RunState,
    counted,
)
from checkpoints.store import Store

_table = schema.run


class Runs:
    """The runs of a store's threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(
        self,
        thread_id: str | None,
        message: NewMessage | None,
        *,
        by: By = USER,
        after: str | None = HEAD,
        title: str = "",
        closing: Sequence[NewMessage] = (),
        settings: Mapping[str, str] | None = None,
        compacts: bool = False,
    ) -> Run:
        """Lock the thread for a run and write the user's message, in one transaction; without a thread, make one that has
        these `settings`.

        `closing` is written before it: results of calls that it leaves without a decision. `after` is where the run starts
        from when that is not the head (an edit, a retry). Raises `RunActiveError` when another run holds the thread. The
        same request again returns the run that it began, and does nothing.
        """
        run_id = by.request or self._store.new_id()
        with self._store.database.writing(run_id) as connection:
            if (begun := _run(connection, run_id)) is not None:
                if thread_id not in (None, begun.thread_id):  # somebody else's wish, which this caller may not see
                    raise ConflictError(begun.thread_id, 0, 0)
                return begun
            if thread_id:
                standing = rows.standing(connection, thread_id)
                check(connection, standing, by, while_running=False)
            else:
                standing = self._store.insert_thread(connection, settings=settings)
            self._insert(connection, standing.thread.id, run_id, compacts=compacts)
            if message is not None or after != HEAD:
                change = self._change(connection, standing, replace(by, group=run_id))
                change.perform(kind_of(after), appending([*closing, message] if message else [], after, title, run_id))
            run = _run(connection, run_id)
        assert run is not None
        return run

    def _insert(self, connection: sa.Connection, thread_id: str, run_id: str, *, compacts: bool) -> None:
        before = sa.select(sa.func.count()).select_from(_table).where(_table.c.thread_id == thread_id).scalar_subquery()
        row = {"id": run_id, "thread_id": thread_id, "state": RunState.RUNNING, "draft": "", "dismissed": False}
        row["compacts"] = compacts
        times = {"started_at": rows.from_time(self._store.now())}
        connection.execute(sa.insert(_table).values(**row, **times, number=before))

    def save_drafts(self, texts: Mapping[str, str]) -> None:
        """Keep what has been written of the runs' answers so far; `texts` by the ids of the runs."""
        with self._store.database.writing() as connection:
            for run_id, text in texts.items():
                running = (_table.c.id == run_id, _table.c.state == RunState.RUNNING)
                connection.execute(sa.update(_table).where(*running).values(draft=serde.writable(text)))

    def commit(self, run: Run, message: NewMessage, *, branch_id: str | None = None) -> tuple[Message, int]:
        """Write a finished message of the run and forget the draft of it. Returns it with the thread's new version.

        With `branch_id`, it is written on that branch and not on the one that the conversation stands on. Raises
        `ConflictError` for a run that has ended: the thread may be another's by now.
        """
        with self._store.database.writing() as connection:
            running = (_table.c.id == run.id, _table.c.state == RunState.RUNNING)
            if not connection.execute(sa.update(_table).where(*running).values(draft="")).rowcount:
                version = rows.thread(connection, run.thread_id, even_deleted=True).version
                raise ConflictError(run.thread_id, version, version)
            receipt = self._append(connection, run, [message], branch_id)
            return rows.message(connection, receipt.result, run.thread_id), receipt.version

    def move(self, run: Run, kind: OperationKind, message: NewMessage, *, after: str | None, note: str) -> Receipt:
        """Move the run's thread back to `after` and write a message there; what followed leaves, undoably.

        Raises `ConflictError` for a run that has ended.
        """

        def body(change: Changing) -> str | None:
            change.note = note
            return appending([message], after, "", run.id)(change)

        with self._store.database.writing() as connection:
            change = self._change(connection, self._held(connection, run), By(actor="agent", group=run.id))
            return change.perform(kind, body)

    def replace(self, run: Run, message_id: str, new: NewMessage, drop: Collection[str], *, note: str) -> Receipt:
        """Put another message in the place of one, as the run's rewind; what followed and is not in `drop` stays.

        Raises `ConflictError` for a run that has ended.
        """

        def body(change: Changing) -> str:
            made = branching.replacing(change, message_id, replace(new, run_id=run.id), drop, goes_on=True)
            change.note = note
            return made

        with self._store.database.writing() as connection:
            change = self._change(connection, self._held(connection, run), By(actor="agent", group=run.id))
            return change.perform(OperationKind.REWIND, body)

    def compact(self, run: Run, messages: Sequence[NewMessage], *, after: str | None, note: str) -> Receipt:
        """Put these messages, a note and copies, in the place of all that follows `after`, and let go of the thread, in one
        transaction.

        Checkpoints of what was there stay in the list, and restore what they were saved for. Raises `ConflictError` for a
        run that has ended.
        """

        def body(change: Changing) -> str:
            change.note = note
            written = [replace(messages[0], run_id=run.id), *messages[1:]]
            nodes = change.add(rows.node(connection, after, run.thread_id), written)
            change.leave_for(nodes[-1])
            return nodes[0].id

        with self._store.database.writing() as connection:
            change = self._change(connection, self._held(connection, run), By(actor="agent", group=run.id))
            receipt = change.perform(OperationKind.COMPACT, body)
            self._end(connection, run, RunState.DONE, None, ())
            return receipt

    def branch_off(
        self, run: Run, begun: Sequence[tuple[str, NewMessage]], *, after: str | None
    ) -> tuple[list[tuple[str, Message]], int]:
        """New branches after a message, each with a name and a first message; the conversation stays where it stands.

        Returns their ids with those messages, and the thread's new version. Raises `ConflictError` for a run that has ended.
        """

        def body(change: Changing) -> None:
            place = rows.node(connection, after, run.thread_id)
            for name, message in begun:
                first = change.add(place, [message], run_id=run.id)[0].id
                made.append((change.add_branch(name, first), rows.message(connection, first, run.thread_id)))
            change.note = counted(len(begun), "branch", "branches")

        made: list[tuple[str, Message]] = []
        with self._store.database.writing() as connection:
            change = self._change(connection, self._held(connection, run), By(actor="agent", group=run.id))
            return made, change.perform(OperationKind.FORK, body).version

    def save(self, run: Run, name: str, description: str, tokens: int | None = None) -> Receipt:
        """Bookmark the head, as the agent. It is not undone with the run's messages: what is saved stays saved."""
        return self._store.save(run.thread_id, name=name, description=description, tokens=tokens, by=By(actor="agent"))

    def mark(self, run: Run, message_id: str, name: str, description: str) -> Receipt | None:
        """Bookmark a state that a run came to, as the judge; None when it has left the path, or a checkpoint stands there or
        ever stood there.

        It is no conflict for anybody and stands in nobody's way: undo passes it over, and takes it back with the run.
        """

        def body(change: Changing) -> str:
            assert place is not None
            now, count = rows.to_time(change.now), place.depth + 1
            # The agent finds places by name: one that a person chose must go on meaning what they saved.
            own = f"{name} · {count}" if name in bookmarks.names(connection, run.thread_id) else name
            return change.add_checkpoint(Checkpoint("", own, now, count, description, created_by="judge", node=place))

        with self._store.database.writing() as connection:
            change = self._change(connection, rows.standing(connection, run.thread_id), By(actor="judge", group=run.id))
            place = rows.node(connection, message_id, run.thread_id)
            if place not in change.path() or bookmarks.is_marked(connection, run.thread_id, message_id):
                return None
            return change.perform(OperationKind.SAVE, body)

    def _held(self, connection: sa.Connection, run: Run) -> rows.Standing:
        """The thread of a run that holds it still. Raises `ConflictError`."""
        standing = rows.standing(connection, run.thread_id, even_deleted=True)
        if standing.running != run.id:
            raise ConflictError(run.thread_id, standing.thread.version, standing.thread.version)
        return standing

    def end(self, run: Run, state: RunState, *, error: str | None = None, last: Sequence[NewMessage] = ()) -> int:
        """Let go of the thread, writing the run's last messages in the same transaction. Ending twice does nothing.

        Returns the thread's version.
        """
        with self._store.database.writing() as connection:
            self._end(connection, run, state, error, last)
            return rows.thread(connection, run.thread_id, even_deleted=True).version

    def interrupt_left(self, thread_id: str | None = None) -> list[Run]:
        """Mark the runs that nobody drives any more as interrupted, keeping what they had written: after a start those of
        the former process, later that of one thread whose end could not be written.
        """
        query = sa.select(_table).where(_table.c.state == RunState.RUNNING)
        query = query if thread_id is None else query.where(_table.c.thread_id == thread_id)
        with self._store.database.reading() as connection:
            if connection.execute(query).first() is None:
                return []
        with self._store.database.writing() as connection:
            left = [rows.to_run(row) for row in connection.execute(query)]
            for run in left:
                self._end(connection, run, RunState.INTERRUPTED, None, partial(run.draft))
        return left

    def latest(self, thread_id: str) -> Run | None:
        """The newest run that is at work in the thread, or that came to rest where the head stands now: also after going
        elsewhere and back. One that should have summarised counts until it is dismissed: then the one before it does again.
        """
        with self._store.database.reading() as connection:
            head = rows.thread(connection, thread_id).head_id
            is_here = sa.or_(_table.c.state == RunState.RUNNING, _table.c.head_id == head)
            counts = sa.not_(sa.and_(_table.c.compacts, _table.c.dismissed))
            newest = sa.select(_table).where(_table.c.thread_id == thread_id, is_here, counts)
            row = connection.execute(newest.order_by(_table.c.number.desc()).limit(1)).one_or_none()
        return rows.to_run(row) if row else None

    def running(self) -> set[str]:
        """The ids of the threads that are being answered."""
        with self._store.database.reading() as connection:
            return set(connection.scalars(sa.select(_table.c.thread_id).where(_table.c.state == RunState.RUNNING)))

    def dismiss(self, thread_id: str) -> None:
        """The user has seen how the thread's newest run ended; say no more of it."""
        latest = self.latest(thread_id)
        if latest is not None:
            with self._store.database.writing() as connection:
                connection.execute(sa.update(_table).where(_table.c.id == latest.id).values(dismissed=True))

    def _end(
        self, connection: sa.Connection, run: Run, state: RunState, error: str | None, last: Sequence[NewMessage]
    ) -> None:
        values = {
            "state": state,
            "error": error and serde.writable(error),
            "draft": "",
            "ended_at": rows.from_time(self._store.now()),
        }
        running = (_table.c.id == run.id, _table.c.state == RunState.RUNNING)
        ended = connection.execute(sa.update(_table).where(*running).values(**values))
        if not ended.rowcount:
            return
        if last:
            self._append(connection, run, last)
        head = rows.thread(connection, run.thread_id, even_deleted=True).head_id
        connection.execute(sa.update(_table).where(_table.c.id == run.id).values(head_id=head))

    def _append(
        self, connection: sa.Connection, run: Run, messages: Sequence[NewMessage], branch_id: str | None = None
    ) -> Receipt:
        standing = rows.standing(connection, run.thread_id, even_deleted=True)
        if branch_id is not None:  # a change acts where its thread stands
            head_id = rows.branch(connection, branch_id, run.thread_id).head_id
            thread = replace(standing.thread, branch_id=branch_id, head_id=head_id)
            standing = replace(standing, thread=thread, place=rows.node(connection, head_id, run.thread_id))
        change = self._change(connection, standing, By(actor="agent", group=run.id))
        return change.perform(OperationKind.APPEND, appending(messages, HEAD, "", run.id))

    def _change(self, connection: sa.Connection, standing: rows.Standing, by: By) -> Changing:
        return Changing(connection, standing, rows.from_time(self._store.now()), self._store.new_id, by)


def partial(text: str) -> list[NewMessage]:
    """The immutable message that a cut-off answer becomes; none if nothing had come yet."""
    body = {"type": "ai", "data": {"content": serde.writable(text)}}
    return [NewMessage(body, status=MessageStatus.PARTIAL)] if text else []


def _run(connection: sa.Connection, run_id: str) -> Run | None:
    row = connection.execute(sa.select(_table).where(_table.c.id == run_id)).one_or_none()
    return rows.to_run(row) if row else None
