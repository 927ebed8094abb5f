"""The migration that makes SQLite's tables smaller, on a file of before."""

from pathlib import Path

import sqlalchemy as sa

from checkpoints import Database, Store
from checkpoints.people.accounts import Accounts, Role
from checkpoints.people.stored_sessions import SessionLimits, StoredSession, StoredSessions
from checkpoints.storage import schema
from checkpoints.upkeep import verification
from tests.checkpoints.conversations import dump, talked
from tests.checkpoints.storage.revisions import revert_schema
from tests.checkpoints.upkeep.test_verification import lived


def fill(store: Store) -> None:
    """Write rows of many kinds, some of which refer to others, as a session does to its person."""
    store.tag_thread(lived(store), add=["Work"])
    accounts = Accounts(store)
    accounts.invite("first", Role.ADMIN, made_by="", days=1)
    ada = accounts.accept_invitation("first", "ada", "hash")
    accounts.invite("second", Role.ADMIN, made_by="ada", days=1, person="ada")
    now = store.now().timestamp()
    session = StoredSession("id", "cookie", "key", "Firefox", now, now, "ada", ada.role)
    StoredSessions(store, SessionLimits(60, 60, 10), store.now).begin(session, "hash")


def test_an_older_file_keeps_every_row_in_smaller_tables(file: Path) -> None:
    database = Database.open_file(file)
    fill(Store(database))
    damaged = talked(Store(database), "a", "b")
    with database.begin_write() as connection:
        connection.execute(sa.update(schema.message).where(schema.message.c.thread_id == damaged).values(hash="nothing"))
    before = dump(Store(database))
    with database.begin_write() as connection:
        revert_schema(connection, "0026")
    with database.begin_read() as connection:
        kinds = "SELECT typeof(hash), count(*) FROM message GROUP BY 1"
        assert connection.exec_driver_sql(kinds).all() == [("text", len(before["message"]))]
    database.close()
    database = Database.open_file(file)
    store = Store(database)
    assert dump(store) == before
    assert all(before[name] for name in ("session", "invitation", "thread_tag", "search_entry"))
    with database.begin_read() as connection:
        assert dict(connection.exec_driver_sql(kinds).all()) == {"blob": len(before["message"]) - 2, "text": 2}
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    assert {damage.thread_id for damage in verification.verify(database).damages} == {damaged}
    database.close()
