"""Answers that a person gave before going back: a question that is asked again gets none of them.

The saver forgets the answers of undone runs itself. It keeps those of a run that was stopped, which the page forgets too.
"""

from collections.abc import Iterable

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, get_checkpoint_id

_INTERRUPT, _RESUME = "__interrupt__", "__resume__"
_NO_TASK = "00000000-0000-0000-0000-000000000000"  # of writes that answer whichever task asks


def drop_answers(found: CheckpointTuple) -> CheckpointTuple:
    """Return a state without the answers to its questions, and without the results of the tasks that asked."""
    written = found.pending_writes or []
    asking = {task_id for task_id, channel, _ in written if channel == _INTERRUPT}
    kept = [
        each
        for each in written
        if each[1] == _INTERRUPT or (each[0] not in asking and (each[0], each[1]) != (_NO_TASK, _RESUME))
    ]
    return found._replace(pending_writes=kept)


def find_state_of_runs(
    saver: BaseCheckpointSaver[int], found: CheckpointTuple, run_ids: Iterable[str | None]
) -> CheckpointTuple | None:
    """Return a state, or the newest one before it in its namespace, that one of these runs has written."""
    wanted = set(run_ids)
    at = found.config["configurable"]
    place = {"thread_id": at["thread_id"], "checkpoint_ns": at.get("checkpoint_ns", "")}
    if found.metadata.get("run_id") in wanted:
        return found
    older = saver.list(
        {"configurable": place}, before={"configurable": {**place, "checkpoint_id": get_checkpoint_id(found.config)}}
    )
    return next((each for each in older if each.metadata.get("run_id") in wanted), None)
