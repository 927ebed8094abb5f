"""The sign-in as the panels see it: the request of a callback, the sessions of its person, and the people of the server."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from starlette.types import Scope

_request: ContextVar[Scope] = ContextVar("request")


@contextmanager
def note_request(scope: Scope) -> Iterator[None]:
    """Let `get_request` return this request in the block, and in its tasks."""
    token = _request.set(scope)
    try:
        yield
    finally:
        _request.reset(token)


def get_request() -> Scope:
    """Return the current request. Its state has the session, if people sign in here."""
    return _request.get()


class SignedInBrowser(Protocol):
    """A session. Times are seconds since 1970."""

    @property
    def id(self) -> str: ...
    @property
    def browser(self) -> str: ...
    @property
    def signed_in_at(self) -> float: ...
    @property
    def seen_at(self) -> float: ...


class OwnSessions(Protocol):
    """The sessions of a request's person."""

    def find_current(self, request: Scope) -> SignedInBrowser | None: ...

    async def list_open(self, request: Scope) -> Sequence[SignedInBrowser]: ...

    async def end(self, request: Scope, session_ids: Collection[str]) -> str:
        """End those that are the person's own. Return a problem, or an empty text."""
        ...


class ServerPeople(Protocol):
    """The people who sign in here. What an admin asks of them is the extension's own."""

    @property
    def has_passwords(self) -> bool:
        """Return whether people have passwords and invitations. Otherwise a provider knows them and their roles."""
        ...
