"""The ASGI layers around the page's server: the path below which it is, its page at many addresses, and the lifespan."""

from collections.abc import Awaitable, Callable

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from server.addresses import read_path, use_prefix


def serve_below(prefix: str, app: ASGIApp) -> ASGIApp:
    """Serve an app below a path. Requests come with the path, or from a proxy that has taken it off."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        use_prefix(prefix)
        if scope["type"] == "http" and scope["path"] == prefix[:-1] and prefix != "/":
            # Browsers would not send the cookie there.
            query = scope["query_string"].decode("latin-1")
            await RedirectResponse(prefix + (query and f"?{query}"))(scope, receive, send)
            return
        if scope["type"] in ("http", "websocket") and (path := read_path(scope["path"])):
            raw = scope.get("raw_path") or b""
            scope = {**scope, "path": path, "raw_path": raw.removeprefix(prefix[:-1].encode())}
        await app(scope, receive, send)

    return serve


def serve_page_at(prefix: str, server: ASGIApp) -> ASGIApp:
    """Serve the same page at every address below `prefix`. The page reads the rest of the address itself.

    A separate route would not do: Dash sets itself up, and notes the request of its page, at its own addresses only.
    """

    async def serve_page(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(prefix):
            scope = {**scope, "path": "/", "raw_path": b"/"}
        await server(scope, receive, send)

    return serve_page


def add_lifespan(app: ASGIApp, close: Callable[[], Awaitable[None]]) -> ASGIApp:
    """Wrap the app with the lifespan of the process. Dash's own handling would answer every unknown path with the page."""

    async def serve_lifespan(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await close()
        await send({"type": "lifespan.shutdown.complete"})

    return serve_lifespan
