"""Every test here that takes a store is a part of the contract: it holds in memory, in a file and on PostgreSQL alike.

The ordinary run leaves the file to the long one: its statements are those of the store in memory. Files, locks and several
connections have tests of their own (`lasting_store`).
"""

import pytest

from checkpoints import Store


@pytest.fixture(
    params=["memory", pytest.param("file", marks=pytest.mark.long), pytest.param("postgresql", marks=pytest.mark.slow)]
)
def store(request: pytest.FixtureRequest) -> Store:
    fixture = {"memory": "memory_store", "file": "file_store", "postgresql": "postgres_store"}[request.param]
    found: Store = request.getfixturevalue(fixture)
    return found


@pytest.fixture(params=["memory", "postgresql"])
def store_on_both(request: pytest.FixtureRequest) -> Store:
    """A store of either database, also in the ordinary run: for LangGraph's own claims."""
    found: Store = request.getfixturevalue({"memory": "memory_store", "postgresql": "postgres_store"}[request.param])
    return found


@pytest.fixture(params=["file", "postgresql"])
def lasting_store(request: pytest.FixtureRequest) -> Store:
    """A store with connections of their own for those who ask at the same time; it outlives the process."""
    found: Store = request.getfixturevalue({"file": "file_store", "postgresql": "postgres_store"}[request.param])
    return found


@pytest.fixture(params=["file", "postgresql"])
def address(request: pytest.FixtureRequest) -> str:
    """Of an empty database, as DATABASE_URL names it."""
    if request.param == "file":
        return f"sqlite:///{request.getfixturevalue('file')}"
    found: str = request.getfixturevalue("postgres_url")
    return found
