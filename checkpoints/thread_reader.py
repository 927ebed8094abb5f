"""The conversations of an owner: lists of them, and each one."""

from datetime import datetime

import sqlalchemy as sa

from .model import ListPlace, Thread
from .search.query import split_tags
from .storage import schema, state_rows, thread_lists, thread_rows
from .storage.database import Database


class ThreadReader:
    """The reads of conversations, without their content."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_threads(self, owner: str = "local", limit: int = 1_000) -> list[Thread]:
        with self.database.begin_read() as connection:
            return thread_rows.select_threads(connection, owner, limit)

    def list_thread_portion(
        self,
        *,
        owner: str = "local",
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
            words = rest.casefold().split()
            return thread_lists.select_thread_portion(connection, owner, limit, archived, words, after, tags)

    def list_changed_threads(self, since: datetime, *, owner: str = "local", limit: int = 100) -> list[Thread]:
        """Return the conversations that were changed since a time, also deleted and archived ones, the newest first."""
        with self.database.begin_read() as connection:
            return thread_lists.select_changed_threads(connection, owner, since, limit)

    def list_deleted_threads(self, owner: str = "local", limit: int = 20) -> list[Thread]:
        """Return the deleted conversations that undo can restore, the last deleted first."""
        with self.database.begin_read() as connection:
            return thread_rows.select_deleted_threads(connection, owner, limit)

    def get_thread(self, thread_id: str) -> Thread:
        with self.database.begin_read() as connection:
            return thread_rows.select_thread(connection, thread_id)

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
            return connection.execute(query).first() is not None

    def find_import(self, source_hash: str, owner: str = "local") -> Thread | None:
        """Find the conversation that was imported from the document with this hash, if it is still in the list."""
        with self.database.begin_read() as connection:
            return thread_rows.find_import(connection, source_hash, owner)
