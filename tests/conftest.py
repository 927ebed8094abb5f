"""What several test files share: stores in memory, in a file and on PostgreSQL, and a clock that a test may turn."""

import gc
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings

from checkpoints import Database, Store
from tests.checkpoints.conversations import talked
from tests.fakes.server import FakeServer
from tests.postgres import Postgres
from tests.quick_apps import look_for_no_hooks, share_route_parameters
from tests.quick_databases import copy_empty_database, replay_tables, share_statements
from tests.rounds import Rounds, find_left_cells, find_other_half, put_pages_first
from words import SOURCE_LANGUAGE, set_language

QUICK = "not long and not slow"
ALL_ARE_SLOW = re.compile(r"^pytestmark = (\[.*)?pytest\.mark\.(slow|long)\b", re.MULTILINE)

settings.register_profile("waymark", deadline=None)  # speed is measured in benchmarks/, never asserted
settings.load_profile("waymark")
share_statements()
copy_empty_database()
replay_tables()
share_route_parameters()
look_for_no_hooks()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", type=float, default=1.0, help="of the rounds of the long proofs: 0.05 is a twentieth")
    parser.addoption("--cells", type=float, default=1.0, help="of the cells of the long grids: 0.25 is each fourth")
    parser.addoption("--half", type=int, choices=(0, 1), help="of the slow tests")


def pytest_configure(config: pytest.Config) -> None:
    """Leave slow tests to `make test-slow` where everything would run. A file or a test that is named runs whole."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and config.option.markexpr == "not long":
        config.option.markexpr = QUICK


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spare the quick run the import of files in which all tests are slow: a tenth of what each process collects."""
    is_left = config.option.markexpr == QUICK and collection_path.suffix == ".py"
    return True if is_left and ALL_ARE_SLOW.search(collection_path.read_text(encoding="utf-8")) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cells of long grids and the half of the slow tests that were not asked for. Order the others."""
    if config.option.markexpr == QUICK:
        put_pages_first(items)
    if config.getoption("lf", default=False):  # they were chosen before
        return
    if config.option.cells < 1:
        _leave_out(config, items, find_left_cells(items, config.option.cells))
    if config.option.half is not None:
        _leave_out(config, items, find_other_half(items, config.option.half))


def _leave_out(config: pytest.Config, items: list[pytest.Item], left: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=left)
    are_left = set(left)
    items[:] = [item for item in items if item not in are_left]


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and the tests, which stay: looking through them took a fifth of all time."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are processors: servers, pages and databases are waited for, by slow tests for longer."""
    return (os.cpu_count() or 1) + (4 if config.option.markexpr.startswith("slow") else 2)


@pytest.fixture
def german() -> Iterator[None]:
    """The texts of the page are German in the test."""
    set_language("de")
    yield
    set_language(SOURCE_LANGUAGE)


@pytest.fixture
def rounds(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Iterator[Rounds]:
    """How often a long proof goes round; the end of the run says how often each did."""
    rounds = Rounds(request.config.getoption("share"))
    yield rounds
    remark = f", {rounds.remark}" if rounds.remark else ""
    record_property("rounds", f"{rounds.gone:,} of {rounds.all:,} rounds{remark}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many rounds ran."""
    reports = [
        each for reports in terminalreporter.stats.values() for each in reports if isinstance(each, pytest.TestReport)
    ]
    gone = [(each.nodeid, text) for each in reports for name, text in each.user_properties if name == "rounds"]
    if gone:
        terminalreporter.section("rounds of the long proofs")
    for test, text in sorted(set(gone)):
        terminalreporter.line(f"{text}  {test}")


@pytest.fixture
def refusals_expected() -> None:
    """For a test that sends what a fake has to refuse, to see that it does."""


@pytest.fixture(autouse=True)
def nothing_refused(request: pytest.FixtureRequest) -> Iterator[None]:
    """The fakes judge every request of every test, also those of servers in processes of their own: one refusal fails it."""
    yield
    refused = FakeServer.refusals[:]
    FakeServer.refusals.clear()
    assert refused == [] or "refusals_expected" in request.fixturenames


@pytest.fixture(scope="session", autouse=True)
def nothing_refused_at_the_end() -> Iterator[None]:
    """What servers that outlive a test ask for after the last one."""
    yield
    assert FakeServer.refusals == []


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
def memory_store(clock: Clock) -> Iterator[Store]:
    """A store in memory."""
    database = Database.in_memory()
    yield Store(database, now=clock)
    database.close()


@pytest.fixture
def store(memory_store: Store) -> Store:
    """The store of a test to which the database does not matter."""
    return memory_store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a database may be made."""
    return tmp_path / "data" / "waymark.db"


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database file, to be copied: making one takes seven times as long."""
    path = tmp_path_factory.mktemp("empty") / "waymark.db"
    Database.open_file(path).close()
    return path


@pytest.fixture
def file_store(file: Path, empty_file: Path, clock: Clock) -> Iterator[Store]:
    """A store in a file."""
    file.parent.mkdir(mode=0o700)
    shutil.copy(empty_file, file)
    database = Database.open_file(file)
    yield Store(database, now=clock)
    database.close()


@pytest.fixture
def public_file(empty_file: Path) -> Iterator[Path]:
    """A database in a folder that its user may not write; pytest's own folders are closed to other users."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "waymark.db"
    shutil.copy(empty_file, file)
    database = Database.open_file(file)
    talked(Store(database), "a", "b")
    database.close()
    yield file
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests, started when the first asks."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The address of an empty database of the test's own."""
    with postgres.lend_to_anybody() as address:
        yield address


@pytest.fixture
def ordinary_url(postgres: Postgres) -> Iterator[str]:
    """The address of a test's own empty database, for a role that is no superuser: row-level security binds it."""
    with postgres.lend_to_anybody(is_ordinary=True) as address:
        yield address


@pytest.fixture
def ordinary_store(postgres: Postgres, clock: Clock) -> Iterator[Store]:
    """A store on PostgreSQL for a role that is no superuser: row-level security binds it."""
    address = postgres.lend(is_ordinary=True)
    database = Database.open_url(address)
    yield Store(database, now=clock)
    database.close()
    postgres.take_back(address)


@pytest.fixture
def postgres_store(postgres: Postgres, clock: Clock) -> Iterator[Store]:
    """A store on PostgreSQL."""
    address = postgres.lend()
    database = Database.open_url(address)
    yield Store(database, now=clock)
    database.close()
    postgres.take_back(address)
