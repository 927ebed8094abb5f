"""Waymark: where the parts are built and joined, and the command that serves them."""

import argparse
import asyncio
import logging
import os
import secrets
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from dash import Dash
from dash.backends._fastapi import FastAPIDashServer
from fastapi import FastAPI
from langchain_core.language_models import BaseChatModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.graph import build_graph
from agent.hub import RunHub
from agent.models import Keys, ModelConfigurationError, default_spec, load_chat_model
from agent.runner import Runner
from agent.state import Limits
from agent.tools import tools_for
from checkpoints import Database, Runs, StateError, Store, StoreUnavailableError
from components import page, stream, toast, transfer, vendor
from components.guard import Doors, Guard
from components.headers import content_security_policy
from components.services import Services
from components.session import Session
from config import Settings, SettingsError, load_settings

_log = logging.getLogger(__name__)
HERE = Path(__file__).parent
DEMO_LINE = "Demo model: it makes things up. OPENAI_API_KEY=… in .env switches to a real one."
THREADS = 4  # for blocking work: one writes at a time anyway
LARGEST_SOCKET_MESSAGE = 16_384  # bytes; the page sends nothing over it
DOORS = Doors(
    paths=frozenset({"/", "/_dash-layout", "/_dash-dependencies", "/_dash-update-component"}),
    prefixes=("/t/", "/api/threads/"),
    static=("/assets/", "/_dash-component-suites/", "/vendor/"),
    body_limits={"/_dash-update-component": 16_000_000},  # an import of 10 MB, as base64 inside JSON
)

# Dash 4.4's own WebSocket callbacks bypass authentication and die with the tab; without this the page opens one anyway.
FastAPIDashServer.websocket_capability = False


@dataclass(frozen=True)
class App:
    """One Waymark: the ASGI application, and what it is made of."""

    asgi: ASGIApp
    services: Services
    session: Session | None
    address: str

    def link(self) -> str:
        """The address to open; with AUTH=token it lets one browser in, once."""
        return f"{self.address}/" if self.session is None else f"{self.address}/?token={self.session.open_link()}"

    async def close(self) -> None:
        """Interrupt what runs, and let go of the database."""
        await self.services.runner.close()
        self.services.pool.shutdown()
        self.services.store.database.close()


def create_app(settings: Settings, *, port: int, store: Store | None = None, model: BaseChatModel | None = None) -> App:
    """Build and join everything. Parts that are handed in are used as they are.

    Raises `StoreUnavailableError` and `ModelConfigurationError`, whose texts are for the user.
    """
    keys = _keys(settings)
    spec = settings.model or default_spec(keys)
    model = model or load_chat_model(spec, keys, demo_seconds_per_token=settings.demo_seconds_per_token)
    store = store or Store(Database.at(_database_path(settings)))
    services = _services(settings, store, model, spec)
    services.runs.interrupt_left()
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    dash = _dash(server, services)
    session = None if settings.auth == "none" else Session(_secret(settings.data_dir), port=port)
    address = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{port}"
    policy = content_security_policy(dash.csp_hashes())
    names = {"127.0.0.1", "localhost", "[::1]", f"[{settings.host}]" if ":" in settings.host else settings.host}
    hosts = frozenset(names if port == 80 else {f"{name}:{port}" for name in names})  # browsers leave :80 out
    waymark: list[App] = []
    guard = Guard(
        _one_page(server),
        hosts=hosts,
        session=session,
        content_security_policy=lambda: policy,
        doors=DOORS,
        on_stale_link=lambda: _print_link(waymark[0]),
    )
    waymark.append(App(_living(guard, waymark), services, session, address))
    return waymark[0]


def _keys(settings: Settings) -> Keys:
    return Keys(
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        azure_openai_api_key=settings.azure_openai_api_key,
        azure_openai_endpoint=settings.azure_openai_endpoint,
        azure_openai_api_version=settings.azure_openai_api_version,
        azure_openai_deployment_name=settings.azure_openai_deployment_name,
        azure_openai_reasoning_effort=settings.azure_openai_reasoning_effort,
        idle_seconds=settings.model_idle_seconds,
    )


def _database_path(settings: Settings) -> Path:
    if settings.database_url:
        return Path(settings.database_url.removeprefix("sqlite:///"))
    return settings.data_dir / "waymark.db"


