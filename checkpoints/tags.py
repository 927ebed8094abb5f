"""An owner's tags and their names. `Store.tag_thread` gives tags to conversations.

A name belongs to no conversation. Renaming a tag, or removing it everywhere, changes a single row, and gives no
conversation a new version or another place in the list. The opposite call is the undo.
"""

from collections.abc import Collection

from .rows import tag_rows
from .storage.database import retry_contended
from .store import Store
from .values.errors import InvalidTagError
from .values.sentence import sentence
from .values.tag import Tag, clean_tag


class Tags:
    """An owner's tags in a store's database."""

    def __init__(self, store: Store, owner: str | None = None) -> None:
        self._store = store
        self._named_owner = owner

    @property
    def _owner(self) -> str:
        return self._store.database.name_owner(self._named_owner)

    def list_tags(self) -> list[Tag]:
        """List the tags in use, by name."""
        with self._store.database.begin_read() as connection:
            return tag_rows.select_tags(connection, self._owner)

    def count_tags(self) -> list[Tag]:
        """List the tags in use, including removed tags, with the numbers of their conversations."""
        with self._store.database.begin_read() as connection:
            return tag_rows.count_tags(connection, self._owner)

    def count_tags_in(self, thread_ids: Collection[str]) -> list[Tag]:
        """List the tags in use, by name, each with the number of these conversations that have it."""
        with self._store.database.begin_read() as connection:
            return tag_rows.count_tags_in(connection, self._owner, thread_ids)

    @retry_contended
    def rename_tag(self, tag_id: str, name: str) -> None:
        """Rename a tag on all conversations. Raises `InvalidTagError`, `TagNotFoundError`."""
        if not (cleaned := clean_tag(name)):
            raise InvalidTagError(sentence("A tag needs a name."))
        with self._store.database.begin_write() as connection:
            tag = tag_rows.select_tag(connection, self._owner, tag_id)
            tag_rows.write_name(connection, self._owner, tag_id, cleaned, is_removed=tag.is_removed)

    @retry_contended
    def remove_tag(self, tag_id: str) -> None:
        """Remove a tag from all conversations. Raises `TagNotFoundError`."""
        with self._store.database.begin_write() as connection:
            tag = tag_rows.select_tag(connection, self._owner, tag_id)
            tag_rows.write_name(connection, self._owner, tag_id, tag.name, is_removed=True)

    @retry_contended
    def restore_tag(self, tag_id: str) -> None:
        """Bring a removed tag back to its conversations. Raises `InvalidTagError`, `TagNotFoundError`."""
        with self._store.database.begin_write() as connection:
            tag = tag_rows.select_tag(connection, self._owner, tag_id)
            tag_rows.write_name(connection, self._owner, tag_id, tag.name, is_removed=False)
