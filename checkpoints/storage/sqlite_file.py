"""The SQLite file of a writing process: its locks, its identity, and the copying of its log into it."""

import os
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from ..values.errors import StoreUnavailableError
from ..values.sentence import sentence
from . import sqlite
from .high_water_mark import HighWaterMark

# After a write. A lost log costs at most this, if the disk keeps up.
CHECKPOINT_SECONDS = 2.0
_MAX_CLOSE_SECONDS = 10
_LOST_TEXT = sentence(
    "{path} was deleted or moved while Waymark runs. Nothing is saved any more: put it back, "
    "or export your conversations before you stop Waymark."
)
_REPLACED_TEXT = sentence(
    "{path} was replaced by another file, or a copy, while Waymark runs. Nothing is saved any more: put the first one back, "
    "or export your conversations before you stop Waymark."
)


class SqliteFile:
    """A file written by this process alone. Close it after all other connections.

    A connection stays open throughout, so SQLite never deletes the log. A missing or different log then means someone
    removed it.
    """

    def __init__(self, path: Path) -> None:
        """Lock the path and the file. Raises `StoreInUseError`, and `OSError` for a file that cannot be written."""
        self.path = path
        self.mark = HighWaterMark(path)
        # Locked first: see sqlite.lock_file on descriptors of a process.
        self._path_lock = sqlite.lock_path(path)
        try:
            self._descriptor = sqlite.lock_file(path)
        except BaseException:
            self._path_lock.close()
            raise
        self._identities = {path: _identify(path)}
        self._keeper: sqlite3.Connection | None = None
        self._wrote, self._closing = threading.Event(), threading.Event()
        self._copying: threading.Thread | None = None

    def begin_keeping(self) -> None:
        """Open the connection that keeps the log. Copy the log into the file, since a new schema may be only there."""
        address = f"file:{quote(str(self.path.absolute()))}?mode=rw"
        self._keeper = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        # This statement opens the log.
        self._keeper.execute("SELECT 1 FROM sqlite_master").fetchone()
        log = sqlite.get_log_path(self.path)
        self._identities[log] = _identify(log)
        self.copy_log()

    def check_identity(self) -> None:
        """Raise `StoreUnavailableError` if the file or its log was deleted, moved or replaced. It costs two stat(2)
        calls."""
        for path, identity in self._identities.items():
            found = _identify(path)
            if found != identity:
                raise StoreUnavailableError(sentence(_LOST_TEXT if found is None else _REPLACED_TEXT, path=path))

    def acknowledge(self, versions: Mapping[str, int]) -> None:
        """Record committed versions of threads.

        Raises `StoreUnavailableError` if the file is gone, and the commit is lost.
        """
        self.check_identity()
        self.mark.add(versions)
        if self._copying is None:
            self._copying = threading.Thread(target=self._copy_regularly, name="waymark-log", daemon=True)
            self._copying.start()
        self._wrote.set()

    def copy_log(self) -> None:
        """Copy the log into the file as far as readers allow, without blocking writers."""
        versions = self.mark.get_versions()
        # The disk may be full. The next write tries again.
        with suppress(sqlite3.Error, StoreUnavailableError):
            assert self._keeper is not None
            # This also works if the log's name is gone: SQLite still has the log, and rescues it into the file.
            busy, frames, copied = self._keeper.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self.check_identity()
            if not busy and frames == copied:
                self.mark.remove(versions)

    def _copy_regularly(self) -> None:
        while self._wrote.wait():
            if self._closing.wait(CHECKPOINT_SECONDS):
                return
            self._wrote.clear()
            self.copy_log()

    def close(self) -> None:
        """Copy the log and release the file. Closing twice does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._wrote.set()
        if self._copying is not None:
            self._copying.join(_MAX_CLOSE_SECONDS)
        if self._keeper is not None:
            self.copy_log()
            self._keeper.close()
        self.mark.close()
        os.close(self._descriptor)
        self._path_lock.close()


def _identify(path: Path) -> tuple[int, int] | None:
    """Return a file's device and inode number, or None if it is missing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
