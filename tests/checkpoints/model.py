"""What a store should be, in plain Python: the oracle that the tests hold it to.

A message is named by the path to it, the texts from the root on: every text is said once only, so that equal paths are the
same message. What can move are rows, as in the store, but each named by its kind and its number in the order of making.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from checkpoints import (
    UNTITLED,
    BranchNotFoundError,
    Caller,
    CheckpointNotFoundError,
    ConflictError,
    CurrentBranchError,
    MessageNotFoundError,
    NothingToSaveError,
    NothingToUndoError,
    OperationKind,
    RunActiveError,
    StateError,
    ThreadNotFoundError,
)
from checkpoints.values.operation import USER


class Said(NamedTuple):
    """One message. `calls` are the ids of the tools it calls, `answers` that of the call whose result it is."""

    text: str
    type: str = "human"
    calls: tuple[str, ...] = ()
    answers: str | None = None
    partial: bool = False


Path = tuple[Said, ...]
Row = tuple[str, int]  # ("branch", 2) is the third branch that the conversation made
Columns = dict[str, Any]
THREAD: Row = ("thread", 0)
ABANDONING = (OperationKind.EDIT, OperationKind.RETRY, OperationKind.REPLACE, OperationKind.SWITCH)
ORDINARY = [kind for kind in OperationKind if kind not in (OperationKind.UNDO, OperationKind.REDO)]


@dataclass(eq=False)
class Entry:
    """An operation: for each row the columns before and after."""

    kind: OperationKind
    actor: str
    undo_group: str | None
    changes: dict[Row, tuple[Columns, Columns]]
    took: list["Entry"] = field(default_factory=list)  # of an undo or a redo
    undone: bool = False


@dataclass
class Run:
    id: str
    state: str = "running"
    draft: str = ""


@dataclass(frozen=True)
class Export:
    """What a document holds: the tree, branches and checkpoints that are reached, under the numbers they had."""

    source: "Conversation"
    title: str
    tree: tuple[Path, ...]
    branches: dict[int, Columns]
    checkpoints: dict[int, Columns]
    active: int


class Conversation:
    """One thread. Its methods are called as the store's, and refuse with the same errors."""

    def __init__(self, title: str = UNTITLED, *, deleted: bool = False) -> None:
        self.rows: dict[Row, Columns] = {
            THREAD: {"title": title, "branch": 0, "deleted": deleted},
            ("branch", 0): {"name": "main", "head": (), "deleted": False},
        }
        self.tree: dict[Path, None] = {}  # in the order of writing; nothing ever leaves it
        self.log: list[Entry] = []
        self.runs: list[Run] = []
        self.requests: dict[str, int] = {}  # the version that each made

    # what can be seen

    @property
    def thread(self) -> Columns:
        return self.rows[THREAD]

    @property
    def version(self) -> int:
        return len(self.log)

    @property
    def current(self) -> int:
        return int(self.thread["branch"])

    @property
    def head(self) -> Path:
        path: Path = self.rows["branch", self.current]["head"]
        return path

    @property
    def running(self) -> Run | None:
        return next((run for run in self.runs if run.state == "running"), None)

    def all(self, kind: str) -> dict[int, Columns]:
        """The rows of a kind, hidden ones included, by number."""
        return {number: columns for (of, number), columns in self.rows.items() if of == kind}

    def branches(self) -> dict[int, Columns]:
        return {number: branch for number, branch in self.all("branch").items() if not branch["deleted"]}

    def shown(self, branch: int | None = None) -> dict[int, Columns]:
        """The checkpoints that a branch (the current one) lists."""
        branch = self.current if branch is None else branch
        head = self.rows["branch", branch]["head"]
        return {
            number: each
            for number, each in self.all("checkpoint").items()
            if not each["deleted"] and (_holds(head, each["path"]) or (each["detached"] and each["branch"] == branch))
        }

    def listed(self) -> dict[int, Columns]:
        """The checkpoints that any branch lists."""
        return {number: each for branch in self.branches() for number, each in self.shown(branch).items()}

    def siblings(self) -> dict[int, list[str]]:
        """The texts of the alternatives at each place of the conversation that has several, by place."""
        ways = [head for _, head in self._ways()]
        found = {}
        for depth, message in enumerate(self.head):
            before = self.head[:depth]
            there = [path for path in self.tree if len(path) == depth + 1 and path[:depth] == before]
            reached = [p for p in there if p[-1] == message or any(_holds(way, p) for way in ways)]
            if len(reached) > 1:
                found[depth] = [path[-1].text for path in reached]
        return found

    def undoable(self) -> Entry | None:
        return next((entry for entry in reversed(self.log) if entry.kind in ORDINARY and not entry.undone), None)

    def redoable(self) -> Entry | None:
        """The newest undo that stands, if nothing but undoing and redoing was done since."""
        for entry in reversed(self.log):
            if entry.kind in ORDINARY:
                return None
            if entry.kind is OperationKind.UNDO and not entry.undone:
                return entry
        return None

    def leaving(self, checkpoint_id: int) -> tuple[int, int]:
        """How many messages and checkpoints a restore takes out: by doing it."""
        other, old = Conversation(), self.shown()
        other.rows = _copied(self.rows)
        other._restore(checkpoint_id, keep_future=False)
        shared = sum(1 for end in range(1, len(self.head) + 1) if self.head[:end] == other.head[:end])
        return len(self.head) - shared, len(set(old) - set(other.shown()))

    # the one way in which anything changes

    def change(
        self,
        kind: OperationKind,
        body: Callable[[], Any],
        caller: Caller = USER,
        *,
        while_running: bool = False,
        even_deleted: bool = False,
    ) -> Any:
        self.check(kind, caller, while_running=while_running, even_deleted=even_deleted)
        rows, tree = _copied(self.rows), dict(self.tree)
        try:
            result = body()
        except StateError:
            self.rows, self.tree = rows, tree
            raise
        self.log.append(Entry(kind, caller.actor, caller.undo_group, _difference(rows, self.rows)))
        if caller.request_id:
            self.requests[caller.request_id] = self.version
        return result

    def check(self, kind: OperationKind, caller: Caller, *, while_running: bool, even_deleted: bool = False) -> None:
        if self.thread["deleted"] and not even_deleted:
            raise ThreadNotFoundError("")
        seen = self.version if caller.expected_version is None else caller.expected_version
        if seen != self.version and (kind not in ORDINARY or self._moved_since(seen)):
            raise ConflictError("", 0, 0)
        if self.running and not while_running and self.running.id != caller.undo_group:
            raise RunActiveError("", "")

    def _moved_since(self, version: int) -> bool:
        for entry in self.log[version:]:
            if (entry.actor, entry.kind) == ("agent", OperationKind.APPEND):
                continue
            moved = entry.changes.get(("branch", self.current), ({}, {}))[1]
            if "head" in moved or "branch" in entry.changes.get(THREAD, ({}, {}))[1]:
                return True
        return False

    def undo(self, *, caller: Caller = USER) -> None:
        took: list[Entry] = []

        def body() -> None:
            newest = self.undoable()
            if newest is None:
                raise NothingToUndoError("undo")
            took.extend(self._group(newest))
            for entry in took:
                self._put(entry, 0)

        self.change(OperationKind.UNDO, body, caller, even_deleted=True)
        self._take(took, undone=True)

    def redo(self, *, caller: Caller = USER) -> None:
        took: list[Entry] = []

        def body() -> None:
            undone = self.redoable()
            if undone is None:
                raise NothingToUndoError("redo")
            took.append(undone)
            self._put(undone, 0)

        self.change(OperationKind.REDO, body, caller, even_deleted=True)
        self._take(took[0].took, undone=False)
        took[0].undone = True

    def _take(self, entries: list[Entry], *, undone: bool) -> None:
        self.log[-1].took = entries
        for entry in entries:
            entry.undone = undone

    def _put(self, entry: Entry, side: int) -> None:
        for row, sides in entry.changes.items():
            self.rows[row].update(sides[side])

    def _group(self, newest: Entry) -> list[Entry]:
        """What is undone together with it, the newest first: its group, and what was done since to the same rows."""
        if newest.undo_group is None:
            return [newest]
        standing = [entry for entry in self.log if entry.kind in ORDINARY and not entry.undone]
        first = next(index for index, entry in enumerate(standing) if entry.undo_group == newest.undo_group)
        taken: list[Entry] = []
        for entry in standing[first:]:
            touched = {row for each in taken for row in each.changes}
            if entry.undo_group == newest.undo_group or touched & set(entry.changes):
                taken.append(entry)
        return taken[::-1]

    # the changes

    def append(
        self, messages: Sequence[Said], *, after: Path | str | None = "(head)", title: str = "", caller: Caller = USER
    ) -> None:
        at_head = isinstance(after, str)
        kind = _append_kind(at_head=at_head, is_empty=not messages)
        self.change(kind, lambda: self._append(messages, self.head if at_head else after, title), caller)

    def _append(self, messages: Sequence[Said], after: Any, title: str = "") -> None:
        if title and self.thread["title"] == UNTITLED:
            self.thread["title"] = title
        self._move_head(self._add(after or (), messages))

    def save(
        self,
        *,
        name: str | None = None,
        description: str = "",
        extra: Columns | None = None,
        keep: int | None = None,
        new: Sequence[Said] = (),
        time: Any = None,
        caller: Caller = USER,
    ) -> None:
        def body() -> None:
            if keep is not None and (new or keep != len(self.head)):
                self._leave_for(self._add(self.head[:keep], new))
            if not self.head:
                raise NothingToSaveError
            self._bookmark(
                name=name or self._free_name(),
                description=description,
                pinned=False,
                extra=extra or {},
                created_by=caller.actor,
                time=time,
                path=self.head,
                branch=self.current,
                detached=False,
            )

        self.change(OperationKind.SAVE, body, caller, while_running=keep is None)

    def restore(self, checkpoint_id: int, *, keep_future: bool = False, caller: Caller = USER) -> None:
        self.change(OperationKind.RESTORE, lambda: self._restore(checkpoint_id, keep_future), caller)

    def _restore(self, number: int, keep_future: bool) -> None:
        target = self._shown(number)
        future = self._branch(f"Before restoring {target['name']}", self.head) if keep_future else None
        self._let_go(number, future)
        self._move_head(target["path"])

    def switch(self, branch_id: int, *, caller: Caller = USER) -> None:
        self.change(OperationKind.SWITCH, lambda: self.thread.update(branch=self._standing(branch_id)), caller)

    def fork(self, message_id: Path | None, *, name: str = "", caller: Caller = USER) -> None:
        body = lambda: self.thread.update(branch=self._branch(name, message_id or ()))  # noqa: E731
        self.change(OperationKind.FORK, body, caller)

    def fork_thread(self, message_id: Path | None, *, title: str = "", caller: Caller = USER) -> "Conversation":
        if self.thread["deleted"]:
            raise ThreadNotFoundError("")
        path = message_id or ()
        made = Conversation(title or f"Branch of {self.thread['title']}", deleted=True)
        shown = [c for c in self.all("checkpoint").values() if not c["deleted"] and _holds(path, c["path"])]

        def body() -> None:
            made._move_head(made._add((), path))
            for each in shown:
                made._bookmark(**{**each, "branch": 0, "detached": False})
            made.thread["deleted"] = False

        made.change(OperationKind.FORK, body, Caller(actor=caller.actor), even_deleted=True)
        return made

    def choose(self, message_id: Path, *, caller: Caller = USER) -> None:
        def body() -> None:
            for branch, head in self._ways():
                if _holds(head, message_id):
                    if branch is None:
                        self._move_head(head)
                    else:
                        self.thread["branch"] = branch
                    return
            raise MessageNotFoundError("")

        self.change(OperationKind.SWITCH, body, caller)

    def replace(self, message_id: Path, new: Said, *, drop: Collection[Path] = (), caller: Caller = USER) -> None:
        def body() -> None:
            if not _holds(self.head, message_id):
                raise MessageNotFoundError("")
            place = len(message_id) - 1
            following = self.head[place + 1 :]
            kept = [said for index, said in enumerate(following) if self.head[: place + 2 + index] not in drop]
            stays = _standing(self.head[place], new, following, kept)
            self._leave_for(self._add(self.head[:place], [new, *stays]))

        self.change(OperationKind.REPLACE, body, caller)

    def rename_branch(self, branch_id: int, name: str, *, caller: Caller = USER) -> None:
        def body() -> None:
            branch = self.rows["branch", self._standing(branch_id)]
            branch["name"] = name.strip() or branch["name"]

        self.change(OperationKind.RENAME, body, caller, while_running=True)

    def delete_branch(self, branch_id: int, *, caller: Caller = USER) -> None:
        def body() -> None:
            if self._standing(branch_id) == self.current:
                raise CurrentBranchError
            self.rows["branch", branch_id]["deleted"] = True

        self.change(OperationKind.DELETE, body, caller)

    def prune_branches(self, *, caller: Caller = USER) -> None:
        def body() -> None:
            for number, branch in self.branches().items():
                branch["deleted"] = number != self.current

        self.change(OperationKind.DELETE, body, caller)

    def delete_checkpoint(self, checkpoint_id: int, *, caller: Caller = USER) -> None:
        body = lambda: self._listed(checkpoint_id).update(deleted=True)  # noqa: E731
        self.change(OperationKind.DELETE, body, caller, while_running=True)

    def change_checkpoint(
        self,
        checkpoint_id: int,
        *,
        name: str | None = None,
        description: str | None = None,
        pinned: bool | None = None,
        caller: Caller = USER,
    ) -> None:
        given = {"name": (name or "").strip() or None, "description": description, "pinned": pinned}
        after = {column: value for column, value in given.items() if value is not None}
        kind = OperationKind.RENAME if pinned is None else OperationKind.PIN
        self.change(kind, lambda: self._listed(checkpoint_id).update(after), caller, while_running=True)

    def clear_checkpoints(self, *, caller: Caller = USER) -> None:
        self.change(OperationKind.CLEAR, self._hide_shown, caller, while_running=True)

    def clear(self, *, caller: Caller = USER) -> None:
        def body() -> None:
            self._let_go(-1, None)
            self._move_head(())

        self.change(OperationKind.CLEAR, body, caller)

    def rename_thread(self, title: str, *, caller: Caller = USER) -> None:
        self.change(OperationKind.RENAME, lambda: self.thread.update(title=title), caller, while_running=True)

    def delete_thread(self, *, caller: Caller = USER) -> None:
        self.change(OperationKind.DELETE, lambda: self.thread.update(deleted=True), caller)

    # transfer

    def export(self) -> Export:
        branches = _copied(self.branches())
        shown = _copied(self.listed())
        for each in shown.values():
            if each["branch"] not in branches:  # it was deleted: the path of another one shows it
                each.update(branch=self.current, detached=False)
        ends = [b["head"] for b in branches.values()] + [c["path"] for c in shown.values()]
        tree = tuple(path for path in self.tree if any(_holds(end, path) for end in ends))
        return Export(self, self.thread["title"], tree, branches, dict(sorted(shown.items())), self.current)

    def import_into(self, document: Export, *, caller: Caller = USER) -> None:
        self.change(OperationKind.IMPORT, lambda: self._fill(document), caller)

    def merge(self, document: Export, *, caller: Caller = USER) -> bool:
        """Whether there was anything new."""
        before = (dict(self.tree), _copied(self.rows))
        self.change(OperationKind.IMPORT, lambda: self._bring(document), caller)
        if before == (self.tree, self.rows):
            self.log.pop()
            self.requests.pop(caller.request_id or "", None)
            return False
        return True

    def _bring(self, document: Export) -> None:
        numbers = self._bring_branches(document)
        shown = self.listed()
        alike = [(each["path"], each["time"], each["name"]) for each in shown.values()]
        for path in document.tree:
            self.tree.setdefault(path)
        for number, each in document.checkpoints.items():
            branch = numbers[each["branch"]]
            if document.source is not self:
                if (each["path"], each["time"], each["name"]) not in alike:
                    self._bookmark(**{**each, "branch": branch})
            elif number not in shown:
                self.rows["checkpoint", number].update(deleted=False, branch=branch, detached=each["detached"])

    def _bring_branches(self, document: Export) -> dict[int, int]:
        """A branch is there already under its name at its place, or gone on from there, or at its place; in that order.

        An empty current branch becomes the document's current one before that.
        """
        own = self.branches()
        taken, numbers = {branch["name"] for branch in own.values()}, {}
        active_head = document.branches[document.active]["head"]
        if active_head and not own[self.current]["head"]:
            numbers[document.active] = self.current
            self._move_head(active_head)
        for rank in range(3):
            for number, branch in document.branches.items():
                free = [n for n in own if n not in numbers.values() and rank in _alike(branch, own[n])]
                if number not in numbers and free:
                    numbers[number] = free[0]
        for number, branch in document.branches.items():
            if number not in numbers:
                name = branch["name"]
                new = next(new for new in [name, *(f"{name} ({n})" for n in range(2, 99))] if new not in taken)
                taken.add(new)
                numbers[number] = self._branch(new, branch["head"])
        return numbers

    @staticmethod
    def import_thread(document: Export, *, caller: Caller = USER) -> "Conversation":
        made = Conversation(document.title, deleted=True)

        def body() -> None:
            made._fill(document)
            made.thread["deleted"] = False

        made.change(OperationKind.IMPORT, body, Caller(actor=caller.actor), even_deleted=True)
        return made

    def _fill(self, document: Export) -> None:
        for path in document.tree:
            self.tree.setdefault(path)
        numbers = self._fill_branches(document)
        self._move_head(document.branches[document.active]["head"])
        self._hide_shown()
        for number, each in document.checkpoints.items():
            branch = numbers[each["branch"]]
            if document.source is self:
                self.rows["checkpoint", number].update({**each, "branch": branch})
            else:
                self._bookmark(**{**each, "branch": branch})

    def _fill_branches(self, document: Export) -> dict[int, int]:
        """The number here of each of the document's branches."""
        own = {number: b for number, b in self.branches().items() if number != self.current}
        self.rows["branch", self.current]["name"] = document.branches[document.active]["name"]
        numbers = {document.active: self.current}
        for number, branch in document.branches.items():
            if number != document.active:
                same = [n for n, b in own.items() if (b["name"], b["head"]) == (branch["name"], branch["head"])]
                numbers[number] = same[0] if same else self._branch(branch["name"], branch["head"])
                own.pop(numbers[number], None)
        for branch in own.values():
            branch["deleted"] = True
        return numbers

    # runs

    def begin(
        self,
        message: Said | None,
        *,
        run_id: str,
        after: Path | str | None = "(head)",
        title: str = "",
        caller: Caller = USER,
    ) -> None:
        at_head = isinstance(after, str)
        kind = _append_kind(at_head=at_head, is_empty=message is None)
        self.check(kind, caller, while_running=False)
        if message is not None or not at_head:
            messages = [message] if message else []
            caller = Caller(caller.actor, undo_group=run_id)
            self.change(kind, lambda: self._append(messages, self.head if at_head else after, title), caller)
        self.runs.append(Run(run_id))

    def say(self, run: Run, messages: Sequence[Said]) -> None:
        """What the agent writes."""
        by = Caller(actor="agent", undo_group=run.id)
        self.change(OperationKind.APPEND, lambda: self._append(messages, self.head), by, even_deleted=True)
        run.draft = ""

    def end(self, run: Run, state: str, last: Sequence[Said] = ()) -> None:
        if last:
            self.say(run, last)
        run.state, run.draft = state, ""

    # the steps that changes are made of

    def _add(self, parent: Path, messages: Sequence[Said]) -> Path:
        for message in messages:
            parent = (*parent, message)
            self.tree[parent] = None
        return parent

    def _move_head(self, path: Path) -> None:
        self.rows["branch", self.current]["head"] = path

    def _leave_for(self, path: Path) -> None:
        """What was shown stays shown."""
        shown = self.shown()
        self._move_head(path)
        for each in shown.values():
            if not _holds(path, each["path"]) and not each["detached"]:
                each.update(detached=True, branch=self.current)

    def _let_go(self, since: int, future: int | None) -> None:
        for number, each in self.all("checkpoint").items():
            if number > since and not each["deleted"] and each["detached"] and each["branch"] == self.current:
                each.update({"detached": False} if future is None else {"branch": future})

    def _branch(self, name: str, head: Path) -> int:
        number = len(self.all("branch"))
        self.rows["branch", number] = {"name": name.strip() or f"Branch {number + 1}", "head": head, "deleted": False}
        return number

    def _bookmark(self, **columns: Any) -> None:
        self.rows["checkpoint", len(self.all("checkpoint"))] = {**columns, "deleted": False}

    def _free_name(self) -> str:
        number, taken = len(self.all("checkpoint")) + 1, {each["name"] for each in self.all("checkpoint").values()}
        while f"Checkpoint {number}" in taken:
            number += 1
        return f"Checkpoint {number}"

    def _hide_shown(self) -> None:
        for each in self.shown().values():
            each["deleted"] = True

    def _shown(self, number: int) -> Columns:
        if number not in self.shown():
            raise CheckpointNotFoundError("")
        return self.rows["checkpoint", number]

    def _listed(self, number: int) -> Columns:
        if number not in self.listed():
            raise CheckpointNotFoundError("")
        return self.rows["checkpoint", number]

    def _standing(self, number: int) -> int:
        if number not in self.branches():
            raise BranchNotFoundError("")
        return number

    def _ways(self) -> Iterator[tuple[int | None, Path]]:
        """Where the branches stand, and then what was left for something else, the newest first."""
        yield from ((number, branch["head"]) for number, branch in self.branches().items() if branch["head"])
        for entry in reversed(self.log):
            if entry.kind in ABANDONING and not entry.undone:
                for (kind, _), (before, _) in entry.changes.items():
                    if kind == "branch" and before.get("head"):
                        yield None, before["head"]


