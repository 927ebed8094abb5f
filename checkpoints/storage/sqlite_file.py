"""The SQLite file of a process that writes: its locks, its identity, and the copying of its log into it."""

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

CHECKPOINT_SECONDS = 2.0  # after a write; what a lost log can cost, where the disk keeps up
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
    """A file that this process alone writes. Close it after all other connections.

    One connection stays open for its whole life: while it does, SQLite never deletes the log, so that a missing or
    another log means that somebody took it away.
    """

    def __init__(self, path: Path) -> None:
        """Lock the path and the file. Raises `StoreInUseError`, and `OSError` for a file that cannot be written."""
        self.path = path
        self.mark = HighWaterMark(path)
        self._path_lock = sqlite.lock_path(path)  # first: see sqlite.lock_file on descriptors of one process
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
        """Open the connection that keeps the log, and copy the log into the file: a new schema is nowhere else."""
        address = f"file:{quote(str(self.path.absolute()))}?mode=rw"
        self._keeper = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        self._keeper.execute("SELECT 1 FROM sqlite_master").fetchone()  # opens the log
        log = sqlite.get_log_path(self.path)
        self._identities[log] = _identify(log)
        self.copy_log()

    def check_identity(self) -> None:
        """Raise `StoreUnavailableError` if the file or its log was deleted, moved or replaced. Costs two stat(2)."""
        for path, identity in self._identities.items():
            found = _identify(path)
            if found != identity:
                raise StoreUnavailableError(sentence(_LOST_TEXT if found is None else _REPLACED_TEXT, path=path))

    def acknowledge(self, versions: Mapping[str, int]) -> None:
        """Record the versions of threads that a transaction has committed.

        Raises `StoreUnavailableError` if the file is gone: the commit went nowhere.
        """
        self.check_identity()
        self.mark.add(versions)
        if self._copying is None:
            self._copying = threading.Thread(target=self._copy_regularly, name="waymark-log", daemon=True)
            self._copying.start()
        self._wrote.set()

    def copy_log(self) -> None:
        """Copy the log into the file as far as no reader prevents it, without making any writer wait."""
        versions = self.mark.get_versions()
        with suppress(sqlite3.Error, StoreUnavailableError):  # a full disk: the next write tries again
            assert self._keeper is not None
            # Also where the log's name is gone: SQLite still has the log, and the file gets what would be lost.
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
        """Copy the log, and release the file. Closing twice does nothing."""
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
    """Return the device and the number of a file on it; None for a missing file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
