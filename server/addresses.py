"""The addresses that browsers get: all of them are built and read here, below one path (URL_PREFIX).

Within the server a path has no prefix: `server.layers.serve_below` takes it off each request. So a route, a rule and a
comparison have one form, whether a proxy takes the prefix off itself or keeps it.
"""

import re
from contextvars import ContextVar

PREFIX_RULE = "a path that begins and ends with a slash, such as /waymark/, and is none of Waymark's own, such as /t/"
# The first parts of the server's own paths. Where a proxy takes the prefix off, what is left must not begin with it again.
OWN_PARTS = ("api", "assets", "files", "healthz", "join", "metrics", "readyz", "shared", "sign-in", "t")
_PREFIX = re.compile(r"/([A-Za-z0-9][\w.~-]*/)*", re.ASCII)

# It begins and ends with a slash. The context is that of a request, as for its language.
_prefix: ContextVar[str] = ContextVar("prefix", default="/")


def check_prefix(value: str) -> str:
    """Return a usable prefix. Raises `ValueError`."""
    if not _PREFIX.fullmatch(value) or value.split("/")[1] in OWN_PARTS:
        raise ValueError
    return value


def use_prefix(prefix: str) -> None:
    """Use a prefix in the current context, such as a request's."""
    _prefix.set(prefix)


def build_address(path: str) -> str:
    """Return a browser's address for a path of ours."""
    return _prefix.get()[:-1] + path


def read_path(address: str) -> str | None:
    """Return our path for a browser's address without its host; None for an address outside of the prefix."""
    prefix = _prefix.get()
    return address[len(prefix) - 1 :] if address.startswith(prefix) else None
