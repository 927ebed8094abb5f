"""Verify the index of tags."""

from collections import defaultdict
from collections.abc import Iterator

import sqlalchemy as sa

from ..rows import thread_rows
from ..storage import schema
from .verification_report import Damage


def check_tags(connection: sa.Connection) -> Iterator[Damage]:
    """Compare the index of tags with each conversation's tags."""
    known, indexed = set(connection.scalars(sa.select(schema.tag.c.id))), defaultdict[str, set[str]](set)
    for tag_id, thread_id in connection.execute(sa.select(schema.thread_tag.c.tag_id, schema.thread_tag.c.thread_id)):
        indexed[thread_id].add(tag_id)
    table = schema.thread.c
    for row in connection.execute(sa.select(table.id, table.title, table.tags)):
        if known.intersection(thread_rows.parse_tags(row.tags)) != indexed[row.id]:
            yield Damage("the list finds it by other tags than it has", row.id, row.title)
