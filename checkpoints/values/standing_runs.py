"""Find the runs behind the current position of a conversation in its operations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .operation import Operation, OperationKind

# The usual number of operations since a conversation came to its state.
_USUAL_OPERATIONS = 50
# Marks, among a copy's checkpoints, the place where it begins.
HEAD = ""


@dataclass
class StandingRuns:
    """A search from the newest operation back, or from a saved checkpoint if `saved_id` is given.

    `ids` are the runs since the branch came to its state, newest first.
    """

    branch_id: str
    saved_id: str | None = None
    ids: list[str] = field(default_factory=list)
    _is_over: bool = False

    @classmethod
    def find(
        cls, list_last: Callable[[int], Sequence[Operation]], branch_id: str, saved_id: str | None = None
    ) -> tuple["StandingRuns", Sequence[Operation]]:
        """Search in as many operations as needed, and return these as well."""
        count = _USUAL_OPERATIONS
        while True:
            operations, found = list_last(count), cls(branch_id, saved_id)
            found._search(operations)
            if found._is_over or len(operations) < count:
                return found, operations
            count *= 10

    @classmethod
    def find_left(cls, operations: Sequence[Operation], branch_id: str, run_id: str) -> set[str]:
        """Return the runs that an undo or a restore had left behind when a run began. `operations` are all."""
        current_id, since, search = branch_id, len(operations), cls(branch_id)
        for place, each in enumerate(operations, 1):
            for change in reversed(each.changes):
                if change.table == "thread":
                    current_id = change.before.get("branch_id", current_id)
            if each.undo_group == run_id:
                since, search = place, cls(current_id)
        search._search(operations[since:])
        return {each.undo_group for each in operations[since:] if each.undo_group is not None}.difference(search.ids)

    def _search(self, operations: Sequence[Operation]) -> None:
        current_id = self.branch_id
        for each in operations:
            is_of_branch = each.kind is OperationKind.FORK and each.result == self.branch_id
            is_of_earlier_state = is_of_branch and self.saved_id is None
            if each.detail.standing and (is_of_earlier_state or any(each.detail.standing.values())):
                # A copy begins with the runs of the other conversation, at its head or when a checkpoint was saved. A
                # branch from an earlier state begins without runs, unless a checkpoint from before it was restored.
                self.ids += each.detail.standing.get(self.saved_id or HEAD, [])
                self._is_over = True
            elif self.saved_id is not None:
                # A restore drops the runs since the checkpoint was saved, and brings back the runs of that time.
                if each.kind is OperationKind.SAVE and each.result == self.saved_id:
                    self.branch_id, self.saved_id = current_id, None
            elif current_id == self.branch_id and not _is_undone(each):
                self._add(each)
            if self._is_over:
                return
            for change in reversed(each.changes):
                if change.table == "thread":
                    current_id = change.before.get("branch_id", current_id)
            if is_of_branch:
                # The runs at the fork, or when its checkpoint was saved, also count on the new branch.
                self.branch_id, self.saved_id = current_id, self.saved_id or each.detail.checkpoint or None

    def _add(self, operation: Operation) -> None:
        if operation.undo_group is not None:
            self.ids.append(operation.undo_group)
        if operation.kind is OperationKind.RESTORE and operation.detail.subject is None:
            self.saved_id = operation.result
        elif operation.kind is OperationKind.RESTORE or _moves_state(operation, self.branch_id):
            self._is_over = True


def _is_undone(operation: Operation) -> bool:
    return operation.undone or operation.kind in (OperationKind.UNDO, OperationKind.REDO)


def _moves_state(operation: Operation, branch_id: str) -> bool:
    return any(change.id == branch_id and "state_id" in change.after for change in operation.changes)
