"""Deletion as LangGraph defines it: states are unlisted, and an operation moves the conversation off them.

States reachable from a branch, a checkpoint or an undo stay until `erase`.
"""

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from langchain_core.runnables import RunnableConfig

from ..storage import schema
from ..storage.database import Database

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
from collections.abc import Sequence

from ..changes.transaction import Transaction
from ..rows import state_rows, thread_rows
from ..storage.database import retry_contended
from ..store import Store
from ..values.errors import ThreadNotFoundError
from ..values.graph_state import list_paths
from ..values.operation import Caller, OperationKind
from .state_selection import select_latest_state

_state = schema.state.c


def copy_states(saver: "BaseCheckpointSaver[Any]", database: Database, source_id: str, target_id: str) -> None:
    """Write a conversation's states to another conversation, parents first."""
    source: RunnableConfig = {"configurable": {"thread_id": source_id}}
    states = sorted(saver.list(source), key=lambda each: each.config["configurable"]["checkpoint_id"])
    for found in states:
        at = {**found.config["configurable"], "thread_id": target_id}
        at["checkpoint_id"] = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
        saver.put({"configurable": at}, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
    with database.begin_write() as connection:
        columns = {column.name: column for column in schema.state_write.c}
        values = columns | {"thread_id": sa.literal(target_id)}
        query = sa.select(*values.values()).where(columns["thread_id"] == source_id, sa.not_(columns["late"]))
        connection.execute(sa.insert(schema.state_write).from_select(list(columns), query))


@retry_contended
def delete_thread(store: Store, thread_id: str) -> None:
    """Delete a conversation. A graph that reuses its id begins anew."""
    with store.database.begin_write(thread_id) as connection:
        try:
            loaded = thread_rows.load_thread(connection, thread_id)
        except ThreadNotFoundError:
            return
        change = _open_transaction(store, connection, loaded)
        change.update_row("thread", thread_id, deleted_at=change.now)
        change.move_head(None)
        change.apply_and_record(OperationKind.DELETE, lambda _: None)
        state_rows.hide_states(connection, [_state.thread_id == thread_id])


@retry_contended
def keep_latest(store: Store, thread_id: str) -> None:
    """Unlist all states of a conversation except those a run continues from."""
    with store.database.begin_write(thread_id) as connection:
        of_thread = _state.thread_id == thread_id
        namespaces = connection.scalars(sa.select(_state.namespace).where(of_thread).distinct()).all()
        latest = [select_latest_state(connection, thread_id, namespace) for namespace in namespaces]
        kept = [state.number for state in latest if state]
        state_rows.hide_states(connection, [of_thread, _state.number.not_in(kept)])


def remove_runs(store: Store, run_ids: Sequence[str]) -> None:
    """Unlist the states of runs, and move conversations off them."""
    of_runs = _state.run_id.in_(list(run_ids))
    with store.database.begin_read() as connection:
        threads = connection.scalars(sa.select(_state.thread_id).where(of_runs).distinct()).all()
    # Each thread has its own transaction. A transaction with several locks could deadlock with others.
    for thread_id in sorted(threads):
        _remove_runs_of(store, thread_id, of_runs)


@retry_contended
def _remove_runs_of(store: Store, thread_id: str, of_runs: sa.ColumnElement[bool]) -> None:
    with store.database.begin_write(thread_id) as connection:
        loaded = thread_rows.load_thread(connection, thread_id, include_deleted=True)
        state_rows.hide_states(connection, [_state.thread_id == thread_id, of_runs])
        number = _find_visible_ancestor(connection, loaded.thread.state_id)
        if number == loaded.thread.state_id:
            return
        state = state_rows.select_numbered_state(connection, number)
        paths = [*list_paths(state.body["values"])] if state else []
        change = _open_transaction(store, connection, loaded)
        change.stand_at(thread_rows.select_node(connection, paths[0][0], thread_id) if paths else None, number)
        change.apply_and_record(OperationKind.DELETE, lambda _: None)


def _find_visible_ancestor(connection: sa.Connection, number: int | None) -> int | None:
    """Return a state, or its nearest listed ancestor."""
    query = sa.select(_state.parent, _state.hidden).where(_state.number == sa.bindparam("of_number"))
    while number is not None:
        row = connection.execute(query, {"of_number": number}).one()
        if not row.hidden:
            break
        number = row.parent
    return number


def _open_transaction(store: Store, connection: sa.Connection, loaded: thread_rows.LoadedThread) -> Transaction:
    return Transaction(connection, loaded, thread_rows.from_time(store.now()), store.new_id, Caller())
