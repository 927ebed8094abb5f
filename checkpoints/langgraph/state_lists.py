"""Lists of states, read in portions."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id

from ..rows.state_rows import StoredState
from ..storage import schema
from ..storage.database import Database
from .state_reads import StateReader
from .state_selection import select_portion

_state = schema.state.c


@dataclass(frozen=True, slots=True)
class StateQuery:
    """The requested states. Metadata is compared in Python, so a user's words never become a part of a statement."""

    conditions: tuple[sa.ColumnElement[bool], ...]
    metadata: tuple[tuple[str, Any], ...]
    before: str | None
    limit: int | None

    @classmethod
    def parse(
        cls,
        config: RunnableConfig | None,
        metadata: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> "StateQuery":
        conditions: list[sa.ColumnElement[bool]] = []
        if config:
            at = config["configurable"]
            conditions.append(_state.thread_id == str(at["thread_id"]))
            if (namespace := at.get("checkpoint_ns")) is not None:
                conditions.append(_state.namespace == namespace)
            if checkpoint_id := get_checkpoint_id(config):
                conditions.append(_state.checkpoint_id == checkpoint_id)
        bound = get_checkpoint_id(before) if before else None
        return cls(tuple(conditions), tuple((metadata or {}).items()), bound, limit)

    def run_query(self, database: Database, reader: StateReader) -> Iterator[CheckpointTuple]:
        before, left = self.before, self.limit
        while left is None or left > 0:
            with database.begin_read() as connection:
                portion = select_portion(connection, self.conditions, None if self.metadata else left, before)
                wanted = [state for state in portion if self._fits(state)][:left]
                found = [
                    each
                    for _, states in groupby(wanted, key=lambda state: state.thread_id)
                    for each in reader.make_tuples(connection, [*states])
                ]
            yield from found
            if not portion:
                return
            before = portion[-1].checkpoint_id
            left = None if left is None else left - len(found)

    def _fits(self, state: StoredState) -> bool:
        metadata = state.body["metadata"]
        return all(metadata.get(name) == value for name, value in self.metadata)
