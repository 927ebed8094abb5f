"""Opening a database: what keeps others out, what is refused and left as it was; one that fails and comes back."""

import gc
import itertools
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from checkpoints import Database, Store, StoreBusyError, StoreInUseError, StoreUnavailableError, TakesTooLongError
from checkpoints.rows import thread_rows
from checkpoints.storage import database, driver_errors, migrations, schema, sqlite, sqlite_file
from checkpoints.storage.database import retry_contended
from checkpoints.storage.postgresql import Claim
from checkpoints.upkeep import verification
from tests.checkpoints.conversations import dump, names, new, talked, texts
from tests.checkpoints.test_store import at_once
from tests.postgres import Postgres, name_of
from tests.read_only import as_nobody

REPLACING = "with op.batch_alter_table('thread', recreate='always') as table: table.create_index('later', ['title'])"
OF_NEWER = r"^{} was written by a newer Waymark \(schema {}\); it was left untouched\.$"
OF_BEFORE = r"^{} was written before Waymark's first release \(schema {}\) and was left untouched: .*checkout b6739f2b; .*$"


def test_a_restart_keeps_everything(address: str) -> None:
    first = Database.open_url(address)
    thread_id = talked(Store(first), "a", "b", "c", "d")
    Store(first).restore(thread_id, Store(first).list_checkpoints(thread_id)[0].id, keep_future=True)
    before = dump(Store(first))
    first.close()
    second = Database.open_url(address)
    assert dump(Store(second)) == before
    assert (texts(Store(second), thread_id), names(Store(second), thread_id)) == (["a", "b"], ["after b"])
    second.close()


def test_a_database_in_memory_that_is_let_go_closes_its_connection() -> None:
    database = Database.in_memory()
    with database.begin_read() as connection:
        raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    del database, connection
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        raw.execute("SELECT 1")


def test_what_was_acknowledged_survives_kill_9(file: Path) -> None:
    code = (
        "import os, signal, sys, pathlib; from checkpoints import *; from tests.checkpoints.conversations import talked;"
        "store = Store(Database.open_file(pathlib.Path(sys.argv[1]))); print(talked(store, 'a', 'b'), flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    child = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=False)
    assert child.returncode == -9
    reopened = Database.open_file(file)
    assert texts(Store(reopened), child.stdout.strip()) == ["a", "b"]
    reopened.close()


def test_a_second_process_is_refused(file_store: Store, file: Path) -> None:
    code = "import sys, pathlib; from checkpoints import Database; Database.open_file(pathlib.Path(sys.argv[1]))"
    child = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=False)
    assert child.returncode == 1
    assert f"StoreInUseError: {file} is in use by another Waymark process." in child.stderr
    with pytest.raises(StoreInUseError):
        Database.open_file(file)
    assert file_store.list_threads() == []


def test_a_closed_database_lets_another_in(file: Path) -> None:
    Database.open_file(file).close()
    reopened = Database.open_file(file)
    assert Store(reopened).list_threads() == []
    reopened.close()


def test_a_folder_that_cannot_be_written_is_refused_in_one_sentence() -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "data").mkdir(mode=0o555)
    folder.chmod(0o555)
    with as_nobody(), pytest.raises(StoreUnavailableError, match=r"data folder .* cannot be used"):
        Database.open_file(folder / "data" / "deep" / "waymark.db")
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(StoreUnavailableError, match=r"data folder .* cannot be used"):
        Database.open_file(tmp_path / "data" / "waymark.db")


def test_a_file_that_is_no_database_is_refused_and_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is not a database" * 100)
    for _ in range(2):  # the second time shows that the lock was let go
        with pytest.raises(StoreUnavailableError, match="did not answer"):
            Database.open_file(file)
    assert file.read_bytes() == b"this is not a database" * 100


def test_a_full_disk_refuses_the_write_and_keeps_what_was(file_store: Store) -> None:
    thread_id = talked(file_store, "a", "b")
    before = dump(file_store)
    with file_store.database.begin_read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailableError, match="full"):
        file_store.append(thread_id, new("x" * 1_000_000))
    assert dump(file_store) == before


