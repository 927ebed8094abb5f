"""The first event of a run's trace, read from the store."""

from collections.abc import Sequence
from time import time_ns

from agent.tracing.events import RunBegun, RunStart
from checkpoints import Message, Operation, OperationKind, Run, Store, Thread


def build_start_event(store: Store, run: Run, path: Sequence[Message], *, is_asked: bool) -> RunBegun:
    """Return the first event. `is_asked` says whether the run began with the path's last message, the user's."""
    question = next((each for each in reversed(path) if each.type == "human" and not each.damaged), None)
    before = path[:-1] if is_asked else path
    text = question.langchain.text if question else ""
    with store.database.begin_read():
        thread = store.get_thread(run.thread_id)
        start = _locate_start(store, run, thread, before[-1].id if before else None)
    return RunBegun(run.id, run.thread_id, time_ns(), str(text), start, thread.title)


def _locate_start(store: Store, run: Run, thread: Thread, node_id: str | None) -> RunStart:
    with store.database.begin_read():
        checkpoints = [each for each in store.list_checkpoints(thread.id) if each.node and each.node.id == node_id]
        branch = next(each for each, _ in store.list_branches(thread.id) if each.id == thread.branch_id)
        operations = store.list_operations(thread.id, last=2)
    return RunStart(branch, checkpoints[-1] if checkpoints else None, _find_left_head(operations, run), thread.version)


def _find_left_head(newest_first: Sequence[Operation], run: Run) -> str | None:
    """Return the head before this run's own edit or retry, or before the preceding restore."""
    for operation in newest_first:
        is_own = operation.undo_group == run.id
        if operation.kind is OperationKind.RESTORE or (
            is_own and operation.kind in (OperationKind.EDIT, OperationKind.RETRY)
        ):
            return next((change.before["head_id"] for change in operation.changes if "head_id" in change.before), None)
        if not is_own:
            return None
    return None
