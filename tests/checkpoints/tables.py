"""What stands in the tables, in the words of the plain model."""

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from checkpoints import MessageStatus, NewMessage, Store
from checkpoints.storage import schema
from checkpoints.storage.column_types import MessageHash
from checkpoints.storage.postgresql import allow_long_pauses
from checkpoints.values import serde
from tests.checkpoints.model import THREAD, Columns, Conversation, Path, Row, Said

Tables = dict[str, dict[tuple[Any, ...], Columns]]  # by the table's name and the row's primary key


def read(store: Store, thread_id: str | None = None) -> Tables:
    """Every row of every table (or those of one thread), at one moment. Past SQLAlchemy's types: they take long."""
    found: Tables = {}
    with store.database.begin_read() as connection:
        allow_long_pauses(connection)  # the machine may be busy
        for table in schema.metadata.sorted_tables:
            names = [column.name for column in table.columns]
            keys = [column.name for column in table.primary_key]
            owner = "id" if table.name == "thread" else "thread_id"
            where = f" WHERE {owner} = '{thread_id}'" if thread_id and owner in names else ""  # files are of no thread
            answer = connection.exec_driver_sql(f"SELECT {', '.join(names)} FROM {table.name}{where}").fetchall()
            rows = [dict(zip(names, row, strict=True)) for row in answer]
            found[table.name] = {tuple(row[key] for key in keys): row for row in rows}
    return found


def written(said: Said) -> NewMessage:
    """The message, as it is given to the store."""
    message: BaseMessage
    if said.answers is not None:
        message = ToolMessage(said.text, tool_call_id=said.answers)
    elif said.type == "ai":
        calls = [{"name": "look", "args": {"at": call}, "id": call, "type": "tool_call"} for call in said.calls]
        message = AIMessage(said.text, tool_calls=calls)
    else:
        message = HumanMessage(said.text)
    status = MessageStatus.PARTIAL if said.partial else MessageStatus.DONE
    return NewMessage(serde.to_body(message), status=status)


def said(body: dict[str, Any], status: str) -> Said:
    """The inverse of `written`."""
    data = body["data"]
    calls = tuple(call["id"] for call in data.get("tool_calls") or [])
    return Said(data["content"], body["type"], calls, data.get("tool_call_id"), status == MessageStatus.PARTIAL)


class View:
    """Several readings of one store: remembers the paths to messages, which never change."""

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self.hashes: dict[str, str] = {}

    def look(self, store: Store, thread_id: str | None = None) -> Tables:
        """Read, and check what is new: a message hangs on its parent by place and by hash."""
        tables = read(store, thread_id)
        new = [row for (key,), row in tables["message"].items() if key not in self.paths]
        for row in sorted(new, key=lambda row: row["depth"]):
            above, body = row["parent_id"], json.loads(row["body"])
            self.paths[row["id"]] = (*(self.paths[above] if above else ()), said(body, row["status"]))
            hash_ = serde.hash_message(body, row["agent"], row["status"], self.hashes[above] if above else None)
            self.hashes[row["id"]] = hash_
            stored = MessageHash().process_result_value(row["hash"], None)
            assert (stored, row["depth"] + 1) == (hash_, len(self.paths[row["id"]]))
        return tables

    def rows(self, tables: Tables, thread_id: str) -> dict[Row, Columns]:
        """The movable rows of a thread, as the model has them."""
        thread = tables["thread"][thread_id,]
        branches = {b["id"]: b for b in _own(tables, "branch", thread_id)}
        found: dict[Row, Columns] = {
            THREAD: {
                "title": thread["title"],
                "branch": branches[thread["branch_id"]]["position"],
                "deleted": thread["deleted_at"] is not None,
            }
        }
        for b in branches.values():
            head = self.paths[b["head_id"]] if b["head_id"] else ()
            found["branch", b["position"]] = {"name": b["name"], "head": head, "deleted": b["deleted_at"] is not None}
        for c in _own(tables, "checkpoint", thread_id):
            found["checkpoint", c["position"]] = {
                "name": c["name"],
                "description": c["description"],
                "pinned": bool(c["pinned"]),
                "extra": json.loads(c["extra"]) if isinstance(c["extra"], str) else c["extra"],
                "created_by": c["created_by"],
                "time": c["created_at"],
                "path": self.paths[c["message_id"]],
                "branch": branches[c["branch_id"]]["position"],
                "detached": bool(c["detached"]),
                "deleted": c["deleted_at"] is not None,
            }
        return found

    def ids(self, tables: Tables, thread_id: str) -> dict[Any, str]:
        """The ids of what the model names: messages by their paths, branches and checkpoints as rows."""
        found: dict[Any, str] = {self.paths[m["id"]]: m["id"] for m in _own(tables, "message", thread_id)}
        for kind in ("branch", "checkpoint"):
            found |= {(kind, row["position"]): row["id"] for row in _own(tables, kind, thread_id)}
        return found

    def arguments(self, tables: Tables, thread_id: str, given: Columns) -> Columns:
        """The store's arguments for the model's."""
        ids, found = self.ids(tables, thread_id), {}
        for name, value in given.items():
            match name:
                case "message_id" | "after" if isinstance(value, tuple):
                    found[name] = ids[value] if value else None
                case "branch_id":
                    found[name] = ids["branch", value]
                case "checkpoint_id":
                    found[name] = ids.get(("checkpoint", value), "none")
                case "drop":
                    found[name] = {ids[path] for path in value}
                case "new" if isinstance(value, Said):
                    found[name] = written(value)
                case "messages" | "new":
                    found[name] = [written(each) for each in value]
                case "time":  # the store has a clock
                    pass
                case _:
                    found[name] = value
        return found


def _own(tables: Tables, name: str, thread_id: str) -> list[Columns]:
    return [row for row in tables[name].values() if row["thread_id"] == thread_id]


def equal(view: View, tables: Tables, thread_id: str, model: Conversation) -> None:
    """Assert that the thread is the model's, with all its rows, messages and operations."""
    assert view.rows(tables, thread_id) == model.rows
    operations = sorted(_own(tables, "operation", thread_id), key=lambda row: row["version"])
    noted = [(row["version"], row["kind"], row["actor"], row["undone_by"] is not None) for row in operations]
    assert noted == [(number, e.kind, e.actor, e.undone) for number, e in enumerate(model.log, 1)]
    assert {view.paths[m["id"]] for m in _own(tables, "message", thread_id)} == set(model.tree)
    runs = sorted(_own(tables, "run", thread_id), key=lambda row: row["number"])
    assert [(r["id"], r["state"], r["draft"]) for r in runs] == [(r.id, r.state, r.draft) for r in model.runs]
