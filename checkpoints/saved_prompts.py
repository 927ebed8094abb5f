"""The prompt library: texts saved by a person, for insertion into messages. They belong to no conversation.

The page handles variables (`{{name}}`): it asks for their values before it inserts a text.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from .rows.thread_rows import from_time
from .storage import schema
from .storage.database import retry_contended
from .store import Store
from .values import serde
from .values.errors import InvalidPromptError, PromptNotFoundError
from .values.limits import MAX_LABEL_CHARS, MAX_SAVED_PROMPT_CHARS, MAX_SAVED_PROMPTS
from .values.names import clean_name
from .values.sentence import sentence

_prompt = schema.saved_prompt.c


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    id: str
    name: str
    text: str


class SavedPrompts:
    """An owner's prompts in a store's database."""

    def __init__(self, store: Store, owner: str | None = None) -> None:
        self._store = store
        self._named_owner = owner

    @property
    def _owner(self) -> str:
        return self._store.database.name_owner(self._named_owner)

    def list_prompts(self) -> list[SavedPrompt]:
        query = sa.select(_prompt.id, _prompt.name, _prompt.text).where(_prompt.owner == self._owner)
        with self._store.database.begin_read() as connection:
            found = [SavedPrompt(*row) for row in connection.execute(query)]
        return sorted(found, key=lambda prompt: (prompt.name.casefold(), prompt.id))

    def get_prompt(self, prompt_id: str) -> SavedPrompt:
        """Return a prompt. Raises `PromptNotFoundError`."""
        with self._store.database.begin_read() as connection:
            return self._select(connection, prompt_id)

    @retry_contended
    def save_prompt(self, prompt_id: str, name: str, text: str) -> None:
        """Save a prompt under an id chosen by the caller, so a repeated call has no effect. Raises `InvalidPromptError`."""
        prompt = _check_prompt(prompt_id, name, text)
        values = {"name": prompt.name, "text": prompt.text, "updated_at": from_time(self._store.now())}
        mine = sa.and_(_prompt.id == prompt_id, _prompt.owner == self._owner)
        with self._store.database.begin_write("saved_prompt") as connection:
            if connection.execute(sa.update(schema.saved_prompt).where(mine).values(values)).rowcount:
                return
            self._check_room(connection, prompt_id)
            connection.execute(sa.insert(schema.saved_prompt).values(id=prompt_id, owner=self._owner, **values))

    @retry_contended
    def delete_prompt(self, prompt_id: str) -> SavedPrompt:
        """Delete a prompt and return it. Saving it again undoes the deletion. Raises `PromptNotFoundError`."""
        with self._store.database.begin_write("saved_prompt") as connection:
            prompt = self._select(connection, prompt_id)
            connection.execute(sa.delete(schema.saved_prompt).where(_prompt.id == prompt_id))
        return prompt

    def _select(self, connection: sa.Connection, prompt_id: str) -> SavedPrompt:
        query = sa.select(_prompt.id, _prompt.name, _prompt.text)
        row = connection.execute(query.where(_prompt.id == prompt_id, _prompt.owner == self._owner)).one_or_none()
        if row is None:
            raise PromptNotFoundError(prompt_id)
        return SavedPrompt(*row)

    def _check_room(self, connection: sa.Connection, prompt_id: str) -> None:
        if connection.scalar(sa.select(_prompt.owner).where(_prompt.id == prompt_id)):
            # The id belongs to another owner.
            raise PromptNotFoundError(prompt_id)
        count = sa.select(sa.func.count()).where(_prompt.owner == self._owner)
        if (connection.scalar(count) or 0) >= MAX_SAVED_PROMPTS:
            raise InvalidPromptError(
                sentence("There are {limit} prompts already. Delete one first.", limit=MAX_SAVED_PROMPTS)
            )


def _check_prompt(prompt_id: str, name: str, text: str) -> SavedPrompt:
    """Return a prompt ready to be stored. Raises `InvalidPromptError`."""
    cleaned, clean_text = clean_name(name), serde.sanitize_text(text)
    if not cleaned or not clean_text.strip():
        raise InvalidPromptError(sentence("A prompt needs a name and a text."))
    if len(clean_text) > MAX_SAVED_PROMPT_CHARS:
        raise InvalidPromptError(sentence("A prompt has at most {limit:,} characters.", limit=MAX_SAVED_PROMPT_CHARS))
    if not 0 < len(prompt_id) <= MAX_LABEL_CHARS or not prompt_id.isascii():
        raise InvalidPromptError(sentence("This prompt has no usable id."))
    return SavedPrompt(prompt_id, cleaned, clean_text)
