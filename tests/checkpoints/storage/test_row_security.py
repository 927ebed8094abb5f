"""The second line between people: PostgreSQL itself shows nobody a row of somebody else, whatever a statement forgets."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from checkpoints import EVERYBODY, Database, Store, StoreUnavailableError, ThreadNotFoundError, act_for
from checkpoints.people.audit_log import AuditLog
from checkpoints.rows import usage_rows
from checkpoints.rows.account_rows import Role
from checkpoints.rows.value_rows import Value, insert_values
from checkpoints.storage import schema
from checkpoints.storage.ownership import find_role
from checkpoints.storage.postgresql import POOL_SIZE
from checkpoints.values.audit_entry import AuditKind
from checkpoints.values.model import ThreadRole
from extensions.fleet.workers import Workers
from extensions.people.accounts import Accounts
from tests.people import Things, fill
from tests.postgres import Postgres

OPEN = {  # to everybody, and why
    "state_shape": "names of channels, once for all states that share them; found by hash",
    "search_entry": "the index of words serves no condition behind a policy; what it finds is read through the others",
    "worker": "of processes",
    "alembic_version": "of the schema",
}
STATE_ID = "1f0c9b2e-0000-6000-8000-000000000000"
OWNERS = ("ann", "bob")
MEMBERS = {"ann": ("eve", "fay"), "bob": ("gil", "hal")}  # of their conversations: an editor, and a reader
OF_THREADS = ("segment", "message", "branch", "checkpoint", "operation", "state", "state_write", "run", "candidate", "rerun")


@dataclass
class Town:
    store: Store
    ann: Things
    bob: Things

    def count(self, table: str, owner: str | None) -> int:
        """Count the rows that a statement finds which forgot its owner."""
        with act_for(owner), self.store.database.begin_read() as connection:
            return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


@pytest.fixture(scope="module")
def town(postgres: Postgres) -> Iterator[Town]:
    """Two people with a row in every table."""
    address = postgres.ordinary()
    database = Database.open_url(address)
    store = Store(database)
    worker = Workers.join(store, "a process")
    database.separate_owners()
    accounts = Accounts(store)
    for each in OWNERS:
        accounts.invite(f"token-{each}", Role.MEMBER, made_by="x", days=1)
        accounts.accept_invitation(f"token-{each}", each, "hash")
        accounts.invite(f"other-{each}", Role.MEMBER, made_by="x", days=1)
    things = {each: fill(store, each) for each in OWNERS}
    for each in OWNERS:
        _put_state(store, each, things[each].thread)
        _put_rows_of_the_door(store, each, things[each].thread)
    for each, (editor, reader) in MEMBERS.items():
        with act_for(each):
            _let_in(store, things[each].thread, editor, ThreadRole.EDITOR)
            _let_in(store, things[each].thread, reader, ThreadRole.READER)
    yield Town(store, things["ann"], things["bob"])
    worker.leave()
    database.close()
    postgres.drop(address)


def _let_in(store: Store, thread_id: str, person: str, role: ThreadRole) -> None:
    row = {"thread_id": thread_id, "person": person, "role": role, "added_by": "x", "added_at": 0}
    with store.database.begin_write() as connection:
        connection.execute(sa.insert(schema.thread_member).values(row))


def _put_state(store: Store, owner: str, thread_id: str) -> None:
    state = {"thread_id": thread_id, "namespace": "", "checkpoint_id": STATE_ID, "hash": b"x", "leaves": b"[]", "shape": 1}
    write = {"thread_id": thread_id, "namespace": "", "checkpoint_id": STATE_ID, "task_id": "x", "task_path": ""}
    with act_for(owner), store.database.begin_write() as connection:
        connection.execute(sa.insert(schema.state).values(**state, is_input=False))
        place = {"position": 0, "resumed": False, "late": False}
        connection.execute(sa.insert(schema.state_write).values(**write, **place, channel="x", type="json", bytes=b"x"))
        insert_values(connection, [Value.of("json", owner.encode())], thread_id)
        usage_rows.add_call(connection, owner, 0, "demo", {"input_tokens": 1})


def _put_rows_of_the_door(store: Store, owner: str, thread_id: str) -> None:
    rows: dict[sa.Table, dict[str, object]] = {
        schema.session: {
            **{"id": owner, "cookie_hash": owner, "page_key_hash": "x", "person": owner, "browser": "x"},
            **{"signed_in_at": 0, "seen_at": 0},
        },
        schema.sign_in_counter: {"key_hash": owner, "clear_at": 0},
        schema.identity: {"id": owner, "person": owner},
        schema.upload: {"id": owner, "owner": owner, "size": 1, "bytes": b"x", "created_at": 0},
        schema.long_request: {"owner": owner, "id": "x", "changed_at": 0},
        schema.share: {
            **{"id": owner, "token_hash": owner, "thread_id": thread_id, "redaction": {}, "shows_name": False},
            **{"created_at": 0, "expires_at": 0, "opened": 0},
        },
    }
    with act_for(EVERYBODY), store.database.begin_write() as connection:
        for table, row in rows.items():
            connection.execute(sa.insert(table).values(row))
    with act_for(owner):
        AuditLog(store).record(AuditKind.EXPORT, {})
        store.change_settings(thread_id, {"model": "demo"})


def _list_tables() -> list[str]:
    return [each.name for each in schema.metadata.sorted_tables if each.name not in OPEN]


@pytest.mark.parametrize("table", _list_tables())
def test_a_statement_that_forgot_its_owner_finds_only_rows_of_who_acts(town: Town, table: str) -> None:
    every, of_ann = town.count(table, EVERYBODY), town.count(table, "ann")
    assert every > 0, f"let the town have a row of {table}, or say in OPEN why everybody may have it"
    assert of_ann == town.count(table, "bob") < every
    assert town.count(table, "carol") == 0


@pytest.mark.parametrize("table", _list_tables())
def test_nobody_changes_a_row_of_somebody_else(town: Town, table: str) -> None:
    with act_for("carol"), town.store.database.begin_write() as connection:
        column = next(iter(schema.metadata.tables[table].c)).name
        assert connection.exec_driver_sql(f"UPDATE {table} SET {column} = {column}").rowcount == 0
        assert connection.exec_driver_sql(f"DELETE FROM {table}").rowcount == 0


@pytest.mark.parametrize("table", _list_tables())
def test_a_transaction_without_an_owner_finds_nothing(town: Town, table: str) -> None:
    with town.store.database.engine.connect() as connection:
        assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0


def test_nobody_writes_a_row_for_somebody_else(town: Town) -> None:
    statement = f"INSERT INTO segment (thread_id, fork_depth) VALUES ('{town.ann.thread}', -1)"
    with pytest.raises(StoreUnavailableError), act_for("bob"), town.store.database.begin_write() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("person", MEMBERS["ann"])
@pytest.mark.parametrize("table", _list_tables())
def test_a_member_finds_the_rows_of_that_conversation_alone(town: Town, table: str, person: str) -> None:
    shared = table in ("thread", *OF_THREADS)
    assert town.count(table, person) == (town.count(table, "ann") if shared else int(table == "thread_member"))


@pytest.mark.parametrize("table", ["thread", *OF_THREADS, "thread_member"])
def test_a_reader_changes_no_row_of_it(town: Town, table: str) -> None:
    column = next(iter(schema.metadata.tables[table].c)).name
    with act_for("fay"):
        with pytest.raises(StoreUnavailableError), town.store.database.begin_write() as connection:
            connection.exec_driver_sql(f"UPDATE {table} SET {column} = {column}")
        if table != "thread_member":  # they may leave
            with town.store.database.begin_write() as connection:
                assert connection.exec_driver_sql(f"DELETE FROM {table}").rowcount == 0


def test_an_editor_changes_rows_and_lets_nobody_in(town: Town) -> None:
    with act_for("eve"):
        with town.store.database.begin_write() as connection:
            for table in ("thread", *OF_THREADS):
                column = next(iter(schema.metadata.tables[table].c)).name
                count = connection.exec_driver_sql(f"UPDATE {table} SET {column} = {column}").rowcount
                assert count == town.count(table, "ann"), table
            assert connection.exec_driver_sql("DELETE FROM thread").rowcount == 0
        with pytest.raises(StoreUnavailableError):
            _let_in(town.store, town.ann.thread, "ivy", ThreadRole.READER)
        with pytest.raises(ThreadNotFoundError):
            _let_in(town.store, town.bob.thread, "eve", ThreadRole.EDITOR)


@pytest.mark.parametrize(("person", "taker"), [("eve", "eve"), ("ann", "bob"), ("ann", "eve")])
def test_nobody_changes_who_owns_a_conversation(town: Town, person: str, taker: str) -> None:
    """An editor may change its row, and its owner every column but this."""
    with act_for(person):
        with pytest.raises(StoreUnavailableError):
            _give_away(town.store, town.ann.thread, taker)
        _give_away(town.store, town.ann.thread, "ann")
    with act_for(EVERYBODY):
        for owner in ("zoe", "ann"):
            _give_away(town.store, town.ann.thread, owner)
            assert town.store.get_thread(town.ann.thread).owner == owner


def _give_away(store: Store, thread_id: str, owner: str) -> None:
    with store.database.begin_write() as connection:
        find_role(connection, thread_id)
        result = connection.exec_driver_sql("UPDATE thread SET owner = %s WHERE id = %s", (owner, thread_id))
        assert result.rowcount == 1


def test_a_superuser_at_a_terminal_gives_a_conversation_to_another(postgres_store: Store) -> None:
    thread = postgres_store.create_thread().id
    with postgres_store.database.engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL waymark.everybody = ''")
        connection.exec_driver_sql("UPDATE thread SET owner = 'zoe'")
    assert postgres_store.get_thread(thread).owner == "zoe"


def test_an_owner_is_forgotten_with_the_transaction(town: Town) -> None:
    """The next one of the same session begins with nobody's."""
    assert town.count("thread", "ann") == 1
    assert town.count("thread", EVERYBODY) == 2
    for _ in range(POOL_SIZE):
        with town.store.database.engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM thread").scalar() == 0


def test_a_name_is_a_value_and_no_statement(town: Town) -> None:
    assert town.count("thread", "x'; SET LOCAL waymark.everybody = 'on") == 0


def test_one_person_needs_no_owner(town: Town) -> None:
    """Where nobody is told apart, the same tables are one person's."""
    database = Database.open_url(town.store.database.engine.url.render_as_string(hide_password=False))
    with database.begin_read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM thread").scalar() == 2
    database.close()


def test_a_superuser_is_warned_that_the_second_line_is_missing(
    postgres_store: Store, ordinary_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        ordinary_store.database.separate_owners()
    assert "row-level security" not in caplog.text
    with caplog.at_level(logging.WARNING):
        postgres_store.database.separate_owners()
    assert "row-level security" in caplog.text
