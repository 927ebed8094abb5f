"""The ASGI edge: the guard, the session, the security headers and the static files."""
