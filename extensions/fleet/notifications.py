"""PostgreSQL notifications between processes, on separate connections for sending and listening.

They are never sent in a transaction of the store: a transaction that notifies locks the whole server at its commit.
This module is imported for PostgreSQL only.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any

import psycopg
import sqlalchemy as sa

from checkpoints.storage.database import MAX_LOCK_WAIT_SECONDS
from checkpoints.storage.driver_errors import SILENT_TEXT
from checkpoints.storage.postgresql import build_connect_options
from checkpoints.values.errors import StoreUnavailableError

CHANNEL = "waymark"
MAX_SEND_SECONDS = 3.0
_SEND = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) WITH ORDINALITY AS each (payload, place) ORDER BY place"


class Notifications:
    """Send and receive ASCII texts of less than 8,000 bytes. Every listener gets all of them, in order."""

    def __init__(self, engine: sa.Engine) -> None:
        _, given = engine.dialect.create_connect_args(engine.url)
        self._options: dict[str, Any] = {**given, **build_connect_options(MAX_LOCK_WAIT_SECONDS)}
        self._sender: psycopg.AsyncConnection[Any] | None = None

    async def send(self, payloads: Sequence[str]) -> None:
        """Send all payloads or none. Raises `StoreUnavailableError`, though they may have been sent all the same."""
        try:
            async with asyncio.timeout(MAX_SEND_SECONDS):
                if self._sender is None:
                    self._sender = await self._connect()
                    await self._sender.execute("SET synchronous_commit = off")
                await self._sender.execute(_SEND, [CHANNEL, list(payloads)])
        except (psycopg.Error, OSError, TimeoutError) as error:
            await self.close()
            raise _translate_error() from error

    async def listen(self, idle_seconds: float) -> AsyncGenerator[str]:
        """Yield the payloads sent from now on. Yield "" at the beginning and whenever nothing arrives for `idle_seconds`.

        Raises `StoreUnavailableError`.
        """
        try:
            connection = await self._connect()
            try:
                await connection.execute(f"LISTEN {CHANNEL}")
                yield ""
                async with aclosing(_read_payloads(connection.pgconn, idle_seconds)) as payloads:
                    async for payload in payloads:
                        yield payload
            finally:
                with suppress(psycopg.Error, OSError):
                    await connection.close()
        except (psycopg.Error, OSError) as error:
            raise _translate_error() from error

    async def close(self) -> None:
        """Close the sender's connection. The next `send` opens another."""
        sender, self._sender = self._sender, None
        if sender is not None:
            with suppress(psycopg.Error, OSError):
                await sender.close()

    async def _connect(self) -> "psycopg.AsyncConnection[Any]":
        return await psycopg.AsyncConnection.connect(**self._options, autocommit=True)


async def _read_payloads(connection: psycopg.pq.abc.PGconn, idle_seconds: float) -> AsyncGenerator[str]:
    """Yield each payload, or "" after an idle time. `psycopg.notifies` would poll ten times a second."""
    arrived, loop = asyncio.Event(), asyncio.get_running_loop()
    descriptor = connection.socket
    loop.add_reader(descriptor, arrived.set)
    try:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(idle_seconds):
                    await arrived.wait()
            if not arrived.is_set():
                yield ""
            arrived.clear()
            connection.consume_input()
            while notification := connection.notifies():
                yield notification.extra.decode()
    finally:
        loop.remove_reader(descriptor)


def _translate_error() -> StoreUnavailableError:
    return StoreUnavailableError(SILENT_TEXT)
