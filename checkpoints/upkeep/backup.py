"""Backup: a complete copy of the database file, also while a server writes to it."""

import os
import sqlite3
from pathlib import Path

from ..storage.database import SQLITE_PREFIX, Database
from ..values.errors import BackupError, StoreUnavailableError
from ..values.progress import MAX_REPORTS, Progress, Report, ignore_progress

_MIN_PORTION_PAGES = 100


def write_backup(database: Database, target: Path, report: Report = ignore_progress) -> None:
    """Copy the database to `target` with SQLite's backup, since a plain copy of the file would miss the log beside it.

    Nothing is overwritten. `target` appears only when the copy is complete, on disk and checked. Raises `BackupError`.
    """
    if database.kind != "sqlite":
        raise BackupError("A PostgreSQL database is backed up by its own pg_dump.")
    # A file left by a kill does not look like a backup.
    part = target.with_name(f"{target.name}.part")
    try:
        # This is checked early, because copying may take long.
        if target.exists():
            raise FileExistsError
        os.close(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
        _copy_database(database, part, report)
        report(Progress("Checking the copy"))
        _check_copy(part)
        _sync_to_disk(part)
        # A rename would overwrite a file made in between.
        os.link(part, target)
        _sync_to_disk(target.parent)
    except FileExistsError as error:
        raise BackupError(f"{target} is there already; nothing was overwritten.") from error
    except (OSError, sqlite3.Error, StoreUnavailableError) as error:
        raise BackupError(f"The backup {target} could not be made: {_describe_cause(error)}.") from error
    finally:
        part.unlink(missing_ok=True)


def _copy_database(database: Database, target: Path, report: Report) -> None:
    """Copy in portions. An open snapshot keeps a server's writes from restarting the copy."""

    def report_pages(_status: int, remaining: int, total: int) -> None:
        report(Progress("Copying", total - remaining, total, "pages"))

    with database.begin_read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        copy = sqlite3.connect(target)
        try:
            raw.backup(copy, pages=max(_MIN_PORTION_PAGES, pages // MAX_REPORTS), progress=report_pages)
        finally:
            copy.close()


def _check_copy(path: Path) -> None:
    """Open the copy as a server would, and let SQLite check it."""
    copy = Database.open_read_only(f"{SQLITE_PREFIX}{path}")
    try:
        with copy.begin_read() as connection:
            result = connection.exec_driver_sql("PRAGMA quick_check").scalar_one()
    finally:
        copy.close()
    if result != "ok":
        raise StoreUnavailableError(f"the copy is damaged, so the database is too ({result})")


def _sync_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _describe_cause(error: Exception) -> str:
    return str((isinstance(error, OSError) and error.strerror) or error).rstrip(".")
