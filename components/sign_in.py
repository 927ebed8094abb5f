"""The sign-in as the panels see it: the request of a callback, the sessions of its person, and the people of the server.

`server.session` and `extensions.people.admin` implement it.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from starlette.types import Scope

from checkpoints.people.account_rows import Account, Role
from checkpoints.upkeep.person_erasure import PersonErasure

if TYPE_CHECKING:
    from checkpoints.people.accounts import Invitation

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
    """The people who sign in here. The changes are for admins, and raise `InvalidAccountError`."""

    @property
    def has_passwords(self) -> bool:
        """Return whether people have passwords and invitations. Otherwise a provider knows them and their roles."""
        ...

    async def change_password(self, request: Scope, former: str, new: str) -> str:
        """Change the password of a request's person. Return the problem, or an empty text."""
        ...

    async def list_people(self) -> Sequence[tuple[Account, int]]:
        """Return the accounts, each with the number of browsers where it is signed in."""
        ...

    async def list_links(self) -> Sequence["Invitation"]: ...

    async def make_link(self, request: Scope, role: Role, days: int, person: str | None = None) -> str:
        """Make a link for a single use: for a new person, or for a new password of a person."""
        ...

    async def end_link(self, request: Scope, link_id: str) -> None: ...

    async def change_role(self, request: Scope, name: str, role: Role) -> None: ...

    async def count_things(self, name: str) -> PersonErasure:
        """Count what `erase` would erase."""
        ...

    async def erase(self, request: Scope, name: str) -> PersonErasure: ...
