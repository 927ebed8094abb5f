"""The rows that an erasure takes away, counted."""

from dataclasses import dataclass, fields

from ..values.text import pluralize


@dataclass(frozen=True, slots=True)
class ErasePlan:
    """The rows to be erased, counted. `threads` are the titles of the conversations that are erased completely."""

    threads: tuple[str, ...]
    messages: int
    checkpoints: int
    branches: int
    changes: int  # that can no longer be undone or redone
    files: int = 0  # attached files that no message names afterwards
    tags: int = 0  # removed ones
    states: int = 0  # of graphs
    runs: int = 0  # whose errors and requests nothing shows any more

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

    def __str__(self) -> str:
        nouns = (
            (self.messages, "message"),
            (self.checkpoints, "checkpoint"),
            (self.files, "attached file"),
            (self.tags, "removed tag"),
            (self.states, "state"),
        )
        parts = [pluralize(number, noun) for number, noun in nouns if number]
        parts += [pluralize(self.branches, "deleted branch", "deleted branches")] if self.branches else []
        parts += [f"the details of {pluralize(self.runs, 'run')}"] if self.runs else []
        parts += [f"the undo of {pluralize(self.changes, 'change')}"] if self.changes else []
        named = [f"the conversation {title!r}" for title in self.threads]
        return ", ".join([*named, *parts]) or "nothing"