def _append_kind(*, at_head: bool, is_empty: bool) -> OperationKind:
    if at_head:
        return OperationKind.APPEND
    return OperationKind.RETRY if is_empty else OperationKind.EDIT


def _holds(path: Path, other: Path) -> bool:
    """Whether the message that `other` leads to stands on `path`."""
    return bool(other) and path[: len(other)] == other


def _copied(rows: dict[Any, Columns]) -> dict[Any, Columns]:
    return {row: dict(columns) for row, columns in rows.items()}


def _difference(before: dict[Row, Columns], after: dict[Row, Columns]) -> dict[Row, tuple[Columns, Columns]]:
    """By row: the columns that differ, before and after. A row that was made was hidden before."""
    found = {}
    for row, columns in after.items():
        old = before.get(row, {**columns, "deleted": True})
        if names := [name for name in columns if columns[name] != old[name]]:
            found[row] = ({name: old[name] for name in names}, {name: columns[name] for name in names})
    return found


def _standing(replaced: Said, new: Said, following: Sequence[Said], kept: list[Said]) -> list[Said]:
    """What stands of `kept`: no result whose call is gone, no call of which a result is gone."""
    while True:
        gone = [said for said in following if said not in kept]
        unasked = {call for said in [replaced, *gone] for call in said.calls} - set(new.calls)
        unanswered = {said.answers for said in gone if said.answers}
        stays = [said for said in kept if said.answers not in unasked and not unanswered & set(said.calls)]
        if stays == kept:
            return kept
        kept = stays


def _alike(branch: dict[str, Any], own: dict[str, Any]) -> set[int]:
    """In which of the ways a document's branch and one here are the same: name and place, gone on, place."""
    head = branch["head"]
    is_known = re.fullmatch(re.escape(branch["name"]) + r"( \(\d+\))?", own["name"]) is not None
    is_there, is_ahead = own["head"] == head, own["head"][: len(head)] == head
    return {rank for rank, holds in enumerate((is_known and is_there, is_known and is_ahead, is_there)) if holds}
