"""Copies of a conversation's messages that its runs have one after the other: each run gets thousands of old ones.

A run may change its messages in place, and may keep any of them or a part of one. So a copy is handed out again only if
nobody else refers to it or to an object in it, and if it still equals the original: whoever gets it cannot tell it from a
new one. Each question to all messages is a loop in C.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, is_
from sys import getrefcount
from typing import Any

from langchain_core.messages import BaseMessage

from .message_copies import ATOMS, count_equal, duplicate_message

_MAX_LOANS = 2  # of a conversation: its program may keep the result of the last run
_MAX_LENT_MESSAGES = 20_000  # of all conversations
_CONTENTS: tuple[Callable[[BaseMessage], Any], ...] = tuple(
    map(attrgetter, ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__"))
)
_NEVER = None  # among the parts of a message that is copied anew each time: everything refers to it


def _count_references(objects: Sequence[object]) -> list[int]:
    return list(map(getrefcount, objects))


_IN_ONE_LIST = _count_references([object()])[0]
_IN_TWO_PLACES = _IN_ONE_LIST + 1


def count_leading(these: Sequence[object], those: Sequence[object]) -> int:
    """Count the first objects that are the same ones."""
    if all(map(is_, these, those)):
        return min(len(these), len(those))
    return list(map(is_, these, those)).index(False)


class Loan:
    """Copies of the first messages of a path, with all objects in them that can change."""

    def __init__(self) -> None:
        self._originals: list[BaseMessage] = []
        self._copies: list[BaseMessage] = []
        self._parts: list[object] = []
        self._ends: list[int] = []  # of each copy's parts
        self._contents: tuple[list[Any], ...] = ([], [], [])  # of the originals, as `_CONTENTS` reads them

    def __len__(self) -> int:
        return len(self._copies)

    def cut_to(self, messages: Sequence[BaseMessage]) -> None:
        """Forget the copies of other messages than these."""
        length = count_leading(self._originals, messages)
        columns: list[list[Any]] = [self._originals, self._copies, self._ends, *self._contents]
        for column in columns:
            del column[length:]
        del self._parts[self._ends[-1] if self._ends else 0 :]

    def find_unusable(self) -> set[int]:
        """Return the copies that somebody refers to, or that have changed."""
        found = set(_find_others(_count_references(self._copies), _IN_ONE_LIST))
        found.update(bisect_right(self._ends, part) for part in _find_others(_count_references(self._parts), _IN_TWO_PLACES))
        for read, expected in zip(_CONTENTS, self._contents, strict=True):
            if (contents := list(map(read, self._copies))) != expected:
                found.update(place for place, content in enumerate(contents) if content != expected[place])
        return found

    def hand_out(self, messages: Sequence[BaseMessage], unusable: set[int]) -> list[BaseMessage]:
        """Return copies of all these messages, which begin with those that this loan is of. The unusable ones are new."""
        for place in unusable:
            self._copies[place] = duplicate_message(self._originals[place])
            start = self._ends[place - 1] if place else 0
            self._parts[start : self._ends[place]] = _list_mutables(self._copies[place])
        for message in messages[len(self) :]:
            self._originals.append(message)
            for read, expected in zip(_CONTENTS, self._contents, strict=True):
                expected.append(read(message))
            self._copies.append(duplicate_message(message))
            self._parts += _list_mutables(self._copies[-1])
            self._ends.append(len(self._parts))
        return list(self._copies)

    def compare_copies(self, known: Sequence[BaseMessage], values: Sequence[object]) -> tuple[int, int]:
        """Return how many of the values are copies of these messages, and how many of the first of them have not changed."""
        if not values or not self._copies or values[0] is not self._copies[0]:
            return 0, 0
        length = min(count_leading(self._originals, known), count_leading(self._copies, values))
        copies = self._copies[:length]
        columns = zip(_CONTENTS[:2], self._contents, strict=False)
        if all(list(map(read, copies)) == expected[:length] for read, expected in columns):
            return length, length
        return length, count_equal(self._originals, copies)


def _find_others(counts: Sequence[int], usual: int) -> list[int]:
    if counts == [usual] * len(counts):
        return []
    return [place for place, count in enumerate(counts) if count != usual]


def _list_mutables(message: BaseMessage) -> list[object]:
    """Return all objects in a message that can change. Its structure decides their number."""
    extra = message.__pydantic_extra__
    holders: list[Any] = [message.__dict__, *([] if extra is None else [extra])]
    parts: list[object] = [message.__pydantic_fields_set__, *holders]
    if message.__pydantic_private__ is not None:
        parts.append(_NEVER)
    for holder in holders:  # it grows on the way
        for value in holder.values() if type(holder) is dict else holder:
            if type(value) is dict or type(value) is list:
                holders.append(value)
                parts.append(value)
            elif type(value) not in ATOMS:
                parts.append(_NEVER)
    return parts


class MessageLoans:
    """The loans of each conversation."""

    def __init__(self) -> None:
        self._loans: OrderedDict[str, list[Loan]] = OrderedDict()
        self._lock = threading.Lock()

    def lend(self, thread_id: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return copies of messages that nobody else has."""
        with self._lock:
            loans = self._loans.setdefault(thread_id, [])
            self._loans.move_to_end(thread_id)
            loan, unusable = _choose_loan(loans, messages)
            lent = loan.hand_out(messages, unusable)
            loans.append(loan)  # the one that was lent last is asked last
            self._forget_oldest()
        return lent

    def count_equal(self, thread_id: str, known: Sequence[BaseMessage], values: Sequence[object]) -> int:
        """Count the first values that are messages equal to the known ones in all fields."""
        with self._lock:
            found = [loan.compare_copies(known, values) for loan in self._loans.get(thread_id, [])]
        length, unchanged = max(found, default=(0, 0))
        return unchanged if unchanged < length else length + count_equal(known[length:], values[length:])

    def _forget_oldest(self) -> None:
        count = sum(map(len, chain.from_iterable(self._loans.values())))
        while count > _MAX_LENT_MESSAGES and len(self._loans) > 1:
            _, loans = self._loans.popitem(last=False)
            count -= sum(map(len, loans))


def _choose_loan(loans: list[Loan], messages: Sequence[BaseMessage]) -> tuple[Loan, set[int]]:
    """Take the loan of which most can be used, or a new one. Return it with what cannot be used of it."""
    best: tuple[Loan, set[int]] | None = None
    for loan in loans:
        loan.cut_to(messages)
        unusable = loan.find_unusable()
        if best is None or len(loan) - len(unusable) > len(best[0]) - len(best[1]):
            best = loan, unusable
        if 2 * len(unusable) <= len(loan):
            break
    if best is None or (2 * len(best[1]) > len(best[0]) and len(loans) < _MAX_LOANS):
        return Loan(), set()
    loans.remove(best[0])
    return best