def _services(settings: Settings, store: Store, model: BaseChatModel, spec: str) -> Services:
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="waymark")
    hub, runs = RunHub(), Runs(store)
    tools = tools_for(
        tavily_api_key=settings.tavily_api_key,
        tavily_base_url=settings.tavily_base_url,
        files_dir=settings.files_dir,
    )
    limits = Limits(idle_seconds=settings.model_idle_seconds)
    runner = Runner(store, runs, hub, build_graph(model, tools), pool=pool, limits=limits)
    return Services(store, runs, runner, hub, pool, model=spec, demo=DEMO_LINE if spec == "demo" else None)


def _dash(server: FastAPI, services: Services) -> Dash:
    dash = page.Page(
        "waymark",
        server=server,  # type: ignore[arg-type]  # Dash types only what its Flask backend takes
        title="Waymark",
        update_title=None,  # type: ignore[arg-type]  # its documented off switch
        assets_folder=str(HERE / "assets"),
        assets_path_ignore=["modules"],
        assets_ignore="early",  # the frame names it, above everything else
        external_stylesheets=list(vendor.STYLESHEETS),
        index_string=page.index(sorted(path.name for path in (HERE / "assets" / "modules").glob("*.mjs"))),
        meta_tags=page.METAS,
        enable_mcp=False,
        on_error=_tell,
    )
    dash.layout = page.layout(services)
    page.register(dash, services)
    vendor.add_routes(server)
    stream.add_route(server, services)
    transfer.add_route(server, services)
    _add_health(server, services)
    return dash


def _tell(error: Exception) -> None:
    """What no command expected: the log gets the whole of it, the user a sentence. Dash alone would say nothing."""
    reference = secrets.token_hex(4)
    _log.error("a callback failed [%s]", reference, exc_info=error)
    toast.say(f"Something went wrong (reference {reference}). Try again, or reload the page.")


def _add_health(server: FastAPI, services: Services) -> None:
    @server.get("/healthz")
    async def health(_: Request) -> Response:
        try:
            await services.read(services.store.threads, limit=1)
        except StateError as error:
            return JSONResponse({"status": "degraded", "store": str(error)}, status_code=503)
        return JSONResponse({"status": "ok", "store": "sqlite"})


def _one_page(server: ASGIApp) -> ASGIApp:
    """Every conversation's address is the same page, which reads from its address what to show.

    Not a route of its own: Dash sets itself up, and notes the request that its page needs, at its own addresses only.
    """

    async def asgi(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/t/"):
            scope = {**scope, "path": "/", "raw_path": b"/"}
        await server(scope, receive, send)

    return asgi


def _living(guard: ASGIApp, waymark: list[App]) -> ASGIApp:
    """The guard, with the life of the process: Dash's own handling of it would answer every unknown path with the page."""

    async def asgi(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await guard(scope, receive, send)
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await waymark[0].close()
        await send({"type": "lifespan.shutdown.complete"})

    return asgi


def _secret(folder: Path) -> bytes:
    """What signs the cookies; kept, so that a restart logs nobody out."""
    path = folder / "session.key"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            new = path.with_suffix(".new")  # never half a secret under the real name, whenever the process is killed
            with open(os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
            new.rename(path)
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"DATA_DIR {folder} cannot be used: {error.strerror}.") from error


class _Server(uvicorn.Server):
    """Says where the page is once it can really be opened."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _print_link(self._app)


def _print_link(app: App) -> None:
    print(
        f"\n  Waymark is ready. Open this link (it works once; the browser then stays signed in):\n\n    {app.link()}\n",
        flush=True,
    )


def serve(settings: Settings) -> None:
    """Serve until the process is asked to end."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        raise SettingsError(f"PORT {settings.port} cannot be used on {settings.host}: {error.strerror}.") from error
    app = create_app(settings, port=listener.getsockname()[1])
    config = uvicorn.Config(
        app.asgi,
        log_level="warning",
        access_log=False,  # the launch token stands in an address
        ws_max_size=LARGEST_SOCKET_MESSAGE,
        server_header=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_Server(config, app).serve([listener]))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="app.py", description="Waymark: conversations in which time can be moved through.")
    parser.add_argument("command", nargs="?", choices=["serve"], default="serve", help="serve the page (the default)")
    parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        serve(load_settings())
    except (SettingsError, ModelConfigurationError, StoreUnavailableError) as error:
        print(f"Waymark cannot start. {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
