"""Passwords: their rules and their hashes. argon2 takes 64 MB and a tenth of a second, so hashes are made in turn."""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from checkpoints.rows.account_rows import MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS, InvalidAccountError
from checkpoints.values.sentence import sentence

MIN_DIFFERENT_CHARS = 5
MAX_WAITING = 50
T = TypeVar("T")


class TooBusyError(Exception):
    """Too many passwords are being checked at once."""


class Passwords:
    """Hash and check passwords on a separate thread."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        # One lane on one thread: many wrong passwords at once leave the other processors and the memory free.
        self._hasher = hasher or PasswordHasher(parallelism=1)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="waymark-password")
        self._waiting = 0
        self._hash_of_nobody = self._hasher.hash(secrets.token_urlsafe(32))

    async def hash(self, password: str) -> str:
        """Raises `TooBusyError`."""
        return await self._run(lambda: self._hasher.hash(password))

    async def verify(self, stored: str | None, password: str) -> bool:
        """Return whether a password fits its hash. Without a hash it takes as long, and nothing fits.

        Raises `TooBusyError`.
        """
        fits = await self._run(lambda: self._fits(stored or self._hash_of_nobody, password[:MAX_PASSWORD_CHARS]))
        return fits and stored is not None and len(password) <= MAX_PASSWORD_CHARS

    def is_outdated(self, stored: str) -> bool:
        """Return whether a hash was made with weaker parameters than today's."""
        return self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        self._pool.shutdown()

    def _fits(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING:
            raise TooBusyError
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting -= 1


def check_password(password: str, name: str) -> None:
    """Raise `InvalidAccountError` for an easily guessed password."""
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise InvalidAccountError(sentence("A password has at least {least} characters.", least=MIN_PASSWORD_CHARS))
    if len(set(password)) < MIN_DIFFERENT_CHARS:
        raise InvalidAccountError(
            sentence("A password has at least {least} different characters.", least=MIN_DIFFERENT_CHARS)
        )
    rest = password.casefold().replace(name.casefold(), "").replace("waymark", "")
    if len(rest) < MIN_PASSWORD_CHARS / 2:
        raise InvalidAccountError(sentence("This password is little more than a name. Choose another."))
