"""The certificates that every HTTP client trusts."""

import ssl
from functools import cache

import httpx


@cache
def load_certificates() -> ssl.SSLContext:
    """Return the cached certificates. Reading takes 50 ms, and would block the event loop for each new client."""
    return httpx.create_ssl_context()
