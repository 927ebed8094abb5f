"""Translate database driver errors into errors of this package."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from ..values.errors import ContendedError, StoreUnavailableError, TakesTooLongError
from ..values.sentence import sentence

REFUSED = sentence("The database refused what it was asked.")
READ_ONLY_TEXT = sentence("The database cannot be written: it is read-only.")
LOCKED = sentence("The database is locked by another program.")
SILENT_TEXT = sentence("The database server does not answer.")
_NO_RIGHT = sentence("The role in DATABASE_URL has no right to do that: it should own the database and its tables.")
_DISK_FULL = sentence("The disk is full: nothing can be saved.")
# The connection broke, the server is stopping or starting, or this process was frozen.
_GONE = ("08", "57P", "25P03")
_MISTAKES = ("42", "22", "54")
# The server resolved a deadlock, or could not serialize the changes.
_CONTENDED = ("40P01", "40001")
_CANCELLED = "57014"
_UNIQUE_VIOLATION = "23505"
_log = logging.getLogger(__name__)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate the driver's errors into errors of this package."""
    try:
        yield
    except sa.exc.IntegrityError:
        # The caller made a mistake. The database works.
        raise
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        # This also covers a damaged file, and a file that is no database.
        driver = getattr(error, "orig", None)
        state = getattr(driver, "sqlstate", None)
        if state in _CONTENDED:
            raise ContendedError from error
        if state == _CANCELLED or getattr(driver, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise TakesTooLongError from error
        raise StoreUnavailableError(_explain_driver_error(getattr(error, "orig", None))) from error
    except sqlite3.Error as error:
        # The connection is not the engine's.
        raise StoreUnavailableError(_explain_driver_error(error)) from error


@contextmanager
def translate_opening_errors() -> Iterator[None]:
    """Translate the driver's errors, and log the driver's own sentence about the wrong host, role or option."""
    try:
        with translate_errors():
            yield
    except StoreUnavailableError as error:
        if error.__cause__ is not None:
            _log.warning("the database cannot be opened: %s", read_driver_sentence(error))
        raise


def read_driver_sentence(error: StoreUnavailableError) -> str:
    """Return the driver's sentence for the log. PostgreSQL's details are left out, because they may quote a row."""
    driver = getattr(error.__cause__, "orig", None) or error.__cause__
    # It is None if the connection failed.
    primary = getattr(getattr(driver, "diag", None), "message_primary", None)
    return str(primary or driver or "") or str(error)


@contextmanager
def translate_taken_ids() -> Iterator[None]:
    """Raise `ContendedError` if another transaction wrote a new id first. A retry finds the id in use.

    Only PostgreSQL has this race. SQLite holds its write lock from the check of the ids until the commit.
    """
    try:
        yield
    except sa.exc.IntegrityError as error:
        if getattr(error.orig, "sqlstate", None) != _UNIQUE_VIOLATION:
            raise
        raise ContendedError from error


def _explain_driver_error(error: BaseException | None) -> str:
    """Describe an error in a single sentence. The driver's text may span lines and contain private data."""
    if error is None:
        # SQLAlchemy's pool timed out, and the database was not asked.
        return sentence("The database is overloaded.")
    name = getattr(error, "sqlite_errorname", "")
    return _explain_sqlite_error(name, error) if name else _explain_postgresql_error(error)


def _explain_sqlite_error(name: str, error: BaseException) -> str:
    if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR_WRITE"):
        return _DISK_FULL
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LOCKED
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return READ_ONLY_TEXT
    return sentence("The database did not answer: {reason}.", reason=error)


def _explain_postgresql_error(error: BaseException) -> str:
    import psycopg  # noqa: PLC0415  (not with SQLite, see postgresql.py)

    state = getattr(error, "sqlstate", None) or ""
    known = {"42501": _NO_RIGHT, "53100": _DISK_FULL, "55P03": LOCKED, "25006": READ_ONLY_TEXT}
    if state in known:
        return known[state]
    if state.startswith(_MISTAKES) or isinstance(error, (psycopg.ProgrammingError, psycopg.DataError)):
        # Waymark sent a wrong statement or value. The server itself works.
        return REFUSED
    if state.startswith("53"):
        return sentence("The database server has no memory or no connection left.")
    if state and not state.startswith(_GONE):
        return sentence("The database server reported an error (SQLSTATE {state}).", state=state)
    # libpq gives no state for a connection the server refuses.
    if not state and "FATAL:" in str(error):
        return sentence("The database server refuses the connection.")
    return SILENT_TEXT
