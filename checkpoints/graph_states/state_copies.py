"""Copies of all states of a conversation."""

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from langchain_core.runnables import RunnableConfig

from ..storage import schema
from ..storage.database import Database

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


def copy_states(saver: "BaseCheckpointSaver[Any]", database: Database, source_id: str, target_id: str) -> None:
    """Write the states of a conversation in another one, parents first."""
    source: RunnableConfig = {"configurable": {"thread_id": source_id}}
    states = sorted(saver.list(source), key=lambda each: each.config["configurable"]["checkpoint_id"])
    for found in states:
        at = {**found.config["configurable"], "thread_id": target_id}
        at["checkpoint_id"] = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
        saver.put({"configurable": at}, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
    with database.begin_write() as connection:
        columns = {column.name: column for column in schema.state_write.c}
        values = columns | {"thread_id": sa.literal(target_id)}
        query = sa.select(*values.values()).where(columns["thread_id"] == source_id)
        connection.execute(sa.insert(schema.state_write).from_select(list(columns), query))
