"""Search within the current path of a conversation. Only the index and the ids of hits are read, no texts."""

import sqlalchemy as sa

from ..search.content import mark_thread
from ..search.query import SearchQuery, parse_phrase
from ..search.result import PathHits
from ..values.limits import MAX_PATH_HITS
from ..values.model import MAIN
from . import search_index, search_syntax, thread_rows

# The newest entries of all branches, then filtered by path.
MAX_ENTRIES = 20_000
_COLUMNS = "SELECT m.id, m.segment, m.depth"
_OF_THREAD = "m.thread_id = :thread AND m.agent = :agent"
_SQLITE = sa.text(
    f"{_COLUMNS} FROM search_words w CROSS JOIN search_entry e ON e.number = w.rowid "
    "CROSS JOIN message m ON m.segment = e.segment AND m.depth = e.depth "
    f"WHERE search_words MATCH :match AND {_OF_THREAD} ORDER BY w.rowid DESC LIMIT :most"
)
# The sum keeps PostgreSQL from reading all entries in order, since few of them belong to the conversation.
_POSTGRESQL = sa.text(
    f"{_COLUMNS} FROM search_entry e JOIN message m ON m.segment = e.segment AND m.depth = e.depth "
    f"WHERE e.words @@ CAST(:match AS tsquery) AND {_OF_THREAD} ORDER BY e.number + 0 DESC LIMIT :most"
)


def find_in_path(connection: sa.Connection, thread_id: str, text: str) -> PathHits:
    """Find the main agent's messages on the current path that contain the words of `text` in sequence.

    Raises `ThreadNotFoundError`.
    """
    _, path = thread_rows.load_current_path(connection, thread_id)
    is_pending = search_index.is_pending(connection)
    term = parse_phrase(text)
    if term is None:
        return PathHits((), False, is_pending, None)
    is_postgresql = connection.dialect.name == "postgresql"
    match = search_syntax.write_query(connection, SearchQuery(((term,),)), [mark_thread(thread_id)])
    values = {"match": match, "thread": thread_id, "agent": MAIN, "most": MAX_ENTRIES}
    rows = connection.execute(_POSTGRESQL if is_postgresql else _SQLITE, values).all()
    own = sorted((row.depth, row.id) for row in rows if row.depth <= path.last.get(row.segment, -1))
    has_more = len(own) > MAX_PATH_HITS or len(rows) == MAX_ENTRIES
    return PathHits(tuple(message_id for _, message_id in own[-MAX_PATH_HITS:]), has_more, is_pending, term)
