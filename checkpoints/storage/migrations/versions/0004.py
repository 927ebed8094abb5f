"""Operations hold facts and no sentences: the text column `note` becomes the JSON column `detail`.

`derive_detail` reads the sentences that earlier versions wrote. What an operation changed decides before its text does: a
name may hold any text. An old note that no pattern fits is kept under the key `text`, and shown as it is.
"""

import json
import re

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
kind = "contract"

BATCH_SIZE = 500  # operations

NUMBER = r"(\d{1,3}(?:,\d{3})*|\d+)"
SAVED = rf"(?: · about {NUMBER} tokens became {NUMBER})?"
REMOVAL = rf"(?:{NUMBER} messages?)?(?: and )?(?:{NUMBER} checkpoints?)?|nothing"
RESTORE = re.compile(rf"(.*) · (?:{REMOVAL}) (removed|kept as a branch)", re.DOTALL)
MOVE = re.compile(rf"(message |msg_){NUMBER} · {NUMBER} messages? removed{SAVED}")  # msg_ counts from 0
SUMMARY = re.compile(rf"{NUMBER} messages?{SAVED}")
REMOVED_CHECKPOINTS = re.compile(rf"{NUMBER} checkpoints? removed")
KEPT = re.compile(rf"{NUMBER} later messages?")
BRANCHES = re.compile(rf"{NUMBER} (?:other )?branch(?:es)?")
MERGE = re.compile(
    rf"(.*) · (?=\d)(?:{NUMBER} messages?)?(?:, )?(?:{NUMBER} branch(?:es)?)?(?:, )?(?:{NUMBER} checkpoints?)? added",
    re.DOTALL,
)
NOUNS = {"thread": "conversation ", "branch": "branch ", "checkpoint": "checkpoint "}

operation = sa.table(
    "operation",
    *(sa.column(name, sa.Text) for name in ("thread_id", "kind", "note", "result", "changes")),
    sa.column("version", sa.Integer),
    sa.column("detail", sa.JSON),
)


