"""What several test files share: a store in memory, a store in a file, and a clock that a test may turn."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from checkpoints import Database, Store


class Clock:
    """Time that stands still until it is turned."""

    def __init__(self) -> None:
        self.time = datetime(2025, 6, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def turn(self, by: timedelta) -> None:
        self.time += by


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[Store]:
    """A store in memory."""
    database = Database.in_memory()
    yield Store(database, now=clock)
    database.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a database may be made."""
    return tmp_path / "data" / "waymark.db"


@pytest.fixture
def file_store(file: Path, clock: Clock) -> Iterator[Store]:
    """A store in a file."""
    database = Database.at(file)
    yield Store(database, now=clock)
    database.close()
