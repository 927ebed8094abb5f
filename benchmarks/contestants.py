"""The histories that are compared: ours, and copies in memory (LangGraph's is in langgraph_manager)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import BaseMessage

from benchmarks.databases import KINDS, Kind, Place
from benchmarks.deepcopy_manager import DeepCopyManager
from benchmarks.langgraph_manager import LangGraphManager
from checkpoints import NewMessage, Store
from checkpoints.values import serde

PAGE = 50  # messages that the page reads when a conversation is opened


class History(Protocol):
    """One conversation with a checkpoint for each turn. `length` names the checkpoint with so many messages."""

    def add(self, messages: list[BaseMessage]) -> None:
        """Append messages, and save a checkpoint after them."""

    def read(self) -> object:
        """Read the part that a page shows of the end of the conversation."""

    def list(self) -> Iterable[object]:
        """Read all checkpoints for a list."""

    def restore(self, length: int) -> None:
        """Move the conversation to this checkpoint."""

    def branch(self, length: int) -> None:
        """Open a branch at this checkpoint, and move there."""

    def fork(self, length: int) -> None:
        """Make another conversation with this one's messages at this checkpoint."""

    def back(self) -> None:
        """Reset everything after a `restore`, `branch` or `fork`."""

    def close(self) -> None: ...


class Ours:
    """A thread of a store."""

    def __init__(self, place: Place) -> None:
        self._database = place.open()
        self._store = Store(self._database)
        self._thread_id = self._store.create_thread().id
        self._length = 0
        self._made: dict[int, tuple[str, str]] = {}  # checkpoint and message by length
        self._undone_in = self._thread_id

    def add(self, messages: list[BaseMessage]) -> None:
        added = self._store.append(self._thread_id, [NewMessage(serde.to_body(message)) for message in messages])
        self._length += len(messages)
        self._made[self._length] = self._store.save(self._thread_id).result, added.result

    def read(self) -> object:
        return self._store.list_messages(self._thread_id, last=PAGE)

    def list(self) -> Iterable[object]:
        return self._store.list_checkpoints(self._thread_id)

    def restore(self, length: int) -> None:
        self._store.restore(self._thread_id, self._made[length][0])

    def branch(self, length: int) -> None:
        self._store.fork(self._thread_id, self._made[length][1])

    def fork(self, length: int) -> None:
        self._undone_in = self._store.fork_thread(self._thread_id, self._made[length][1]).result

    def back(self) -> None:
        self._store.undo(self._undone_in)
        self._undone_in = self._thread_id

    def close(self) -> None:
        self._database.close()


class DeepCopies:
    """A manager in memory."""

    def __init__(self) -> None:
        self._manager = DeepCopyManager()
        self._state: dict[str, Any] = {"messages": []}
        self._made: dict[int, str] = {}

    def add(self, messages: list[BaseMessage]) -> None:
        self._state["messages"] += messages
        self._made[len(self._state["messages"])] = self._manager.save_checkpoint(self._state).id

    def read(self) -> object:
        return self._state["messages"][-PAGE:]

    def list(self) -> Iterable[object]:
        return self._manager.list_checkpoints()

    def restore(self, length: int) -> None:
        self._manager.twin().restore_checkpoint(self._made[length])

    def branch(self, length: int) -> None:
        self.restore(length)

    def fork(self, length: int) -> None:
        DeepCopyManager().save_checkpoint(self._manager.twin().restore_checkpoint(self._made[length]))

    def back(self) -> None:
        """Do nothing: only copies were restored."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Contestant:
    name: str
    kind: Kind | None  # of its database; None: in memory
    open: Callable[[Place], History]

    @property
    def is_ours(self) -> bool:
        return self.name == OURS


OURS = "ours"


def contestants() -> list[Contestant]:
    """Return the contestants in the order of the table's columns; ours is first on each database."""
    found = []
    for kind in KINDS:
        saver = f"{'Sqlite' if kind == 'SQLite' else 'Postgres'}Saver"
        found += [
            Contestant(OURS, kind, Ours),
            Contestant(saver, kind, LangGraphManager),
            Contestant(f"{saver}, DeltaChannel", kind, lambda place: LangGraphManager(place, deltas=True)),
        ]
    return [*found, Contestant("deepcopy", None, lambda _: DeepCopies())]