@pytest.mark.parametrize("open_other", [Database.open_url, Database.open_read_only])
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "cut off"])
@pytest.mark.parametrize(("revision", "said"), [("9999", OF_NEWER), ("0001", OF_BEFORE), ("0031", OF_BEFORE)])
def test_a_file_of_another_schema_is_refused_and_left_untouched(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_closed: bool,
    revision: str,
    said: str,
    open_other: Callable[[str], Database],
) -> None:
    """Also one whose process was killed: the file, its log and its mark stay for the version that reads them."""
    monkeypatch.setattr(sqlite_file, "CHECKPOINT_SECONDS", 600)
    cut_off = file.parent.with_name("cut off")
    with closing(Database.open_file(file)) as first:
        talked(Store(first), "a", "b")
        with first.begin_write() as connection:
            connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
        shutil.copytree(file.parent, cut_off)
    other = file if is_closed else cut_off / file.name
    before = read_folder(other)
    assert (other.with_suffix(".mark").name in before, sqlite.has_log(other)) == (not is_closed, not is_closed)
    with pytest.raises(StoreUnavailableError, match=said.format(re.escape(str(other)), revision)):
        open_other(f"sqlite:///{other}")
    assert read_folder(other) == before


def read_folder(file: Path) -> dict[str, bytes]:
    """Every file of the data folder, but SQLite's memory for locks, which it makes again."""
    return {path.name: path.read_bytes() for path in file.parent.iterdir() if not path.name.endswith("-shm")}


