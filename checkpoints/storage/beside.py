"""Open a database beside its running server, for a small change that touches no conversation.

The server holds the file's lock and knows each conversation's acknowledged version. Its cached data must not change.
"""

import os
from pathlib import Path

from . import postgresql, sqlite
from .database import MAX_LOCK_WAIT_SECONDS, SQLITE_PREFIX, Database


def open_beside(url: str) -> Database:
    """Open an existing database with the newest schema. Raises `StoreUnavailableError`."""
    Database.open_read_only(url).close()
    if not url.startswith(SQLITE_PREFIX):
        return Database(postgresql.create_engine(url, MAX_LOCK_WAIT_SECONDS))
    path = Path(os.path.realpath(url.removeprefix(SQLITE_PREFIX)))
    return Database(sqlite.create_engine(sqlite.make_address(path, mode="rw"), MAX_LOCK_WAIT_SECONDS))
