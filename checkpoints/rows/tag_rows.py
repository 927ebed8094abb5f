"""Rows of tags: their names, and which conversations have them.

`thread.tags` is authoritative, and undone like any column. `thread_tag` is its index: `index_thread` rewrites it after
each change of that column.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.postgresql import ADVISORY_LOCK
from ..values.errors import InvalidTagError, TagNotFoundError
from ..values.limits import MAX_TAGS, MAX_TAGS_OF_THREAD
from ..values.operation import OperationKind
from ..values.sentence import sentence
from ..values.tag import Tag, fold_tag
from .thread_rows import parse_tags

# Undo can bring back more tags than may be made.
MAX_LISTED_TAGS = 2 * MAX_TAGS
_tag, _index = schema.tag.c, schema.thread_tag.c
_is_used = sa.exists().where(_index.tag_id == _tag.id)
# The changes of these kinds may name tags.
_TAGGING_KINDS = tuple(getattr(OperationKind, name) for name in ("TAG", "FORK", "IMPORT", "UNDO", "REDO"))


def select_tags(connection: sa.Connection, owner: str) -> list[Tag]:
    """Return the tags in use, by name. They are few and short, so a page has all of them."""
    query = sa.select(_tag.id, _tag.name).where(_tag.owner == owner, _tag.folded.is_not(None), _is_used)
    return [Tag(row.id, row.name) for row in connection.execute(query.order_by(_tag.folded).limit(MAX_LISTED_TAGS))]


def count_tags_in(connection: sa.Connection, owner: str, thread_ids: Collection[str]) -> list[Tag]:
    """Return the tags in use, by name, each with the number of these conversations that have it."""
    query = sa.select(_index.tag_id, sa.func.count().label("threads")).where(_index.thread_id.in_(thread_ids))
    counts = {row.tag_id: row.threads for row in connection.execute(query.group_by(_index.tag_id))}
    return [replace(tag, threads=counts.get(tag.id, 0)) for tag in select_tags(connection, owner)]


def count_tags(connection: sa.Connection, owner: str) -> list[Tag]:
    """Return the tags in use, including removed tags, each with the number of its listed conversations."""
    listed = sa.and_(schema.thread.c.id == _index.thread_id, schema.thread.c.deleted_at.is_(None))
    query = (
        sa.select(_tag.id, _tag.name, _tag.folded, sa.func.count(schema.thread.c.id).label("threads"))
        .join(schema.thread_tag, _index.tag_id == _tag.id)
        .outerjoin(schema.thread, listed)
        .where(_tag.owner == owner)
        .group_by(_tag.id, _tag.name, _tag.folded)
        .order_by(_tag.name, _tag.id)
        .limit(2 * MAX_LISTED_TAGS)
    )
    found = [Tag(row.id, row.name, row.folded is None, row.threads) for row in connection.execute(query)]
    return sorted(found, key=lambda tag: (fold_tag(tag.name), tag.id))


def select_tag(connection: sa.Connection, owner: str, tag_id: str) -> Tag:
    """Return a tag of an owner. Raises `TagNotFoundError`."""
    query = sa.select(_tag.id, _tag.name, _tag.folded).where(_tag.id == tag_id, _tag.owner == owner)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise TagNotFoundError(tag_id)
    return Tag(row.id, row.name, row.folded is None)


def select_names(connection: sa.Connection, tag_ids: Collection[str]) -> dict[str, str]:
    """Return the names of these tags by id, without removed tags."""
    query = sa.select(_tag.id, _tag.name).where(_tag.id.in_(tag_ids), _tag.folded.is_not(None))
    return {row.id: row.name for row in connection.execute(query)} if tag_ids else {}


def find_tags(connection: sa.Connection, owner: str, names: Collection[str]) -> dict[str, str]:
    """Return the ids of the tags in use with these names, by folded name."""
    keys = {fold_tag(name) for name in names}
    query = sa.select(_tag.folded, _tag.id).where(_tag.owner == owner, _tag.folded.in_(keys), _is_used)
    return {row.folded: row.id for row in connection.execute(query)} if keys else {}


def ensure_tags(
    connection: sa.Connection, owner: str, names: Sequence[str], new_id: Callable[[], str], *, leave_out: bool = False
) -> list[str]:
    """Return the ids of tags with these names, making missing tags.

    Raises `InvalidTagError` if there are too many tags. With `leave_out`, the surplus is left out instead.
    """
    named = {fold_tag(name): name for name in reversed(names)}
    known = find_tags(connection, owner, names)
    if len(known) < len(named):
        lock_names(connection)
        known = find_tags(connection, owner, names)
    missing = [key for key in reversed(named) if key not in known]
    room = MAX_TAGS - _count_used(connection, owner) if missing else 0
    if len(missing) > room and not leave_out:
        raise InvalidTagError(sentence("There are {limit} tags already. Remove one first.", limit=MAX_TAGS))
    for key in missing[: max(0, room)]:
        known[key] = _make_tag(connection, owner, named[key], new_id)
    return [known[key] for key in reversed(named) if key in known]


def _make_tag(connection: sa.Connection, owner: str, name: str, new_id: Callable[[], str]) -> str:
    """Make a tag, or reuse an unused tag of this name, which an undo may bring back."""
    is_same = sa.and_(_tag.owner == owner, _tag.folded == fold_tag(name))
    found = connection.scalar(sa.update(schema.tag).where(is_same).values(name=name).returning(_tag.id))
    if found is not None:
        return str(found)
    values = {"id": new_id(), "owner": owner, "name": name, "folded": fold_tag(name)}
    connection.execute(sa.insert(schema.tag).values(values))
    return values["id"]


def lock_names(connection: sa.Connection) -> None:
    """Prevent others from making or renaming tags until the transaction ends. SQLite has a single writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(ADVISORY_LOCK, {"key": "tag"})


