"""A newer version of Waymark comes to a PostgreSQL that older ones serve."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkpoints import Database, Store, StoreInUseError, StoreUnavailableError
from checkpoints.rows import thread_rows
from checkpoints.storage import migrations
from extensions.fleet.workers import Workers
from tests.checkpoints.conversations import new, talked, texts
from tests.postgres import Postgres

NEWER = "9001"
STEP = """
from alembic import op

revision = "9001"
down_revision = {before!r}
kind = {kind!r}


def upgrade():
    op.execute("ALTER TABLE thread ADD COLUMN later TEXT")
"""


@pytest.fixture
def old(postgres_url: str) -> Iterator[Store]:
    """A server of this version."""
    with closing(Database.open_url(postgres_url)) as database:
        Workers.join(Store(database), "old")
        yield Store(database)


def bring_newer(monkeypatch: pytest.MonkeyPatch, folder: Path, kind: str) -> None:
    """Let this process be of a newer version, until the patch is undone."""
    copy = shutil.copytree(migrations.FOLDER, folder / "migrations")
    (copy / "versions" / f"{NEWER}.py").write_text(STEP.format(before=migrations.NEWEST_REVISION, kind=kind))
    monkeypatch.setattr(migrations, "FOLDER", copy)
    monkeypatch.setattr(migrations, "NEWEST_REVISION", NEWER)


def test_a_revision_that_expands_is_made_beside_servers_which_go_on_and_start_again(
    old: Store, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = talked(old, "a", "b")
    bring_newer(monkeypatch, tmp_path, "expand")
    with closing(Database.open_url(postgres_url)) as newer:
        newer.share()
        Store(newer).append(thread_id, new("c"))
        old.append(thread_id, new("d"))
        monkeypatch.undo()
        with closing(Database.open_url(postgres_url)) as again, closing(Database.open_read_only(postgres_url)) as reader:
            again.share()
            assert texts(Store(again), thread_id) == texts(Store(reader), thread_id) == ["a", "b", "c", "d"]
        with newer.begin_read() as connection:
            assert migrations.read_revision(connection) == NEWER


def test_a_revision_that_contracts_needs_the_database_alone_and_ends_older_versions(
    old: Store, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = talked(old, "a", "b")
    bring_newer(monkeypatch, tmp_path, "contract")
    with pytest.raises(StoreInUseError):
        Database.open_url(postgres_url)
    assert texts(old, thread_id) == ["a", "b"]
    old.database.close()
    Database.open_url(postgres_url).close()
    monkeypatch.undo()
    for open_database in (Database.open_url, Database.open_read_only):
        with pytest.raises(StoreUnavailableError, match=r"newer Waymark \(schema 9001\)"):
            open_database(postgres_url)


def test_a_migration_beside_servers_lets_nobody_wait_for_a_lock_that_it_waits_for(
    old: Store, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = talked(old, "a", "b")
    bring_newer(monkeypatch, tmp_path, "expand")
    monkeypatch.setattr(migrations, "MAX_LOCK_SECONDS", 0.1)
    monkeypatch.setattr(migrations, "MAX_LOCK_TRIES", 2)
    tries = count_tries(monkeypatch)
    with old.database.begin_write() as connection:
        thread_rows.load_thread(connection, thread_id)
        with pytest.raises(StoreUnavailableError, match="the migration was tried 2 times"):
            Database.open_url(postgres_url)
    assert len(tries) == 2
    Database.open_url(postgres_url).close()
    assert texts(old, thread_id) == ["a", "b"]


def count_tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    tries: list[str] = []
    migrate = migrations._migrate

    def count(engine: sa.Engine) -> None:
        tries.append("")
        migrate(engine)

    monkeypatch.setattr(migrations, "_migrate", count)
    return tries


def test_another_migration_is_waited_for_once_and_named(
    old: Store, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_newer(monkeypatch, tmp_path, "expand")
    monkeypatch.setattr(migrations, "MAX_WAIT_SECONDS", 0.1)
    tries = count_tries(monkeypatch)
    with (
        old.database.begin_write("migration"),
        pytest.raises(StoreUnavailableError, match="Another server has been migrating"),
    ):
        Database.open_url(postgres_url)
    assert len(tries) == 1


def test_every_migration_says_whether_servers_may_go_on_beside_it() -> None:
    for path in (migrations.FOLDER / "versions").glob("[0-9]*.py"):
        assert 'kind = "expand"\n' in path.read_text() or 'kind = "contract"\n' in path.read_text(), path


def test_a_database_on_which_no_server_has_started_is_not_read(postgres: Postgres) -> None:
    with pytest.raises(StoreUnavailableError, match=r"^The database has no tables of Waymark; it was not used\.$"):
        Database.open_read_only(postgres.bare())
