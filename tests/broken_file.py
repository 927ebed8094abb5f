"""A database file that breaks while a server has it open."""

import time
from pathlib import Path

from checkpoints import Database


def break_file(database: Database, path: Path) -> None:
    """Overwrite the file. No connection reads on, nor is one left to Python's collector, which would tell of it."""
    # A connection that a thread still uses would go back to a pool that nothing closes.
    while database.engine.pool.checkedout():  # type: ignore[attr-defined]  # of every pool that counts its connections
        time.sleep(0.01)
    database.engine.dispose()
    path.write_bytes(b"this is no database" * 1000)
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
