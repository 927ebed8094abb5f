"""Two workers on one PostgreSQL: they lock rows in one order, and what the server gives up is tried again."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import pytest
import sqlalchemy as sa

from checkpoints import Caller, ConflictError, Database, Draft, OperationDetail, Runs, RunState, Store, StoreUnavailableError
from checkpoints.interchange import transfer
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.rows import file_rows, thread_rows
from checkpoints.storage import database, postgresql
from checkpoints.storage.database import retry_contended
from checkpoints.values.files import File, hash_bytes
from tests.checkpoints.conversations import new, talked, texts
from tests.postgres import Postgres, name_of

ROUNDS = 15


@pytest.fixture
def workers(postgres: Postgres, postgres_url: str) -> Iterator[tuple[Store, Store]]:
    """Two stores that share nothing but the database, whose server finds a deadlock at once."""
    postgres.execute(f"ALTER DATABASE {name_of(postgres_url)} SET deadlock_timeout = '20ms'")
    opened = Database.open_url(postgres_url), Database.open_url(postgres_url)
    yield Store(opened[0]), Store(opened[1])
    for each in opened:
        each.close()


@pytest.fixture
def deadlocks(workers: tuple[Store, Store]) -> list[str]:
    """The states of the server's errors that mean: given up for another."""
    found: list[str] = []

    def note(context: sa.ExceptionContext) -> None:
        state = getattr(context.original_exception, "sqlstate", None)
        found.extend([state] if state in ("40P01", "40001") else [])

    for store in workers:
        sa.event.listen(store.database.engine, "handle_error", note)
    return found


def together(*works: Callable[[], object]) -> list[object]:
    """Do these at the same time. Return what each returned, or its conflict."""
    start = threading.Barrier(len(works))

    def begin(work: Callable[[], object]) -> object:
        start.wait(60)
        try:
            return work()
        except ConflictError as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(begin, works))


def test_a_process_that_freezes_in_a_transaction_gives_its_locks_back(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "MAX_PAUSE_SECONDS", 0.2)
    with closing(Database.open_url(postgres_url)) as one, closing(Database.open_url(postgres_url)) as other:
        thread_id = talked(Store(one), "a", "b")

        def freeze_in_transaction() -> None:
            with one.begin_write() as connection:
                thread_rows.load_thread(connection, thread_id)
                Store(other).append(thread_id, new("c"))  # it waits for no more than the pause
                thread_rows.load_thread(connection, thread_id)

        with pytest.raises(StoreUnavailableError):
            freeze_in_transaction()
        assert texts(Store(one), thread_id) == ["a", "b", "c"]


def test_an_export_may_compute_for_long(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "MAX_PAUSE_SECONDS", 0.2)
    with closing(Database.open_url(postgres_url)) as opened:
        store = Store(opened)
        slow = ExportOptions(report=lambda _: time.sleep(0.3))
        assert len(transfer.export_document(store, talked(store, "a", "b"), slow)["messages"]) == 2


@pytest.mark.slow
def test_two_workers_that_end_summarise_and_write_the_same_run_never_wait_for_each_other(
    workers: tuple[Store, Store], deadlocks: list[str]
) -> None:
    store, (one, other) = workers[0], map(Runs, workers)
    thread_id = talked(store, "a", "b")

    def race() -> None:
        after = store.list_messages(thread_id)[1].id
        run = one.begin_run(thread_id, new("c")[0])
        together(
            lambda: one.replace_with_summary(run, new("", "short"), after=after, detail=OperationDetail()),
            lambda: other.end_run(run, RunState.STOPPED, last_messages=new("", "half")[1:]),
            lambda: other.commit_message(run, new("", "said")[1]),
            lambda: one.save_drafts({run.id: Draft("draft")}),
            other.interrupt_orphans,
        )

    for _ in range(ROUNDS):
        race()
        assert one.list_running_threads() == set()
    assert deadlocks == []
    assert texts(store, thread_id)[:2] == ["a", "b"]


@pytest.mark.slow
def test_two_workers_that_write_the_same_files_never_wait_for_each_other(
    workers: tuple[Store, Store], deadlocks: list[str]
) -> None:
    contents = [bytes([number]) * 9 for number in range(40)]
    files = [File(hash_bytes(content), "a.txt", "text/plain", content) for content in contents]

    @retry_contended
    def write(store: Store, these: list[File]) -> None:
        with store.database.begin_write() as connection:
            file_rows.write_files(connection, these, now=0)

    for _ in range(ROUNDS):
        together(partial(write, workers[0], files), partial(write, workers[1], files[::-1]))
        with workers[0].database.begin_write() as connection:
            connection.exec_driver_sql("DELETE FROM file")
    assert deadlocks == []


def test_a_request_that_comes_to_two_workers_at_once_copies_a_conversation_once(workers: tuple[Store, Store]) -> None:
    thread_id = talked(workers[0], "a", "b")
    by = Caller(request_id="r1")
    made = together(*[lambda store=store: store.fork_thread(thread_id, None, caller=by).result for store in workers * 2])
    assert len(set(made)) == 1
    assert len(workers[0].list_threads()) == 2


def test_a_pool_without_a_free_connection_is_not_called_a_database_that_does_not_answer(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "MAX_LOCK_WAIT_SECONDS", 1)
    busy = Database.open_url(postgres_url)
    held = [busy.engine.connect() for _ in range(10)]
    with pytest.raises(StoreUnavailableError, match=r"^The database is overloaded\.$"):
        Store(busy).list_threads()
    for connection in held:
        connection.close()
    assert Store(busy).list_threads() == []
    busy.close()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT 1 FROM nothing", "The database refused what it was asked."),
        ("SELECT 1 / 0", "The database refused what it was asked."),
        ("DO $$ BEGIN RAISE SQLSTATE '53300'; END $$", "The database server has no memory or no connection left."),
        ("DO $$ BEGIN RAISE SQLSTATE '53100'; END $$", "The disk is full: nothing can be saved."),
        ("DO $$ BEGIN RAISE SQLSTATE 'XX001'; END $$", "The database server reported an error (SQLSTATE XX001)."),
        ("DO $$ BEGIN RAISE SQLSTATE '57P03'; END $$", "The database server does not answer."),
        (
            "SET LOCAL ROLE pg_monitor; DELETE FROM thread",
            "The role in DATABASE_URL has no right to do that: it should own the database and its tables.",
        ),
    ],
)
def test_only_a_server_that_does_not_answer_is_said_not_to(postgres_store: Store, statement: str, said: str) -> None:
    with pytest.raises(StoreUnavailableError) as caught, postgres_store.database.begin_write() as connection:
        connection.exec_driver_sql(statement)
    assert str(caught.value) == said


def test_a_server_that_refuses_the_connection_is_not_said_to_be_silent(postgres_url: str) -> None:
    with pytest.raises(StoreUnavailableError, match=r"^The database server refuses the connection\.$"):
        Database.open_url(postgres_url.replace("postgres@", "nobody@"))
