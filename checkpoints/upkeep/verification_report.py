"""The result of a verification: the number of checked rows, and the damage, in words."""

from dataclasses import dataclass

from ..values.text import pluralize


@dataclass(frozen=True, slots=True)
class Damage:
    """A defect. `number` is a message's position on its path, counted from 1. None means no message is concerned."""

    problem: str
    thread_id: str = ""
    title: str = ""
    message_id: str | None = None
    number: int | None = None

    def __str__(self) -> str:
        where = f"conversation {self.title!r} ({self.thread_id}): " if self.thread_id else ""
        which = f"message {self.number:,} ({self.message_id}) " if self.number is not None else ""
        return f"{where}{which}{self.problem}"


@dataclass(frozen=True, slots=True)
class RowCounts:
    threads: int
    messages: int
    checkpoints: int
    operations: int
    files: int
    states: int = 0

    def __str__(self) -> str:
        nouns = ((self.threads, "conversation"), (self.messages, "message"), (self.checkpoints, "checkpoint"))
        attached = ((self.files, "attached file"),) if self.files else ()
        states = ((self.states, "state"),) if self.states else ()
        counted = (*nouns, (self.operations, "change"), *attached, *states)
        return ", ".join(pluralize(number, noun) for number, noun in counted)


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The counts of checked rows, and the damage found. The server will index `queued` messages and checkpoints."""

    counts: RowCounts
    damages: tuple[Damage, ...]
    queued: int = 0
    has_compared_index: bool = True

    def __str__(self) -> str:
        result = f"{self.counts}: {pluralize(len(self.damages), 'damage') if self.damages else 'all whole'}."
        if not self.has_compared_index:
            return f"{result} The search's index was not compared with them."
        queued = pluralize(self.queued, "message or checkpoint", "messages or checkpoints")
        return f"{result} The server will index {queued} for the search." if self.queued else result
