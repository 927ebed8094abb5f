"""The messages of a conversation as a graph has them: LangGraph tells messages apart by ids of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from agent.marks import InputsMark
from checkpoints import MAIN, Message, Store, serde


@dataclass(frozen=True, slots=True)
class GuestPath:
    """The path of a conversation when a run begins."""

    stored: Sequence[Message]

    @classmethod
    def load(cls, store: Store, thread_id: str) -> "GuestPath":
        return cls([message.intact for message in store.list_messages(thread_id, agent=MAIN)])

    @property
    def head_id(self) -> str | None:
        return self.stored[-1].id if self.stored else None

    def list_after(self, known: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages after those that a graph knows, or the user's last one where it knows other messages.

        A message that Waymark wrote has the id of its node, as the saver reads it.
        """
        shared = len(known) if self._begins_with(known) else max(0, len(self.stored) - 1)
        return [_add_id(message) for message in self.stored[shared:]]

    def read_inputs(self, new: Sequence[BaseMessage]) -> dict[str, Any]:
        """Return the further inputs that the last of these messages brings."""
        mark = InputsMark.of(self.stored[-1]) if new and self.stored else None
        return dict(mark.values) if mark else {}

    def _begins_with(self, known: Sequence[BaseMessage]) -> bool:
        if len(known) > len(self.stored):
            return False
        last = self.stored[len(known) - 1] if known else None
        # The last one suffices: the saver keeps the path to it.
        return last is None or serde.strip_defaults(known[-1]) == serde.strip_defaults(_add_id(last))


def _add_id(stored: Message) -> BaseMessage:
    message = stored.langchain
    message.id = message.id or stored.id
    return message