def test_a_migration_makes_a_backup_first(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Database.open_file(file)
    thread_id = talked(Store(first), "a", "b")
    first.close()
    newest = migrations.NEWEST_REVISION
    add_step(tmp_path, monkeypatch, "op.execute('SELECT 1')")
    Database.open_file(file).close()
    backup = sqlite3.connect(file.parent / "waymark-before-next.db")
    assert backup.execute("SELECT version_num FROM alembic_version").fetchall() == [(newest,)]
    assert backup.execute("SELECT count(*) FROM message WHERE thread_id = ?", [thread_id]).fetchall() == [(2,)]
    backup.close()
    assert stat.S_IMODE((file.parent / "waymark-before-next.db").stat().st_mode) == 0o600


def add_step(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """Let this process be of a newer version, whose migration is a line of Python."""
    copy = shutil.copytree(migrations.FOLDER, folder / "migrations")
    step = f"from alembic import op\nrevision = 'next'\ndown_revision = '{migrations.NEWEST_REVISION}'\n"
    (copy / "versions" / "next.py").write_text(step + f"def upgrade():\n    {line}\n")
    monkeypatch.setattr(migrations, "FOLDER", copy)
    monkeypatch.setattr(migrations, "NEWEST_REVISION", "next")


def test_a_migration_that_loses_rows_which_others_name_is_taken_back(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Database.open_file(file)
    thread_id = talked(Store(first), "a", "b")
    before = dump(Store(first))
    first.close()
    add_step(tmp_path, monkeypatch, "op.execute('DELETE FROM message WHERE depth = 1')")
    with pytest.raises(StoreUnavailableError, match=r"name missing ones \(branch, checkpoint: 2\)\. It was taken back"):
        Database.open_file(file)
    monkeypatch.undo()
    again = Database.open_file(file)
    assert dump(Store(again)) == before
    assert texts(Store(again), thread_id) == ["a", "b"]
    again.close()


def test_a_migration_that_replaces_a_table_keeps_the_rows_that_name_its_own(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Database.open_file(file)
    talked(Store(first), "a", "b")
    before = dump(Store(first))
    first.close()
    add_step(tmp_path, monkeypatch, REPLACING)
    with closing(Database.open_file(file)) as again:
        assert dump(Store(again)) == before
        with again.begin_read() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_a_row_that_named_a_missing_one_before_a_migration_keeps_nobody_out(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Database.open_file(file)
    thread_id = talked(Store(first), "a", "b")
    first.close()
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("INSERT INTO identity VALUES ('x', 'nobody')")
    add_step(tmp_path, monkeypatch, """op.execute("UPDATE thread SET title = 'newer'")""")
    again = Database.open_file(file)
    assert Store(again).get_thread(thread_id).title == "newer"
    assert [each.problem for each in verification.verify(again).damages] == [
        "the file: identity names a person that is not there"
    ]
    again.close()


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[sa.Engine]:
    """A file whose tables the migrations made, from the first revision on."""
    engine = sqlite.create_engine(sqlite.make_address(tmp_path / "migrated.db", mode="rwc"), 1)
    migrations.run_migrations(engine)
    yield engine
    engine.dispose()


def test_the_migrations_make_the_tables_that_the_code_uses(migrated: sa.Engine, lasting_store: Store) -> None:
    for engine in (migrated, lasting_store.database.engine):
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"include_object": _is_described})
            assert compare_metadata(context, schema.metadata) == []


def _is_described(item: Any, name: str | None, kind: str, *_: object) -> bool:
    """The index of the search is not of SQLAlchemy's tables, and Alembic does not see which database a constraint is for."""
    if kind == "foreign_key_constraint":
        return item._ddl_if is None  # those of SQLite alone it finds there, and asks about them on PostgreSQL
    return not (name or "").startswith(("search_words", "ix_search_entry_words"))


def test_a_new_file_has_the_tables_and_the_conditions_that_the_migrations_make(
    migrated: sa.Engine, file_store: Store
) -> None:
    assert _definitions(file_store.database.engine) == _definitions(migrated)


def _definitions(engine: sa.Engine) -> set[tuple[str, ...]]:
    """What SQLite says of each table and index, in words whose order does not matter; Alembic makes a table of its own."""
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name <> 'alembic_version'"
    with engine.connect() as connection:
        made = connection.scalars(sa.text(query))
        return {tuple(sorted(re.findall(r"[\w'=]+", sql))) for sql in made}


def test_a_new_file_is_made_without_the_package_of_the_migrations(file: Path) -> None:
    code = (
        "import sys, pathlib; from checkpoints import Database; Database.open_file(pathlib.Path(sys.argv[1])).close();"
        "print('alembic' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True)
    assert child.stdout == "False\n"


def test_the_newest_migration_is_the_one_that_the_code_asks_for() -> None:
    files = sorted(path.stem for path in (migrations.FOLDER / "versions").glob("[0-9]*.py"))
    assert files[-1] == migrations.NEWEST_REVISION


def test_the_safety_settings_are_on_for_every_connection(file_store: Store) -> None:
    expected = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 4000}
    engine = file_store.database.engine
    with engine.connect() as one, engine.connect() as other:
        for connection in (one, other):
            assert {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in expected} == expected


def test_only_the_user_can_read_the_folder_and_the_file(file_store: Store, file: Path) -> None:
    talked(file_store, "a", "b")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (file.parent, file)}
    assert modes == {"data": 0o700, "waymark.db": 0o600}


def test_a_folder_that_was_there_keeps_its_mode_and_the_files_are_closed(file: Path) -> None:
    file.parent.mkdir(mode=0o755)
    database = Database.open_file(file)
    Store(database).create_thread()
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.glob("*.db*")} == {0o600}
    database.close()


def test_a_database_of_something_else_is_refused_and_gets_no_tables(file: Path) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE song (name TEXT)")
    other.close()
    with pytest.raises(StoreUnavailableError, match="something else"):
        Database.open_file(file)
    with sqlite3.connect(file) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("song",)]
    other.close()


def test_a_file_that_is_read_only_is_refused_and_left_alone() -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    file = folder / "waymark.db"
    file.write_bytes(b"")
    file.chmod(0o444)
    with as_nobody(), pytest.raises(StoreUnavailableError, match=r"data folder .* cannot be used"):
        Database.open_file(file)
    assert file.read_bytes() == b""
    shutil.rmtree(folder)


# Failing and coming back


