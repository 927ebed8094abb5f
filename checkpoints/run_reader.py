"""Runs, read only."""

import sqlalchemy as sa

from .changes import titles
from .rows import candidate_rows, file_rows, message_rows, operation_rows, rerun_rows, run_rows, thread_rows
from .storage import schema
from .store import Store
from .values import files, serde
from .values.files import File
from .values.operation import Operation
from .values.run import Candidate, Rerun, RerunStep, Run, RunState


class RunReader:
    """The runs of a store's threads: all that can be asked about them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def worker_id(self) -> int | None:
        """Return this process among several that drive runs; None where it is the only one."""
        return self._store.database.worker_id

    def get_latest_run(self, thread_id: str) -> Run | None:
        """Return the run that is at work in the thread, or else the newest one that ended at the head.

        A failed summary counts until it is dismissed.
        """
        with self._store.database.begin_read() as connection:
            head_id = thread_rows.select_thread(connection, thread_id).head_id
            return run_rows.select_latest_run(connection, thread_id, head_id)

    def find_waiting_run(self, thread_id: str, *, other_than: str = "") -> Run | None:
        """Return the thread's newest run if it waits where the thread stands: nobody went back meanwhile."""
        with self._store.database.begin_read() as connection:
            head_id = thread_rows.select_thread(connection, thread_id).head_id
            newest = run_rows.select_newest_run(connection, thread_id, other_than=other_than)
        is_waiting = newest is not None and newest.state is RunState.WAITING and newest.head_id == head_id
        return newest if is_waiting else None

    def get_run(self, run_id: str) -> Run | None:
        with self._store.database.begin_read() as connection:
            return run_rows.select_run(connection, run_id)

    def get_rerun(self, step: RerunStep) -> Rerun:
        """Return the rerun that a run belongs to."""
        with self._store.database.begin_read() as connection:
            return rerun_rows.select_rerun(connection, step.rerun_id)

    def list_candidates(self, run_id: str) -> list[Candidate]:
        """Return the answers of a run that asked several models; none of any other run."""
        with self._store.database.begin_read() as connection:
            return candidate_rows.select_candidates(connection, run_id)

    def read_sent_files(self, request_id: str) -> list[File]:
        """Return the undamaged files of the message that a request has sent; none for any other request."""
        with self._store.database.begin_read() as connection:
            run = run_rows.select_run(connection, request_id)
            sent = operation_rows.find_request(connection, run.thread_id, request_id) if run else None
            content = message_rows.find_content(connection, sent.result) if sent and sent.result else None
            parts = files.find_file_parts(serde.parse_leniently(content)) if content else []
            contents = file_rows.select_files(connection, {part["file"] for part in parts})
        return [files.parse_file(part["name"], contents[part["file"]]) for part in parts if part["file"] in contents]

    def has_answered_before(self, run: Run) -> bool:
        """Return whether another run of the thread has come to its end."""
        table = schema.run.c
        others = (table.thread_id == run.thread_id, table.id != run.id, table.state == RunState.DONE)
        with self._store.database.begin_read() as connection:
            return connection.execute(sa.select(table.id).where(*others).limit(1)).first() is not None

    def is_titled_by_question(self, thread_id: str) -> bool:
        """Return whether the thread still has the title that its first message gave it."""
        with self._store.database.begin_read() as connection:
            return titles.is_titled_by_question(connection, thread_rows.select_thread(connection, thread_id))

    def find_title(self, thread_id: str) -> Operation | None:
        """Return the operation by which the model has given the thread a title, also an undone one."""
        with self._store.database.begin_read() as connection:
            return titles.find_title(connection, thread_id)

    def list_running_threads(self) -> set[str]:
        """Return the ids of the threads that are being answered."""
        with self._store.database.begin_read() as connection:
            return run_rows.select_running_threads(connection)

    def list_waiting_threads(self) -> set[str]:
        """Return the ids of the threads whose newest run at their head waits for a person's decision."""
        with self._store.database.begin_read() as connection:
            return run_rows.select_waiting_threads(connection)
