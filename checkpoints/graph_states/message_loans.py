"""Copies of a conversation's messages that its runs have one after the other: each run gets thousands of old ones.

A run may change its messages in place, and may keep any of them or a part of one. So a copy is handed out again only if
nobody else refers to it or to an object in it, and if it still equals the original: whoever gets it cannot tell it from a
new one. Each question to all messages is a loop in C.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain, count
from operator import is_

from langchain_core.messages import BaseMessage

from .copied_parts import CopiedParts
from .message_copies import count_equal, duplicate_message

_MAX_LOANS = 2  # of a conversation: its program may keep the result of the last run
_MAX_LENT_MESSAGES = 20_000  # of all conversations


def count_leading(these: Sequence[object], those: Sequence[object]) -> int:
    """Count the first objects that are the same ones."""
    if all(map(is_, these, those)):
        return min(len(these), len(those))
    return list(map(is_, these, those)).index(False)


class Loan:
    """Copies of the first messages of a path."""

    def __init__(self) -> None:
        self.number: int | None = None  # of the run or reader that has the copies
        self._originals: list[BaseMessage] = []
        self._parts = CopiedParts()

    def __len__(self) -> int:
        return len(self._originals)

    def cut_to(self, messages: Sequence[BaseMessage]) -> None:
        """Forget the copies of other messages than these."""
        length = count_leading(self._originals, messages)
        if length < len(self):
            del self._originals[length:]
            self._parts.cut_to(length)

    def find_unusable(self) -> set[int]:
        """Return the copies that somebody refers to, or that have changed, or of which that cannot be said."""
        return self._parts.find_held() | self._parts.find_changed() | self._parts.opaque

    def hand_out(self, messages: Sequence[BaseMessage], unusable: set[int]) -> list[BaseMessage]:
        """Return copies of all these messages, which begin with those that this loan is of. The unusable ones are new."""
        for place in unusable:
            self._parts.replace(place, duplicate_message(self._originals[place]))
        for message in messages[len(self) :]:
            self._originals.append(message)
            self._parts.append(duplicate_message(message))
        return list(self._parts.copies)

    def is_of(self, values: Sequence[object]) -> bool:
        """Return whether the values begin with a copy of this loan."""
        return bool(values and self._parts.copies and values[0] is self._parts.copies[0])

    def compare_copies(
        self, known: Sequence[BaseMessage], values: Sequence[object], untouched: int | None = None
    ) -> tuple[int, int]:
        """Return how many of the values are copies of these messages, and how many of the first of them have not changed.

        Copies that were lent as `untouched` are not looked into.
        """
        if not self.is_of(values):
            return 0, 0
        copies = self._parts.copies
        length = min(count_leading(self._originals, known), count_leading(copies, values))
        if self.number is not None and self.number == untouched:
            return length, length
        if self._parts.has_changed():
            return length, count_equal(self._originals, copies[:length])
        for place in sorted(self._parts.opaque):
            if place < length and not count_equal(self._originals[place : place + 1], copies[place : place + 1]):
                return length, place
        return length, length


class MessageLoans:
    """The loans of each conversation."""

    def __init__(self) -> None:
        self._loans: OrderedDict[str, list[Loan]] = OrderedDict()
        self._numbers = count(1)
        self._lock = threading.Lock()

    def lend(self, thread_id: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return copies of messages that nobody else has."""
        with self._lock:
            loans = self._loans.setdefault(thread_id, [])
            self._loans.move_to_end(thread_id)
            loan, unusable = _choose_loan(loans, messages)
            loan.number = next(self._numbers)
            lent = loan.hand_out(messages, unusable)
            loans.append(loan)  # the one that was lent last is asked last
            self._forget_oldest()
        return lent

    def find_number(self, thread_id: str, lent: Sequence[object]) -> int | None:
        """Return the number of the loan that these messages are of."""
        with self._lock:
            return next((loan.number for loan in self._loans.get(thread_id, []) if loan.is_of(lent)), None)

    def count_equal(
        self, thread_id: str, known: Sequence[BaseMessage], values: Sequence[object], untouched: int | None = None
    ) -> int:
        """Count the first values that are messages equal to the known ones in all fields.

        Nobody has changed the messages that were lent with the number `untouched`.
        """
        with self._lock:
            found = [loan.compare_copies(known, values, untouched) for loan in self._loans.get(thread_id, [])]
        length, unchanged = max(found, default=(0, 0))
        return unchanged if unchanged < length else length + count_equal(known[length:], values[length:])

    def _forget_oldest(self) -> None:
        count = sum(map(len, chain.from_iterable(self._loans.values())))
        while count > _MAX_LENT_MESSAGES and len(self._loans) > 1:
            _, loans = self._loans.popitem(last=False)
            count -= sum(map(len, loans))


def _choose_loan(loans: list[Loan], messages: Sequence[BaseMessage]) -> tuple[Loan, set[int]]:
    """Take the loan of which most can be used, or a new one. Return it with its unusable messages."""
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
