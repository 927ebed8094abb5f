"""The conversations of an owner: lists of them, and each one."""

import sys
from datetime import datetime

import sqlalchemy as sa

from .rows import member_rows, state_rows, thread_lists, thread_rows
from .search.query import split_tags
from .storage import schema
from .storage.access import exempt_query
from .storage.database import Database
from .storage.ownership import find_role, limit_to_owner
from .storage.row_security import pass_policies
from .values.errors import ReadOnlyError
from .values.model import ListPlace, Thread, ThreadProgress, ThreadRole
from .values.text import fold_text


class ThreadReader:
    """The reads of conversations, without their content."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_threads(self, owner: str | None = None, limit: int = 1_000) -> list[Thread]:
        with self.database.begin_read() as connection:
            return thread_rows.select_threads(connection, self.database.name_owner(owner), limit)

    def list_thread_portion(
        self,
        *,
        owner: str | None = None,
        archived: bool | None = False,
        text: str = "",
        after: ListPlace | None = None,
        limit: int = 100,
    ) -> list[Thread]:
        """Return the next conversations of the list after a place, whose titles contain all words of the text.

        `tag:NAME` in the text: those with this tag.
        """
        rest, tags = split_tags(text)
        with self.database.begin_read() as connection:
            words, of = fold_text(rest).split(), self.database.name_owner(owner)
            return thread_lists.select_thread_portion(connection, of, limit, archived, words, after, tags)

    def list_changed_threads(self, since: datetime, *, owner: str | None = None, limit: int = 100) -> list[Thread]:
        """Return the conversations that were changed since a time, also deleted and archived ones, the newest first."""
        with self.database.begin_read() as connection:
            return thread_lists.select_changed_threads(connection, self.database.name_owner(owner), since, limit)

    def list_shared_roles(self) -> dict[str, ThreadRole]:
        """Return the roles of the person who acts, by the ids of the conversations that they are let into."""
        with self.database.begin_read() as connection:
            return member_rows.select_shared_roles(connection, self.database.name_owner())

    def list_deleted_threads(self, owner: str | None = None, limit: int = 20) -> list[Thread]:
        """Return the deleted conversations that undo can restore, the last deleted first."""
        with self.database.begin_read() as connection:
            return thread_lists.select_deleted_threads(connection, self.database.name_owner(owner), limit)

    def list_threads_of_all(self) -> list[Thread]:
        """Return the conversations of all owners, for the command line."""
        with self.database.begin_read() as connection:
            return thread_rows.select_threads(connection, None, sys.maxsize)

    def get_thread(self, thread_id: str) -> Thread:
        with self.database.begin_read() as connection:
            return thread_rows.select_thread(connection, thread_id)

    def get_progress(self, thread_id: str) -> ThreadProgress:
        """Return the version of a thread, and the run that is at work in it, of one moment."""
        with self.database.begin_read() as connection:
            loaded = thread_rows.load_thread(connection, thread_id)
            return ThreadProgress(loaded.thread.version, loaded.active_run_id)

    def has_states(self, thread_id: str) -> bool:
        """Return whether a graph has written states in this conversation."""
        with self.database.begin_read() as connection:
            return thread_rows.load_thread(connection, thread_id).has_states

    def find_state(self, thread_id: str, message_id: str | None) -> int | None:
        """Return the state of a graph that belongs to a message: where a restore to it would stand; None without one."""
        with self.database.begin_read() as connection:
            loaded = thread_rows.load_thread(connection, thread_id)
            if message_id == loaded.thread.head_id:
                return loaded.thread.state_id
            if message_id is None or not loaded.has_states:
                return None
            return state_rows.find_state(connection, thread_rows.load_path(connection, thread_id, message_id))

    def thread_exists(self, thread_id: str) -> bool:
        """Return whether the thread exists and is not deleted."""
        table = schema.thread.c
        query = sa.select(table.id).where(table.id == thread_id, table.deleted_at.is_(None))
        with self.database.begin_read() as connection:
            return connection.execute(limit_to_owner(connection, query, table.id)).first() is not None

    def belongs_to_another(self, thread_id: str, *, to_change: bool = False) -> bool:
        """Return whether a conversation is there, and is closed to the person who acts.

        With `to_change`, raises `ReadOnlyError` for one that they only read.
        """
        if not self.database.separates_owners:
            return False
        query = exempt_query(sa.select(schema.thread.c.id).where(schema.thread.c.id == thread_id))
        with self.database.begin_read() as connection:
            role = find_role(connection, thread_id)
            if role is ThreadRole.READER and to_change:
                raise ReadOnlyError
            if role is not None:
                return False
            with pass_policies(connection):  # which show nothing of it
                return connection.execute(query).first() is not None

    def find_import(self, source_hash: str, owner: str | None = None) -> Thread | None:
        """Find the conversation that was imported from the document with this hash, if it is still in the list."""
        with self.database.begin_read() as connection:
            return thread_lists.find_import(connection, source_hash, self.database.name_owner(owner))
