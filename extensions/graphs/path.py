"""The messages of a conversation as a graph has them: LangGraph tells messages apart by ids of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from agent.marks import InputsMark
from agent.subagents.delegation import load_last_turn
from checkpoints import MAIN, Message, MessageStatus, Store, UnfitMessageError
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.message_authors import read_for_graph

_FIRST_READ_MESSAGES = 8  # more than a turn without tools has
MAX_PATH_SECONDS = 15.0  # of the database, for all messages of a conversation


@dataclass(frozen=True, slots=True)
class GraphPath:
    """The end of a conversation when a run begins: the main agent's messages that its graph does not know, and some before.

    `known_id` is the last message of the state where the conversation stands. All before it are in that state.
    """

    store: Store
    saver: WaymarkSaver
    thread_id: str
    known_id: str | None
    end: Sequence[Message]

    @classmethod
    def load(cls, store: Store, saver: WaymarkSaver, thread_id: str) -> "GraphPath":
        """Read the end of a path. Raises `UnfitMessageError`."""
        known_id = saver.find_last_message(thread_id)
        return cls(store, saver, thread_id, known_id, _read_end(store, thread_id, known_id))

    @property
    def head_id(self) -> str | None:
        return self.end[-1].id if self.end else None

    def list_new(self) -> list[BaseMessage]:
        """Return the messages that the graph does not know, or the last one where the state is of another path."""
        if self.known_id is None:
            return self.list_all()
        known = next((place for place, each in enumerate(self.end) if each.id == self.known_id), len(self.end) - 2)
        return [read_for_graph(message) for message in self.end[known + 1 :]]

    def list_all(self) -> list[BaseMessage]:
        """Return all messages, for a graph that takes them anew each time. Raises `TakesTooLongError`."""
        with self.store.database.begin_read(seconds=MAX_PATH_SECONDS):
            return [read_for_graph(message) for message in self.store.list_messages(self.thread_id, agent=MAIN)]

    def list_last(self) -> list[BaseMessage]:
        """Return the last message alone, for a graph without a channel of messages."""
        return [read_for_graph(message) for message in self.end[-1:]]

    def read_inputs(self) -> dict[str, Any]:
        """Return the further inputs that the last message brings."""
        mark = InputsMark.of(self.end[-1]) if self.end else None
        return dict(mark.values) if mark else {}

    def has_answer(self) -> bool:
        """Return whether another message than the user's has come to stand last since the run began.

        Raises `UnfitMessageError` for messages of a state that the saver could not keep as the conversation's.
        """
        known_id = self.saver.find_last_message(self.thread_id)
        # A text that was cut off stays until the graph has a new state.
        turn = (each for each in load_last_turn(self.store, self.thread_id) if each.status is not MessageStatus.PARTIAL)
        last = next((each for each in reversed(list(turn)) if each.agent == MAIN), None)
        if known_id is not None and known_id != (last.id if last else None):
            raise UnfitMessageError
        return last is None or last.type != "human" or last.id != self.head_id


def _read_end(store: Store, thread_id: str, known_id: str | None) -> list[Message]:
    """Read the main agent's messages from the known one on, or at least the last of them."""
    count = _FIRST_READ_MESSAGES
    while True:
        path = store.list_messages(thread_id, last=count)
        end = [message for message in path if message.agent == MAIN]
        is_found = any(message.id == known_id for message in end) if known_id else bool(end)
        if is_found or len(path) < count:
            return end
        count *= 4
