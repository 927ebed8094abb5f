"""Small conversations to test with, and what can be seen of them."""

from typing import Any

import sqlalchemy as sa
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from checkpoints import NewMessage, State, Store
from checkpoints.storage import schema
from checkpoints.values import serde


def said(*texts: str) -> list[BaseMessage]:
    """Texts as messages of the user and the agent in turn."""
    return [(AIMessage if index % 2 else HumanMessage)(text) for index, text in enumerate(texts)]


def new(*texts: str) -> list[NewMessage]:
    return [NewMessage(serde.to_body(message)) for message in said(*texts)]


def state(*texts: str, **extra: Any) -> State:
    return {"messages": said(*texts), **extra}


def texts(store: Store, thread_id: str) -> list[str]:
    """The conversation as of its head."""
    return [message.body["data"]["content"] for message in store.list_messages(thread_id)]


def names(store: Store, thread_id: str) -> list[str]:
    return [checkpoint.name for checkpoint in store.list_checkpoints(thread_id)]


def talked(store: Store, *lines: str) -> str:
    """A new thread in which this was said, a checkpoint after every second message; its id."""
    thread_id = store.create_thread(title="Talk").id
    for index in range(0, len(lines), 2):
        store.append(thread_id, new(*lines[index : index + 2]))
        store.save(thread_id, name=f"after {lines[min(index + 1, len(lines) - 1)]}")
    return thread_id


def dump(store: Store) -> dict[str, list[Any]]:
    """Every row of every table."""
    with store.database.begin_read() as connection:
        return {
            t.name: [tuple(r) for r in connection.execute(sa.select(t).order_by(*t.primary_key))]
            for t in schema.metadata.sorted_tables
        }


def count(store: Store, table: sa.Table) -> int:
    with store.database.begin_read() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def picture(store: Store, thread_id: str) -> dict[str, Any]:
    """All that an operation may change of a thread and undo must put back, in plain values."""
    found = dump(store)
    thread, branch, checkpoint = schema.thread.c, schema.branch.c, schema.checkpoint.c
    moving = [thread.id, thread.title, thread.settings, thread.branch_id, thread.deleted_at]
    with store.database.begin_read() as connection:
        return {
            "thread": [tuple(r) for r in connection.execute(sa.select(*moving).where(thread.id == thread_id))],
            "branches": [r for r in found["branch"] if r[_at(branch.deleted_at)] is None],
            "checkpoints": [r for r in found["checkpoint"] if r[_at(checkpoint.deleted_at)] is None],
        }


def _at(column: sa.Column[Any]) -> int:
    return list(column.table.columns).index(column)
