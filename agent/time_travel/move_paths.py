"""The messages around a move: a memory as a list, or a conversation in the store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from agent.context.path_tokens import sum_path_tokens
from agent.context.tokens import sum_stored_tokens
from agent.marks import EXCERPT_KEY, MOVE_KEY, SUMMARY_KEY
from checkpoints import Message, Store

# The newest messages, in which sources are searched.
MAX_OUTSIDE_MESSAGES = 500
_PORTION_MESSAGES = 50


class MovePath(Protocol):
    """Messages, each with its position among them as depth."""

    @property
    def length(self) -> int: ...

    def get(self, depth: int) -> Message:
        """Return the message at a depth below the length."""
        ...

    def iterate_back(self, before: int) -> Iterator[Message]:
        """Yield the messages below a depth, the newest first."""
        ...

    def list_from(self, first: int) -> Sequence[Message]:
        """Return the messages from a depth on."""
        ...

    def list_outside(self, before: int, *, has_origins: bool) -> tuple[Sequence[Message], bool]:
        """Return all messages from outside below a depth, in order, and whether the list is complete.

        The list may have other messages, too. With `has_origins`, messages without a run count as from outside.
        """
        ...

    def find_answer(self, agent: str, n: int, before: int) -> Message | None:
        """Return the n-th answer of an agent below a depth, from 1 on or from -1 back."""
        ...

    def find_question(self, agent: str, before: int) -> int | None:
        """Return the depth of the last question to an agent below a depth."""
        ...

    def count_answers(self, agent: str, before: int) -> int: ...

    def sum_tokens(self, agent: str, first: int, before: int) -> int:
        """Estimate the tokens of an agent's messages between two depths."""
        ...


@dataclass(frozen=True)
class ListedPath:
    """Messages that are all in memory."""

    messages: Sequence[Message]

    @property
    def length(self) -> int:
        return len(self.messages)

    def get(self, depth: int) -> Message:
        return self.messages[depth]

    def iterate_back(self, before: int) -> Iterator[Message]:
        return reversed(self.messages[:before])

    def list_from(self, first: int) -> Sequence[Message]:
        return self.messages[first:]

    def list_outside(self, before: int, *, has_origins: bool) -> tuple[Sequence[Message], bool]:
        del has_origins
        return self.messages[:before], True

    def find_answer(self, agent: str, n: int, before: int) -> Message | None:
        answers = self._list_answers(agent, before)
        return answers[n - 1 if n > 0 else n] if abs(n) <= len(answers) else None

    def find_question(self, agent: str, before: int) -> int | None:
        newest = self.iterate_back(before)
        return next((message.depth for message in newest if message.type == "human" and message.agent == agent), None)

    def count_answers(self, agent: str, before: int) -> int:
        return len(self._list_answers(agent, before))

    def sum_tokens(self, agent: str, first: int, before: int) -> int:
        return sum_stored_tokens(self.messages[first:before], agent)

    def _list_answers(self, agent: str, before: int) -> list[Message]:
        return [message for message in self.messages[:before] if message.agent == agent and is_answer(message)]


@dataclass(frozen=True)
class StoredPath:
    """The current path of a conversation. Only needed messages are read. Every method blocks."""

    store: Store
    thread_id: str

    @cached_property
    def length(self) -> int:
        return self.store.count_messages(self.thread_id)

    def get(self, depth: int) -> Message:
        return self.store.list_messages(self.thread_id, last=1, before=depth + 1)[0]

    def iterate_back(self, before: int) -> Iterator[Message]:
        while before > 0:
            yield from reversed(self.store.list_messages(self.thread_id, last=_PORTION_MESSAGES, before=before))
            before -= _PORTION_MESSAGES

    def list_from(self, first: int) -> Sequence[Message]:
        return self.store.list_messages(self.thread_id, last=self.length - first) if first < self.length else []

    def list_outside(self, before: int, *, has_origins: bool) -> tuple[Sequence[Message], bool]:
        return self.store.list_outside_messages(
            self.thread_id,
            before=before,
            limit=MAX_OUTSIDE_MESSAGES,
            marks=(MOVE_KEY, SUMMARY_KEY, EXCERPT_KEY),
            has_origins=has_origins,
        )

    def find_answer(self, agent: str, n: int, before: int) -> Message | None:
        return self.store.find_answer(self.thread_id, agent, n, before=before)

    def find_question(self, agent: str, before: int) -> int | None:
        return self.store.find_question(self.thread_id, agent, before=before)

    def count_answers(self, agent: str, before: int) -> int:
        return self.store.count_answers(self.thread_id, agent, before=before)

    def sum_tokens(self, agent: str, first: int, before: int) -> int:
        return sum_path_tokens(self.store, self.thread_id, agent, first, before)


def is_answer(message: Message) -> bool:
    """Return whether a message is a final answer, without tool calls."""
    data = message.body["data"]
    return message.type == "ai" and not (data.get("tool_calls") or data.get("invalid_tool_calls"))
