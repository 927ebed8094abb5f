"""The certificates that every HTTP client trusts."""

import ssl
from functools import cache

import httpx


@cache
def load_certificates() -> ssl.SSLContext:
    """Return the certificates, read once: reading takes 50 ms, on the event loop where a client is made for a request."""
    return httpx.create_ssl_context()