def upgrade():
    op.add_column("operation", sa.Column("detail", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
    convert_notes(op.get_bind())
    op.drop_column("operation", "note")


def convert_notes(connection):
    """Write kind and detail of every operation, in batches: there may be a million."""
    key = sa.tuple_(operation.c.thread_id, operation.c.version)
    columns = (operation.c.thread_id, operation.c.version, operation.c.kind, operation.c.note, operation.c.result)
    query = sa.select(*columns, sa.cast(operation.c.changes, sa.Text).label("changes")).order_by(*columns[:2])
    is_row = (operation.c.thread_id == sa.bindparam("of_thread"), operation.c.version == sa.bindparam("of_version"))
    change = sa.update(operation).where(*is_row)
    last = ("", -1)
    while rows := connection.execute(query.where(key > last).limit(BATCH_SIZE)).all():
        last = (rows[-1].thread_id, rows[-1].version)
        derived = [(row, *derive_detail(row.kind, row.note, row.result, parse_changes(row.changes))) for row in rows]
        values = [
            {"of_thread": row.thread_id, "of_version": row.version, "kind": kind, "detail": detail}
            for row, kind, detail in derived
            if detail or kind != row.kind
        ]
        if values:
            connection.execute(change, values)


def parse_changes(text):
    """Return (table, before, after) of each change; none where they are damaged."""
    try:
        stored = json.loads(text)
        return [(table, dict(before), dict(after)) for table, _, before, after in stored]
    except (ValueError, TypeError, RecursionError):
        return []


def derive_detail(kind, note, result, changes):
    """Return the kind and the detail, without empty values, for an operation of an earlier version."""
    table, before, after = changes[0] if changes else (None, {}, {})
    if kind == "edit":
        return derive_edit(note, result)
    if kind == "switch" and not note and changes:
        return kind, {"subject": "message"}
    if kind in ("append", "undo", "redo", "erase") or not note:
        return kind, {}
    match kind:
        case "save":
            detail = {"name": note}
        case "restore":
            detail = derive_restore(note)
        case "goto" | "rewind":
            detail = derive_move(note)
        case "compact":
            detail = derive_summary(note)
        case "rename":
            detail = derive_rename(note, table, before, after)
        case "pin":
            detail = derive_pin(note, before, after)
        case "settings":
            detail = derive_settings(before, after)
        case "fork":
            detail = derive_fork(note, result, changes)
        case "delete":
            detail = derive_deletion(note, result, table)
        case "switch" if note.startswith("branch "):
            detail = {"subject": "branch", "name": note.removeprefix("branch ")}
        case "switch":
            detail = {"subject": "message"}
        case "clear" if note in ("checkpoints", "conversation"):
            detail = {"subject": "thread" if note == "conversation" else note}
        case "import":
            detail = derive_import(note)
        case _:
            detail = None
    detail = {"text": note} if detail is None else detail
    return kind, {key: value for key, value in detail.items() if value not in (None, "", {}) and (value or key in ZERO_KEYS)}


ZERO_KEYS = ("depth", "kept", "pinned", "future_kept", "tokens_before", "tokens_after")  # 0 and false say something in these


def derive_edit(note, result):
    """Tell the three changes that were one kind from each other: another text, another question, another answer."""
    if found := KEPT.fullmatch(note):
        return "replace", {"kept": to_number(found[1])}
    kind = "retry" if result is None else "edit"
    if found := REMOVED_CHECKPOINTS.fullmatch(note):
        return kind, {"checkpoints": to_number(found[1])}
    return kind, {"text": note} if note else {}


def derive_restore(note):
    if not (found := RESTORE.fullmatch(note)):
        return {"name": note}
    name, messages, checkpoints, fate = found.groups()
    removed = {"messages": to_number(messages), "checkpoints": to_number(checkpoints)}
    return {"name": name, **removed, "future_kept": fate != "removed"}


def derive_move(note):
    if not (found := MOVE.fullmatch(note)):
        return None
    form, number, messages, before, after = found.groups()
    depth = to_number(number) - (form == "message ")
    return {"depth": max(depth, 0), "messages": to_number(messages), **derive_savings(before, after)}


def derive_summary(note):
    if not (found := SUMMARY.fullmatch(note)):
        return None
    messages, before, after = found.groups()
    return {"messages": to_number(messages), **derive_savings(before, after)}


def derive_savings(before, after):
    return {"tokens_before": to_number(before), "tokens_after": to_number(after)} if before else {}


def derive_rename(note, table, before, after):
    if table == "thread" or (table is None and not note.startswith(("branch ", "checkpoint "))):
        return {"subject": "thread", "name": to_text(before.get("title")), "new_name": note}
    subject = table or note.partition(" ")[0]
    if subject not in NOUNS:
        return None
    if before.get("name") and after.get("name"):
        return {"subject": subject, "name": to_text(before["name"]), "new_name": to_text(after["name"])}
    name = note.removeprefix(NOUNS[subject])
    half = name[: (len(name) - len(" to ")) // 2]
    if half and name == f"{half} to {half}":  # renamed to the name that it had: no change records that
        return {"subject": subject, "name": half, "new_name": half}
    return {"subject": subject, "name": name}


def derive_pin(note, before, after):
    """Return the pinning that the changes show. Where they show none, earlier versions read it as an unpinning."""
    name = to_text(before.get("name")) or note.removeprefix(NOUNS["checkpoint"])
    new_name = to_text(after.get("name")) if before.get("name") else ""
    return {"subject": "checkpoint", "name": name, "new_name": new_name, "pinned": bool(after.get("pinned"))}


def derive_settings(before, after):
    old, new = before.get("settings"), after.get("settings")
    if not isinstance(new, dict):
        return None
    old = old if isinstance(old, dict) else {}
    changed = {key: value for key, value in new.items() if value != old.get(key, "") and isinstance(value, str)}
    return {"settings": {key: "" if key == "instructions" else value for key, value in changed.items()}} if changed else None


def derive_fork(note, result, changes):
    if result is None and (found := BRANCHES.fullmatch(note)):
        return {"subject": "branches", "branches": to_number(found[1])}
    made_thread = any(table == "thread" and "deleted_at" in after for table, _, after in changes)
    if made_thread or not note.startswith("branch "):
        return {"subject": "thread", "name": note}
    return {"subject": "branch", "name": note.removeprefix("branch ")}


def derive_deletion(note, result, table):
    if result is None and table != "thread" and (found := BRANCHES.fullmatch(note)):
        return {"subject": "branches", "branches": to_number(found[1])}
    subject = table if table in NOUNS else next((each for each, noun in NOUNS.items() if note.startswith(noun)), None)
    return {"subject": subject, "name": note.removeprefix(NOUNS[subject])} if subject else None


def derive_import(note):
    if not (found := MERGE.fullmatch(note)):
        return {"name": note}
    name, messages, branches, checkpoints = found.groups()
    return {
        "name": name,
        "messages": to_number(messages),
        "branches": to_number(branches),
        "checkpoints": to_number(checkpoints),
    }


def to_number(digits):
    return int((digits or "0").replace(",", "")[:18])  # no note of Waymark's holds a longer one


def to_text(value):
    return value if isinstance(value, str) else ""
