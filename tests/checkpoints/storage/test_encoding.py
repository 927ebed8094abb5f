"""A PostgreSQL database that cannot hold every text is refused at the start."""

import psycopg
import pytest

from checkpoints import Database, StoreUnavailableError
from tests.postgres import name_of


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_another_encoding_is_named_in_one_sentence(encoding: str, postgres_url: str) -> None:
    name = f"{name_of(postgres_url)}_{encoding.lower()}"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(StoreUnavailableError, match=f"has the encoding {encoding}: Waymark needs UTF8"):
                Database.open_url(postgres_url.replace(name_of(postgres_url), name))
        finally:
            connection.execute(f"DROP DATABASE {name}")
