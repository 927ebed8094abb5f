"""One sign-in on its way to the provider and back: its secrets, which wait in a cookie of the browser that began it."""

import secrets
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote, unquote

from people.forms import clean_next_path

MAX_SECONDS = 600
MAX_NEXT_CHARS = 1_000


def _create_secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class AuthenticationRequest:
    """The state names the browser, the nonce the token, and the verifier (PKCE) the code: each fits this sign-in alone."""

    next_path: str
    state: str = field(default_factory=_create_secret)
    nonce: str = field(default_factory=_create_secret)
    verifier: str = field(default_factory=_create_secret)

    def format_cookie(self) -> str:
        next_path = self.next_path if len(self.next_path) <= MAX_NEXT_CHARS else "/"
        return ".".join((self.state, self.nonce, self.verifier, quote(next_path, safe="")))

    @classmethod
    def parse_cookie(cls, value: str) -> Self | None:
        """Return the sign-in of a cookie; None for anything else."""
        state, *rest = value.split(".", 3)
        if len(rest) != 3 or not all((state, *rest)):
            return None
        nonce, verifier, next_path = rest
        return cls(clean_next_path(unquote(next_path)), state, nonce, verifier)

    def is_answered_by(self, state: str) -> bool:
        return secrets.compare_digest(state.encode("utf-8", "replace"), self.state.encode("utf-8", "replace"))
