"""A person's instructions for all of their conversations: a text that they write once. It belongs to no conversation."""

import sqlalchemy as sa

from .storage import schema
from .storage.database import retry_contended
from .store import Store
from .values import serde
from .values.errors import InstructionsChangedError, InvalidInstructionsError
from .values.limits import MAX_INSTRUCTIONS_CHARS
from .values.sentence import sentence

_row = schema.default_instructions.c


class DefaultInstructions:
    """The acting person's text in a store's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self) -> str:
        """Return the text, empty if there is none."""
        query = sa.select(_row.text).where(_row.owner == self._store.database.name_owner())
        with self._store.database.begin_read() as connection:
            return connection.scalar(query) or ""

    def read_for(self, owner: str) -> str:
        """Return the text for a conversation of this owner, if it is the acting person: nobody gets another's text."""
        return self.read() if owner == self._store.database.name_owner() else ""

    @retry_contended
    def save_text(self, text: str, *, seen: str | None = None) -> str:
        """Save the text, and return it as it is kept. An empty one removes it.

        `seen` is the text that the caller saw. Raises `InstructionsChangedError` if there is another one by now, and
        `InvalidInstructionsError`.
        """
        cleaned, owner = serde.sanitize_text(text).strip(), self._store.database.name_owner()
        if len(cleaned) > MAX_INSTRUCTIONS_CHARS:
            raise InvalidInstructionsError(
                sentence("The instructions are longer than {limit:,} characters.", limit=MAX_INSTRUCTIONS_CHARS)
            )
        with self._store.database.begin_write("default_instructions") as connection:
            if seen is not None:
                now = connection.scalar(sa.select(_row.text).where(_row.owner == owner)) or ""
                if now not in (seen, cleaned):
                    raise InstructionsChangedError(now)
            connection.execute(sa.delete(schema.default_instructions).where(_row.owner == owner))
            if cleaned:
                connection.execute(sa.insert(schema.default_instructions).values(owner=owner, text=cleaned))
        return cleaned
