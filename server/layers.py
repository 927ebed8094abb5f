"""The ASGI layers around the page's server: the same page at many addresses, and the lifespan of the process."""

from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Receive, Scope, Send


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
