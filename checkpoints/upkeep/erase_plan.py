"""The counts of rows removed by an erasure."""

from dataclasses import dataclass, fields

from ..values.text import pluralize


@dataclass(frozen=True, slots=True)
class ErasePlan:
    """The counts of rows to erase.

    `threads` are the titles of completely erased conversations. `changes` can no longer be undone or redone. `files` are
    named by no message afterwards. `tags` are removed tags. Nothing shows the errors and requests of `runs` any more.
    """

    threads: tuple[str, ...]
    messages: int
    checkpoints: int
    branches: int
    changes: int
    files: int = 0
    tags: int = 0
    states: int = 0
    runs: int = 0

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
