"""A pooler that gives each transaction another session is named at the start; one that keeps sessions does no harm."""

from pathlib import Path

import pytest

from checkpoints import Database, StoreUnavailableError
from checkpoints.storage import postgresql
from tests.fakes.pooler import FakePooler
from tests.postgres import name_of

pytestmark = pytest.mark.slow


@pytest.fixture
def socket(postgres_url: str) -> Path:
    return Path(postgres_url.partition("host=")[2]) / ".s.PGSQL.5432"


def _name_address(pooler: FakePooler, postgres_url: str) -> str:
    return f"postgresql+psycopg://postgres@127.0.0.1:{pooler.port}/{name_of(postgres_url)}"


def test_a_pooler_in_transaction_mode_is_named_in_one_sentence(
    socket: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "MAX_CHECK_SECONDS", 0.2)
    with FakePooler(socket) as pooler, pytest.raises(StoreUnavailableError, match="pooler in transaction mode stands"):
        Database.open_url(_name_address(pooler, postgres_url))


def test_a_pooler_in_session_mode_is_used(socket: Path, postgres_url: str) -> None:
    with FakePooler(socket, keeps_sessions=True) as pooler:
        Database.open_url(_name_address(pooler, postgres_url)).close()