def test_a_write_that_failed_is_only_forgotten_when_one_succeeds(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    before = dump(file_store)
    with file_store.database.begin_read() as connection:
        size = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    file_store.database.engine.dispose()
    sa.event.listen(file_store.database.engine, "connect", lambda c, _: c.execute(f"PRAGMA max_page_count = {size}"))
    with pytest.raises(StoreUnavailableError):
        file_store.append(thread_id, new("x" * 1_000_000))
    assert dump(file_store) == before
    assert file_store.database.outage == "The disk is full: nothing can be saved."
    file_store.database.check_health()
    assert file_store.database.outage == ""


def test_a_file_locked_by_another_program_is_said_and_then_written(file_store: Store, file: Path) -> None:
    engine = file_store.database.engine
    sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout = 0"))
    engine.dispose()  # so that the next connection does not wait
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for attempt in (file_store.create_thread, file_store.database.check_health):
        with pytest.raises(StoreUnavailableError, match=r"^The database is locked by another program\.$"):
            attempt()
    assert file_store.list_threads() == []  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    file_store.database.check_health()
    assert file_store.create_thread().id
    assert file_store.database.outage == ""


def test_waiting_for_a_change_of_our_own_is_told_as_such(lasting_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id = talked(lasting_store, "a", "b")
    engine = lasting_store.database.engine
    impatient = {"sqlite": "PRAGMA busy_timeout = 0", "postgresql": "SET lock_timeout = '10ms'"}[lasting_store.database.kind]
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(impatient), insert=True)
    lasting_store.database.write_queue.max_turn_seconds = 0.01
    with ThreadPoolExecutor(1) as pool, lasting_store.database.begin_write() as connection:
        thread_rows.select_thread(connection, thread_id)  # as an import does for a while
        with pytest.raises(StoreBusyError, match="still saving something else, such as an import"):
            pool.submit(lasting_store.append, thread_id, new("c")).result()
        assert lasting_store.database.outage == ""
    lasting_store.append(thread_id, new("c"))
    assert texts(lasting_store, thread_id) == ["a", "b", "c"]


def test_a_connection_that_was_opened_read_only_is_not_kept(file_store: Store) -> None:
    thread_id = talked(file_store, "a", "b")
    with file_store.database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailableError, match="read-only"):
        file_store.append(thread_id, new("c"))
    file_store.append(thread_id, new("c"))
    assert texts(file_store, thread_id) == ["a", "b", "c"]


