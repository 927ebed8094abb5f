"""The library's interface to a single conversation: checkpoints with states as input and output."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import takewhile
from types import TracebackType

from langchain_core.messages import BaseMessage

from .interchange import reading, transfer
from .storage.database import Database
from .store import Store
from .values import serde
from .values.errors import CheckpointNotFoundError, ConflictError, NothingToSaveError, RunActiveError, TooManyValuesError
from .values.limits import MAX_SAVED_VALUES, has_more_values
from .values.model import Checkpoint, Json, NewMessage, State
from .values.operation import Caller
from .values.sentence import sentence


class CheckpointManager:
    """Saves, lists, restores and moves states of the form `{"messages": [BaseMessage, …], **json_keys}`.

    `CheckpointManager()` keeps everything in memory until it is closed or released. `CheckpointManager(store, thread_id)`
    works on a stored conversation, and leaves the store open. Every result is a copy: changes to it are not stored.
    """

    def __init__(self, store: Store | None = None, thread_id: str | None = None, *, caller: Caller | None = None) -> None:
        self._is_own_store = store is None
        self._store = store or Store(Database.in_memory())
        self._thread_id = thread_id or self._store.create_thread().id
        self._caller = caller or Caller()
        # Copies of the conversation's messages as of `_known_version`, for comparison with states.
        self._known_messages: list[BaseMessage] = []
        self._known_version = 0

    def save_checkpoint(self, state: State | None = None, name: str | None = None, description: str = "") -> Checkpoint:
        """Save a state, writing only messages new to the conversation.

        Without a state, save the current head, at the cost of a single row. Raises `NothingToSaveError` for a state
        without messages, `TypeError` or `ValueError` for values JSON cannot carry, and `TooManyValuesError`.
        """
        if state is None:
            made = self._store.save(self._thread_id, name=name, description=description, caller=self._caller)
            # A checkpoint changes no message.
            self._known_version += made.version == self._known_version + 1
            return self._get_checkpoint(made.result)
        messages = list(state.get("messages", []))
        if not messages:
            raise NothingToSaveError
        extra = serde.require_exact({key: value for key, value in state.items() if key != "messages"})
        _check_values(extra, sentence("state"))
        while True:
            kept = self._shared_prefix_length(messages)
            new = [NewMessage(_to_checked_body(message)) for message in messages[kept:]]
            seen = self._known_version if self._caller.expected_version is None else self._caller.expected_version
            # `kept` is only valid for that version.
            by = replace(self._caller, expected_version=seen)
            try:
                made = self._store.save(
                    self._thread_id, name=name, description=description, extra=extra, keep=kept, new=new, caller=by
                )
                break
            except RunActiveError:
                raise
            except ConflictError:
                if self._caller.expected_version is not None:
                    raise
                # Another caller changed the conversation, so compare again.
                continue
        self._known_messages[kept:] = [deepcopy(message) for message in messages[kept:]]
        self._known_version = made.version
        return self._get_checkpoint(made.result)

    def restore_checkpoint(self, checkpoint_id: str, *, keep_future: bool = False) -> State:
        """Go back to a checkpoint and return its state. Later checkpoints are removed from the list.

        Nothing changes if it raises `CheckpointNotFoundError` (a `KeyError`) for an unknown checkpoint, or
        `DamagedMessageError` for an unreadable state.
        """
        with self._store.database.begin_read():
            # Read before the head moves, because the state may be damaged.
            state = self._get_checkpoint(checkpoint_id).state
        self._store.restore(self._thread_id, checkpoint_id, keep_future=keep_future, caller=self._caller)
        return state

    def list_checkpoints(self) -> list[Json]:
        """Return the checkpoints, oldest first, without their states."""
        return [checkpoint.to_summary() for checkpoint in self._store.list_checkpoints(self._thread_id)]

    def get_checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        try:
            return self._get_checkpoint(checkpoint_id)
        except CheckpointNotFoundError:
            return None

    def get_latest_checkpoint(self) -> Checkpoint | None:
        found = self._store.list_checkpoints(self._thread_id)
        return found[-1] if found else None

    def delete_checkpoint(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint only, of any branch. Return False if no branch lists it."""
        try:
            self._store.delete_checkpoint(self._thread_id, checkpoint_id, caller=self._caller)
        except CheckpointNotFoundError:
            return False
        return True

    def clear_all(self) -> None:
        self._store.clear_checkpoints(self._thread_id, caller=self._caller)

    def export_checkpoints(self) -> str:
        """Export the conversation with its checkpoints as a JSON document in format waymark/1."""
        return transfer.export(self._store, self._thread_id)

    def import_checkpoints(self, text: str) -> None:
        """Replace the conversation by a document's. Raises `InvalidDocumentError` without changing anything."""
        self._store.import_into(self._thread_id, transfer.make_replacement(reading.read_document(text)), caller=self._caller)

    def undo(self) -> None:
        """Undo the last change made through this manager or the page, exactly."""
        self._store.undo(self._thread_id, caller=self._caller)

    def redo(self) -> None:
        self._store.redo(self._thread_id, caller=self._caller)

    def close(self) -> None:
        if self._is_own_store:
            self._store.database.close()

    def __enter__(self) -> "CheckpointManager":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _get_checkpoint(self, checkpoint_id: str) -> Checkpoint:
        return self._store.get_checkpoint(self._thread_id, checkpoint_id)

    def _shared_prefix_length(self, messages: Sequence[BaseMessage]) -> int:
        """Count the leading messages already in the conversation, up to its first damaged message."""
        version = self._store.get_thread(self._thread_id).version
        if version != self._known_version:
            # The conversation was changed elsewhere.
            stored = self._store.list_messages(self._thread_id)
            self._known_messages = [message.langchain for message in takewhile(lambda message: not message.damaged, stored)]
            self._known_version = version
        length = 0
        for known, message in zip(self._known_messages, messages, strict=False):
            if not _equal_messages(known, message):
                break
            length += 1
        return length


def _to_checked_body(message: BaseMessage) -> Json:
    body = serde.to_body(message)
    _check_values(body, sentence("message"))
    return body


def _check_values(value: Json, noun: str) -> None:
    if has_more_values(value, MAX_SAVED_VALUES):
        raise TooManyValuesError(noun, MAX_SAVED_VALUES)


def _equal_messages(one: BaseMessage, other: BaseMessage) -> bool:
    """Return whether two messages are equal in all fields, including the caller's extra fields."""
    # Pydantic's == takes 50 times as long.
    return type(one) is type(other) and one.__dict__ == other.__dict__ and one.__pydantic_extra__ == other.__pydantic_extra__
