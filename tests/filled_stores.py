"""Stores that are filled once for a module. Each test gets one as it was then, and may change it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import pytest

from checkpoints import Database, Store
from tests.postgres import Postgres

T = TypeVar("T")


class Filled(Protocol):
    """A database that has been filled."""

    def open_copy(self) -> Database: ...

    def close(self) -> None: ...


class FilledMemory:
    """A database in memory, to be copied."""

    def __init__(self, fill: Callable[[Database], None]) -> None:
        self._database = Database.in_memory()
        fill(self._database)

    def open_copy(self) -> Database:
        copy = Database.in_memory()
        with self._database.engine.connect() as source, copy.engine.connect() as target:
            source.connection.driver_connection.backup(target.connection.driver_connection)  # type: ignore[union-attr]
        return copy

    def close(self) -> None:
        self._database.close()


class FilledPostgres:
    """A database of a PostgreSQL, whose rows are put back."""

    def __init__(self, fill: Callable[[Database], None], postgres: Postgres, *, is_ordinary: bool) -> None:
        self._postgres, self._address = postgres, postgres.lend(is_ordinary=is_ordinary)
        database = Database.open_url(self._address)
        fill(database)
        database.close()
        postgres.keep_rows(self._address)

    def open_copy(self) -> Database:
        self._postgres.put_rows_back(self._address)
        return Database.open_url(self._address)

    def close(self) -> None:
        self._postgres.forget_rows(self._address)
        self._postgres.take_back(self._address)


@dataclass(frozen=True)
class FilledStore(Generic[T]):
    """A store's database, and what `fill` returned about it."""

    database: Filled
    content: T

    @contextmanager
    def copy(self) -> Iterator[Store]:
        database = self.database.open_copy()
        yield Store(database)
        database.close()


@contextmanager
def fill_store(request: pytest.FixtureRequest, fill: Callable[[Store], T]) -> Iterator[FilledStore[T]]:
    """Fill a store of the kind that the fixture's parameter names: memory_store, postgres_store or ordinary_store."""
    content: list[T] = []

    def fill_database(database: Database) -> None:
        content.append(fill(Store(database)))

    filled: Filled
    if request.param == "memory_store":
        filled = FilledMemory(fill_database)
    else:
        is_ordinary = request.param == "ordinary_store"
        filled = FilledPostgres(fill_database, request.getfixturevalue("postgres"), is_ordinary=is_ordinary)
    yield FilledStore(filled, content[0])
    filled.close()