def test_the_log_says_once_that_the_database_fails(
    postgres_store: Store, postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    postgres.stop()
    try:
        for _ in range(3):
            with pytest.raises(StoreUnavailableError, match=r"^The database server does not answer\.$"):
                postgres_store.list_threads()
    finally:
        postgres.start()
    assert (len(caplog.records), "fails to read" in caplog.text) == (1, True)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (("postgres@", "nobody@"), 'role "nobody" does not exist'),
        (("?host=", "?sslmode=bogus&host="), 'invalid sslmode value: "bogus"'),
        (("?host=", "?options=-csearch_path%3Dnowhere&host="), "no schema has been selected to create in"),
    ],
)
def test_the_log_says_why_a_database_cannot_be_opened(
    postgres: Postgres, change: tuple[str, str], cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    address = postgres.bare()
    with pytest.raises(StoreUnavailableError):
        Database.open_url(address.replace(*change))
    postgres.drop(address)
    assert [cause in record.message for record in caplog.records] == [True]


def test_the_log_quotes_no_value_that_postgresql_refuses(postgres_store: Store, caplog: pytest.LogCaptureFixture) -> None:
    cast = sa.text("SELECT CAST(:value AS jsonb)")
    with pytest.raises(StoreUnavailableError), postgres_store.database.begin_write() as connection:
        connection.execute(cast, {"value": '{"secret": no}'})
    assert "invalid input syntax for type json" in caplog.text
    assert "secret" not in caplog.text


def test_a_postgresql_is_well_again_when_its_disk_has_room(postgres_store: Store, postgres: Postgres) -> None:
    """A full disk takes a small change of a row, in a page that is there, but no message."""
    database = postgres_store.database
    limit = f"ALTER DATABASE {database.engine.url.database} {{}} temp_file_limit"
    postgres.execute(limit.format("SET") + " = '500kB'")
    database.engine.dispose()
    with pytest.raises(StoreUnavailableError, match="disk is full"), database.begin_write() as connection:
        connection.exec_driver_sql("DO $$ BEGIN RAISE SQLSTATE '53100'; END $$")
    with pytest.raises(StoreUnavailableError):
        database.check_health()
    assert database.outage != ""
    postgres.execute(limit.format("RESET"))
    database.engine.dispose()
    database.check_health()
    assert database.outage == ""


def test_a_restart_of_the_server_needs_none_of_ours(postgres_store: Store, postgres: Postgres) -> None:
    thread_id = talked(postgres_store, "a", "b")
    postgres.stop()
    try:
        with pytest.raises(StoreUnavailableError):
            postgres_store.append(thread_id, new("lost"))
    finally:
        postgres.start()
    postgres_store.append(thread_id, new("c"))
    assert (texts(postgres_store, thread_id), postgres_store.database.outage) == (["a", "b", "c"], "")


def test_a_row_that_another_holds_is_not_waited_for_without_end(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_LOCK_WAIT_SECONDS", 1)
    holder, impatient = Store(Database.open_url(postgres_url)), Database.open_url(postgres_url)
    thread_id = talked(holder, "a", "b")
    with holder.database.begin_write() as holding:
        holding.execute(sa.text("SELECT id FROM thread FOR UPDATE"))
        with pytest.raises(StoreUnavailableError, match="locked by another program"):
            Store(impatient).append(thread_id, new("c"))
    Store(impatient).append(thread_id, new("c"))
    assert texts(holder, thread_id) == ["a", "b", "c"]
    impatient.close()
    holder.database.close()


def test_a_reader_sees_one_moment_and_cannot_write(postgres_store: Store) -> None:
    with pytest.raises(StoreUnavailableError, match="read-only"), postgres_store.database.begin_read() as connection:
        connection.execute(sa.delete(schema.thread))


# PostgreSQL: who may come in


def test_two_that_open_an_empty_database_at_once_make_its_tables_once(postgres: Postgres) -> None:
    address = postgres.bare()
    for opened in at_once(lambda: Database.open_url(address)):
        assert isinstance(opened, Database)
        assert Store(opened).list_threads() == []
        opened.close()
    postgres.drop(address)


def test_a_second_server_on_a_database_is_refused_and_a_library_is_not(postgres_url: str) -> None:
    first, second = Database.open_url(postgres_url), Database.open_url(postgres_url)
    first.claim()
    with pytest.raises(StoreInUseError, match=r"PostgreSQL database waymark_\d+ is in use .* another DATABASE_URL"):
        second.claim()
    assert Store(second).create_thread() in Store(first).list_threads()
    first.close()
    second.claim()
    second.close()


def test_a_claim_is_taken_again_after_the_database_was_restarted(postgres: Postgres, postgres_url: str) -> None:
    first = Database.open_url(postgres_url)
    first.claim()
    postgres.stop()
    postgres.start()
    Store(first).create_thread()
    second = Database.open_url(postgres_url)
    with pytest.raises(StoreInUseError):
        second.claim()
    first.close()
    second.close()


def test_who_lost_its_claim_to_another_server_writes_no_more(postgres: Postgres, postgres_url: str) -> None:
    first, second = Database.open_url(postgres_url), Database.open_url(postgres_url)
    first.claim()
    postgres.stop()
    postgres.start()
    second.claim()
    with pytest.raises(StoreInUseError):
        Store(first).create_thread()
    assert Store(second).list_threads() == []
    second.close()
    Store(first).create_thread()
    first.close()


@pytest.mark.parametrize("revision", ["0001", "0031"])
@pytest.mark.parametrize("open_old", [Database.open_url, Database.open_read_only])
def test_a_postgresql_from_before_the_first_schema_is_refused_and_left_untouched(
    postgres: Postgres, postgres_url: str, revision: str, open_old: Callable[[str], Database]
) -> None:
    name = name_of(postgres_url)
    postgres.execute(f"UPDATE alembic_version SET version_num = '{revision}'", name)
    # The earliest had no such column.
    postgres.execute("ALTER TABLE alembic_version DROP COLUMN oldest_beside", name)
    relations = "SELECT relname, relfilenode, relnatts FROM pg_class ORDER BY 1"
    before = postgres.execute(relations, name)
    with pytest.raises(StoreUnavailableError, match=OF_BEFORE.format(r"[Tt]he database.*", revision)):
        open_old(postgres_url)
    assert postgres.execute(relations, name) == before
    assert postgres.execute("TABLE alembic_version", name) == [(revision,)]


def test_a_newer_schema_on_postgresql_is_refused_and_left_untouched(postgres: Postgres, postgres_url: str) -> None:
    postgres.execute("UPDATE alembic_version SET version_num = '9999', oldest_beside = '9999'", name_of(postgres_url))
    with pytest.raises(StoreUnavailableError, match=r"newer Waymark \(schema 9999\)"):
        Database.open_url(postgres_url)
    assert postgres.execute("SELECT version_num FROM alembic_version", name_of(postgres_url)) == [("9999",)]


def test_a_postgresql_database_of_something_else_gets_no_tables(postgres: Postgres) -> None:
    address = postgres.bare()
    postgres.execute("CREATE TABLE song (name text)", name_of(address))
    with pytest.raises(StoreUnavailableError, match="something else"):
        Database.open_url(address)
    listed = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert postgres.execute(listed, name_of(address)) == [("song",)]
    postgres.drop(address)


@pytest.mark.parametrize("where", ["127.0.0.1:1/name", "127.0.0.1:port/name", "no.host.invalid/name"])
def test_the_password_stands_in_no_error_and_in_no_log(where: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StoreUnavailableError) as caught:
        Database.open_url(f"postgresql+psycopg://user:s3cret@{where}")
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cret" not in f"{error} {error!r}"
        error = error.__cause__
    assert "s3cret" not in caplog.text


def test_a_change_that_the_server_gave_up_for_another_is_tried_again(postgres_store: Store) -> None:
    one, other = (postgres_store.create_thread().id for _ in range(2))
    together, tries = threading.Barrier(2), list[str]()

    @retry_contended
    def hold(first: str, second: str) -> None:
        tries.append(first)
        with postgres_store.database.begin_write() as connection:
            thread_rows.select_thread(connection, first)
            if len(tries) <= 2:
                together.wait(60)
            thread_rows.select_thread(connection, second)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(hold, one, other), pool.submit(hold, other, one)]:
            done.result()
    assert len(tries) > 2  # a slow server may give up more than one
    assert not postgres_store.database.outage


def test_a_statement_with_too_many_values_is_our_own_mistake_on_every_database(lasting_store: Store) -> None:
    asked = sa.select(schema.thread.c.id).where(schema.thread.c.id.in_([str(number) for number in range(70_000)]))
    refused = pytest.raises(StoreUnavailableError, match=re.escape(driver_errors.REFUSED))
    with refused, lasting_store.database.begin_read() as connection:
        connection.execute(asked)
    assert lasting_store.list_threads() == []
    assert lasting_store.database.outage == ""


def test_a_reading_that_takes_too_long_is_given_up_and_harms_no_other(store: Store) -> None:
    endless = {
        "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "postgresql": "SELECT pg_sleep(600)",
    }
    with pytest.raises(TakesTooLongError), store.database.begin_read(seconds=0.2) as connection:
        connection.exec_driver_sql(endless[store.database.kind])
    with pytest.raises(TakesTooLongError), store.database.begin_read(seconds=0.2):
        list(map(store.thread_exists, itertools.repeat("x")))  # many short statements are one long reading
    assert (store.list_threads(), store.database.outage) == ([], "")


def test_a_claim_that_was_cut_in_the_middle_of_work_is_taken_again(postgres_url: str) -> None:
    database = Database.open_url(postgres_url)
    claim = Claim(database.engine)
    with pytest.raises(sa.exc.OperationalError):
        claim.run(lambda connection: connection.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())")))
    assert claim.run(lambda connection: connection.scalar(sa.text("SELECT 1"))) == 1
    claim.close()
    database.close()