def write_name(connection: sa.Connection, owner: str, tag_id: str, name: str, *, is_removed: bool) -> None:
    """Rename, remove or bring back a tag. Raises `InvalidTagError` if the name is taken, or there are too many tags."""
    mine = sa.and_(_tag.id == tag_id, _tag.owner == owner)
    if not is_removed:
        lock_names(connection)
        if find_tags(connection, owner, [name]).get(fold_tag(name), tag_id) != tag_id:
            raise InvalidTagError(sentence("There is a tag “{name}” already.", name=name))
        if select_tag(connection, owner, tag_id).is_removed and _count_used(connection, owner) >= MAX_TAGS:
            raise InvalidTagError(sentence("There are {limit} tags already. Remove one first.", limit=MAX_TAGS))
        _free_name(connection, owner, name)
    values = {"name": name, "folded": None if is_removed else fold_tag(name)}
    connection.execute(sa.update(schema.tag).where(mine).values(values))


def _count_used(connection: sa.Connection, owner: str) -> int:
    mine = (_tag.owner == owner, _tag.folded.is_not(None), _is_used)
    return connection.scalar(sa.select(sa.func.count()).select_from(schema.tag).where(*mine)) or 0


def _free_name(connection: sa.Connection, owner: str, name: str) -> None:
    """Take a name from an unused tag."""
    is_other = sa.and_(_tag.owner == owner, _tag.folded == fold_tag(name), ~_is_used)
    connection.execute(sa.update(schema.tag).where(is_other).values(folded=None))


def index_thread(connection: sa.Connection, thread_id: str, tag_ids: Collection[str]) -> None:
    """Rewrite the tag index of a thread."""
    connection.execute(sa.delete(schema.thread_tag).where(_index.thread_id == thread_id))
    known = connection.scalars(sa.select(_tag.id).where(_tag.id.in_(tag_ids))).all() if tag_ids else ()
    if known:
        rows = [{"tag_id": tag_id, "thread_id": thread_id} for tag_id in known]
        connection.execute(sa.insert(schema.thread_tag), rows)


def match_tags(connection: sa.Connection, owner: str, names: Sequence[str]) -> list[list[str]]:
    """Return the tags meant by each name of a query: the tag with this name, or else all tags beginning with it."""
    tags = {fold_tag(tag.name): tag.id for tag in select_tags(connection, owner)} if names else {}
    keys = list(dict.fromkeys(map(fold_tag, names)))[:MAX_TAGS_OF_THREAD]
    return [[tags[key]] if key in tags else [tags[each] for each in tags if each.startswith(key)] for key in keys]


def has_tags(thread_id: sa.ColumnElement[str], groups: Sequence[Sequence[str]]) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for a thread with a tag of each group."""
    return [thread_id.in_(sa.select(_index.thread_id).where(_index.tag_id.in_(group))) for group in groups]


def select_tagged_threads(connection: sa.Connection, groups: Sequence[Sequence[str]], limit: int) -> list[str]:
    """Return the threads with a tag of each group."""
    query = sa.select(_index.thread_id).distinct().where(*has_tags(_index.thread_id, groups)).limit(limit)
    return list(connection.scalars(query)) if all(groups) else []


def count_removed(connection: sa.Connection) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(schema.tag).where(_tag.folded.is_(None))) or 0


def delete_unreferenced(connection: sa.Connection, *, keep_removed: bool) -> None:
    """Erase tags no thread has and no undo can bring back. Without `keep_removed`, erase removed tags too."""
    if not keep_removed:
        removed = sa.select(_tag.id).where(_tag.folded.is_(None)).scalar_subquery()
        connection.execute(sa.delete(schema.thread_tag).where(_index.tag_id.in_(removed)))
    unused = set(connection.scalars(sa.select(_tag.id).where(~_is_used)))
    if not unused:
        return
    operation = schema.operation.c
    changes = connection.scalars(sa.select(operation.changes).where(operation.kind.in_(_TAGGING_KINDS)))
    kept = {tag_id for stored in changes for tag_id in _list_references(stored)} if keep_removed else set[str]()
    for tag_id in unused - kept:
        connection.execute(sa.delete(schema.tag).where(_tag.id == tag_id))


def _list_references(changes: Any) -> set[str]:
    """Return the tags named in an operation's changes."""
    rows = [change for change in changes if isinstance(change, list)] if isinstance(changes, list) else []
    columns = chain.from_iterable(change[2:] for change in rows)
    return {tag_id for values in columns if isinstance(values, Mapping) for tag_id in parse_tags(values.get("tags"))}


def trim_tags(tag_ids: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return a thread's tags without the oldest removed tags, which are kept only for an undo."""
    removed = [tag_id for tag_id in tag_ids if tag_id not in names][-MAX_TAGS_OF_THREAD:]
    return [tag_id for tag_id in tag_ids if tag_id in names or tag_id in removed]
