"""The search of messages and checkpoints, and where the page shows a message."""

from datetime import datetime

from .rows import message_places, path_search, search_hits
from .search.query import parse_query
from .search.result import NO_NOTES, MessagePlace, NoteRules, PathHits, SearchResult
from .storage.database import Database
from .values.limits import MAX_SEARCH_HITS


class SearchReader:
    """The reads that find a message or a checkpoint."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def search(
        self,
        text: str,
        now: datetime,
        *,
        owner: str | None = None,
        this: str | None = None,
        limit: int = MAX_SEARCH_HITS,
        notes: NoteRules = NO_NOTES,
    ) -> SearchResult:
        """Find messages and checkpoints of an owner (see search.query); `this` is the conversation of `in:this`.

        `notes` recognise the notes: their own texts are quoted, and `role:note` finds them.
        """
        with self.database.begin_read() as connection:
            of, has_others = self.database.name_owner(owner), self.database.separates_owners
            return search_hits.search(
                connection, parse_query(text, now), of, this, limit, has_others=has_others, notes=notes
            )

    def find_in_path(self, thread_id: str, text: str) -> PathHits:
        """Find the messages of the current path with the words of a text in sequence. Raises `ThreadNotFoundError`."""
        with self.database.begin_read() as connection:
            return path_search.find_in_path(connection, thread_id, text)

    def locate_message(self, thread_id: str, message_id: str) -> MessagePlace:
        """Find where the page shows any message of a thread. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            return message_places.locate_message(connection, thread_id, message_id)

    def locate_branch(self, thread_id: str, branch_id: str) -> MessagePlace:
        """Find where the page shows the end of a branch. Raises `BranchNotFoundError`."""
        with self.database.begin_read() as connection:
            return message_places.locate_branch(connection, thread_id, branch_id)

    def locate_checkpoint(self, thread_id: str, checkpoint_id: str) -> MessagePlace:
        """Find where the page shows the message of any checkpoint of a thread. Raises `CheckpointNotFoundError`."""
        with self.database.begin_read() as connection:
            return message_places.locate_checkpoint(connection, thread_id, checkpoint_id)
