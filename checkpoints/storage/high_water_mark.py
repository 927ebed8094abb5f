"""The mark of acknowledged changes, by which a database that lost its log is told from a complete database.

A committed change is first in the log (WAL) beside the file. If the log is lost, the file is intact, but older. The
mark is a text file beside them, with the versions of threads changed since the log was last copied into the file.
"""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa

from . import schema
from .batches import select_in_batches

# As a thread's version: nothing of it is expected.
ERASED = -1


class HighWaterMark:
    """The mark of a database file. A writing process adds to it, a reader reads it once.

    It is not synced to disk. After a power failure it may be older than the database, and then claims less.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_suffix(".mark")
        # From an earlier process, kept until the mark is deleted.
        self._lost: dict[str, int] = {}
        self._is_begun = False
        self._versions: dict[str, int] = {}
        self._descriptor: int | None = None
        self._lock = threading.Lock()

    def read(self) -> dict[str, int]:
        """Return the acknowledged version of each marked thread. Incomplete or damaged lines are skipped."""
        found = dict[str, int]()
        # Reading a pipe would wait for ever.
        if not self._path.is_file():
            return found
        with suppress(OSError):
            for line in self._path.read_text("utf-8", "replace").splitlines(keepends=True):
                thread_id, _, version = line.rpartition(" ")
                with suppress(ValueError):
                    found |= {thread_id: int(version)} if line.endswith("\n") and thread_id else {}
        return found

    def keep_lost_versions(self, versions: Mapping[str, int]) -> None:
        """Start anew with the changes an earlier process acknowledged and the database has lost."""
        with self._lock:
            self._is_begun = True
            self._lost = dict(versions)
            self._rewrite()

    def add(self, versions: Mapping[str, int]) -> None:
        """Record committed versions. A failed write is ignored, since the mark then only claims less."""
        with self._lock, suppress(OSError):
            self._versions.update(versions)
            if versions:
                self._write(versions)

    def get_versions(self) -> dict[str, int]:
        """Return the versions added and not yet removed."""
        with self._lock:
            return dict(self._versions)

    def remove(self, versions: Mapping[str, int]) -> None:
        """Remove versions now in the file, unless later versions were added."""
        with self._lock:
            if not versions:
                return
            for thread_id, version in versions.items():
                if self._versions.get(thread_id) == version:
                    del self._versions[thread_id]
            self._rewrite()

    def close(self) -> None:
        """Release the file. An empty mark is deleted, but an earlier process's mark stays unless it was begun anew."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None
            if self._is_begun and not self._lost and not self._versions:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)

    def _rewrite(self) -> None:
        with suppress(OSError):
            remaining = self._lost | self._versions
            if self._descriptor is not None or remaining or self._path.exists():
                os.ftruncate(self._open(), 0)
                self._write(remaining)

    def _write(self, versions: Mapping[str, int]) -> None:
        # A single write per change: a kill leaves whole lines, or a last line without its end.
        lines = "".join(f"{thread_id} {version}\n" for thread_id, version in versions.items())
        os.write(self._open(), lines.encode())

    def _open(self) -> int:
        if self._descriptor is None:
            # Nonblocking: a pipe without a reader is an error at once.
            self._descriptor = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK, 0o600)
        return self._descriptor


def find_lost_versions(connection: sa.Connection, marked: Mapping[str, int]) -> dict[str, int]:
    """Return the marked versions missing in the database."""
    columns = sa.select(schema.thread.c.id, schema.thread.c.version)
    found = {row.id: row.version for row in select_in_batches(connection, columns, schema.thread.c.id, marked)}
    return {each: version for each, version in marked.items() if found.get(each, ERASED) < version}
