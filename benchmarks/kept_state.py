"""A checkpointer that keeps the newest state as it is: it copies, compares and writes nothing.

What a turn costs with it is LangGraph's own part of the turn: no checkpointer can cost less.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)


class KeptState(BaseCheckpointSaver[int]):
    """One thread, without a history."""

    def __init__(self) -> None:
        super().__init__()
        self._newest: CheckpointTuple | None = None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._newest

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        at = {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}
        made: RunnableConfig = {"configurable": at}
        self._newest = CheckpointTuple(made, checkpoint, metadata)
        return made

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        pass

    def get_next_version(self, current: int | None, channel: None) -> int:
        return (current or 0) + 1
