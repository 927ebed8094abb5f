"""Errors of the database drivers, as errors of this package."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from checkpoints.errors import ContendedError, StoreUnavailableError, TakesTooLongError

REFUSED = "The database refused what it was asked."
READ_ONLY_TEXT = "The database cannot be written: it is read-only."
_CONTENDED = ("40P01", "40001")  # a deadlock that the server resolved, and changes that cannot be put in an order
_CANCELLED = "57014"
_UNIQUE_VIOLATION = "23505"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn the driver's errors into the errors of this package."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise  # a mistake of the caller, not of the database
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:  # also for a damaged file, or a file that is no database
        driver = getattr(error, "orig", None)
        state = getattr(driver, "sqlstate", None)
        if state in _CONTENDED:
            raise ContendedError from error
        if state == _CANCELLED or getattr(driver, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise TakesTooLongError from error
        raise StoreUnavailableError(_explain_driver_error(getattr(error, "orig", None))) from error
    except sqlite3.Error as error:  # of a connection that is not the engine's
        raise StoreUnavailableError(_explain_driver_error(error)) from error


@contextmanager
def translate_taken_ids() -> Iterator[None]:
    """Raise `ContendedError` where another transaction wrote one of the new ids first. A retry finds it in use.

    Only PostgreSQL has such a race: SQLite's write lock is held from the look at the ids until the commit.
    """
    try:
        yield
    except sa.exc.IntegrityError as error:
        if getattr(error.orig, "sqlstate", None) != _UNIQUE_VIOLATION:
            raise
        raise ContendedError from error


def _explain_driver_error(error: BaseException | None) -> str:
    """Describe an error in one sentence: the driver's own text may span lines and contain private data."""
    sqlite = getattr(error, "sqlite_errorname", "")
    state = getattr(error, "sqlstate", None) or ""
    if sqlite == "SQLITE_FULL" or sqlite.startswith("SQLITE_IOERR_WRITE") or state == "53100":
        return "The disk is full: nothing can be saved."
    if sqlite.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or state == "55P03":
        return "The database is locked by another program."
    if sqlite.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")) or state == "25006":
        return READ_ONLY_TEXT
    if sqlite:
        return f"The database did not answer: {error}."
    if state.startswith(("42", "22", "54")):  # a statement or a value of Waymark: the server itself works
        return REFUSED
    return "The database server does not answer."
