"""The sign-in: a link that works once, and the signed cookie that the browser gets for it."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from pathlib import Path

from itsdangerous import BadSignature, TimestampSigner

MAX_COOKIE_SECONDS = 30 * 24 * 3600
_SECRET_BYTES = 32
_MIN_DIFFERENT_BYTES = 12  # random ones have about 30; one secret in 10^17 has fewer
_log = logging.getLogger(__name__)


class Session:
    """The session of the one person who opens the printed link. `secret` signs the cookies and outlives restarts.

    The cookie's name carries the port, because browsers share cookies between all ports of a host.
    """

    def __init__(self, secret: bytes, *, port: int) -> None:
        if len(secret) < 16:
            raise ValueError("a session secret has at least 16 bytes")
        self.cookie_name = f"waymark_{port}"
        self._signer = TimestampSigner(secret, salt="waymark session", digest_method=hashlib.sha256)
        self._token: bytes | None = None

    def issue_link_token(self) -> str:
        """Return a new launch token, for `/?token=...`; an earlier one that was not used stops working."""
        token = secrets.token_urlsafe(32)
        self._token = token.encode()
        return token

    @property
    def has_open_link(self) -> bool:
        """Return whether an issued link is still unused."""
        return self._token is not None

    def redeem_link_token(self, token: str) -> bool:
        """Use the launch token up; false for any other. The comparison takes the same time for every guess."""
        if self._token is None or not secrets.compare_digest(token.encode("utf-8", "replace"), self._token):
            return False
        self._token = None
        return True

    def issue_cookie(self) -> str:
        """Return a cookie value that is valid for MAX_COOKIE_SECONDS."""
        return self._signer.sign(secrets.token_urlsafe(16)).decode()

    def is_valid(self, value: str) -> bool:
        """Return whether this is a value that we issued, and that has not expired.

        A value from the future is valid: the clock was stepped back since.
        """
        try:
            _, issued_at = self._signer.unsign(value, return_timestamp=True)
        except BadSignature:
            return False
        return self._signer.get_timestamp() - issued_at.timestamp() <= MAX_COOKIE_SECONDS


def load_secret(folder: Path) -> bytes:
    """Load the secret that signs the cookies, or create it. It is kept, so that a restart logs nobody out.

    A secret that was cut off or overwritten is replaced by a new one, which signs everybody out. Raises `OSError` when
    the folder cannot be used.
    """
    path = folder / "session.key"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists():
        if _is_secret(secret := path.read_bytes()):
            return secret
        _log.warning("%s is damaged: a new key was made, and every browser has to open the link again", path)
    new = path.with_suffix(".new")  # never half a secret under the real name, whenever the process is killed
    with open(os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_SECRET_BYTES))
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
    return path.read_bytes()


def _is_secret(value: bytes) -> bool:
    """Return whether this can be a secret of ours: a disk that fails leaves zeros, which anybody can guess."""
    return len(value) == _SECRET_BYTES and len(set(value)) >= _MIN_DIFFERENT_BYTES
