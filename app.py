"""Waymark: where the parts are built and joined, and the command that serves them."""

import asyncio
import gc
import importlib
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp

from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.run.run_ids import read_run_ids
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.environment import remove_tracing_variables
from agent.tracing.protocol import Tracer
from application.commands.arguments import parse_arguments
from application.composition import factory, sign_in_factory
from application.composition.loading import AgentLoader
from application.composition.page_server import SignInConfig, build_guard, find_public_address, format_host
from application.composition.preparing import prepare_parts
from application.composition.service_factory import build_services
from application.composition.worker_server import build_worker_server
from application.extension import (
    Extension,
    PeopleSignIn,
    Role,
    ServerPart,
    build_each,
    build_first,
    load_installed,
)
from application.settings import Settings, SettingsError, load_settings
from checkpoints import EVERYBODY, Store, StoreUnavailableError, act_for
from components.services import Services
from server.json_log import JsonFormatter, note_requests
from server.layers import add_lifespan, serve_below
from server.serving import open_listener, serve_until_signal
from server.session.session_authentication import SessionAuthentication
from server.terminal import configure_log, escape_controls, use_utf8
from server.trusted_proxy import TrustedProxy
from server.working import answer_beside, run_until_signal

# Our own extensions, and whether the settings ask for them. What they do not ask for is not imported.
EXTENSIONS: Mapping[str, Callable[[Settings], bool]] = {
    "people": lambda settings: settings.has_people,
    "fleet": lambda settings: settings.connection_url.startswith("postgresql"),
    "graphs": lambda settings: bool(settings.graph or settings.graphs),
    "tracing": lambda settings: bool(settings.langfuse_public_key or settings.langfuse_secret_key or settings.otlp_endpoint),
    "metrics": lambda settings: settings.metrics_key is not None,
    "judge": lambda settings: settings.judge == "on",
}


def load_extensions(settings: Settings) -> list[Extension]:
    """Import the extensions that the settings ask for, and those that they name. Raises `SettingsError`."""
    own = [_load_own(name) for name, is_wanted in EXTENSIONS.items() if is_wanted(settings)]
    return [*own, *map(load_installed, settings.extensions or ())]


def load_all_extensions() -> list[Extension]:
    """Import our extensions, whose commands say themselves if a setting is missing, and those that the settings name."""
    try:
        named = load_settings().extensions or ()
    except SettingsError:
        # The command will say so, and `--help` needs no settings.
        named = ()
    return [*map(_load_own, EXTENSIONS), *map(load_installed, named)]


def _load_own(name: str) -> Extension:
    extension: Extension = importlib.import_module(f"extensions.{name}").EXTENSION
    return extension


@dataclass(frozen=True)
class App:
    """One Waymark: the ASGI application and its parts."""

    asgi: ASGIApp
    services: Services
    sign_in: SessionAuthentication | None
    address: str
    loader: AgentLoader
    added: Sequence[ServerPart] = ()
    proxy: TrustedProxy | None = None

    def create_link(self) -> str:
        """Return the address to open. With AUTH=token, it admits a single browser, once."""
        return self.sign_in.create_link() if self.sign_in else f"{self.address}/"

    async def load_agent(self) -> None:
        """Load the agent, and open the sessions of the MCP servers. Until then, runs wait."""
        if self.services.wire is not None:
            self.services.wire.start()
        self.services.runner.open()
        agent = await self.services.run_blocking(self.loader.load)
        agent.mcp.start()
        self.services.start_indexing()

    async def close(self) -> None:
        await _close_parts(self.services, self.loader, self.added, self.sign_in)


def create_app(
    settings: Settings,
    *,
    port: int,
    store: Store | None = None,
    models: ConfiguredModels | None = None,
    tracer: Tracer | None = None,
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = (),
    env_file: Path | None = None,
    role: Role = "all",
    extensions: Sequence[Extension] | None = None,
) -> App:
    """Build and join everything. Parts that are passed in are used unchanged. By default, the settings say which extensions.

    The page can connect a model only with an `env_file`, which keeps its settings. Each function of `on_time_travel` is
    called with every move of an agent, on a thread of the pool. It should return soon; its errors are logged and do not
    affect the run.

    Raises `StoreUnavailableError`, and `SettingsError` and `ModelConfigurationError`, whose texts are for the user.
    """
    remove_tracing_variables()
    factory.check_access(settings)
    extensions = load_extensions(settings) if extensions is None else extensions
    parts = prepare_parts(settings, extensions, role, store, models, tracer, env_file, on_time_travel)
    services = build_services(parts)
    # With other processes, one of them continues these runs.
    if parts.processes is None:
        services.runs.interrupt_orphans()
    address = find_public_address(settings, port)
    people, added = _build_server_parts(settings, extensions, services, address, role)
    if role == "work":
        config, served = None, build_worker_server(services, added)
    else:
        config, served = _build_page(settings, extensions, services, port, address, people, added)
    for part in added:
        served = part.watch(served) if part.watch else served
    sign_in, proxy = (config.sign_in, config.proxy) if config else (None, None)
    close = partial(_close_parts, services, parts.loader, added, sign_in)
    asgi = add_lifespan(serve_below(settings.url_prefix, note_requests(served)), close)
    return App(asgi, services, sign_in, address, parts.loader, added, proxy)


def _build_server_parts(
    settings: Settings, extensions: Sequence[Extension], services: Services, address: str, role: Role
) -> tuple[PeopleSignIn | None, list[ServerPart]]:
    """Return the sign-in of people, which only a page has, and what the extensions add to the server."""
    added = build_each((each.build_server_part for each in extensions), settings, services)
    if role == "work":
        return None, added
    people = build_first((each.build_sign_in for each in extensions), settings, address, services)
    return people, [*added, people.part] if people else added


def _build_page(
    settings: Settings,
    extensions: Sequence[Extension],
    services: Services,
    port: int,
    address: str,
    people: PeopleSignIn | None,
    added: Sequence[ServerPart],
) -> tuple[SignInConfig, ASGIApp]:
    """Return how people come in, and the page's server behind its guard."""
    sign_in = people.authentication if people else sign_in_factory.build_sign_in(settings, port, address, _print_link)
    sign_in_factory.record_sign_ins(sign_in, settings, services)
    config = SignInConfig(
        sign_in=sign_in,
        people=people.people if people else None,
        proxy=build_first((each.build_proxy for each in extensions), settings),
        networks=settings.proxy_networks or (),
        public_url=settings.public_url,
        prefix=settings.url_prefix,
    )
    panels = [panel for each in extensions for panel in each.panels]
    return config, build_guard(services, settings.host, port, config, added, panels)


async def _close_parts(
    services: Services, loader: AgentLoader, added: Sequence[ServerPart], sign_in: SessionAuthentication | None
) -> None:
    with act_for(EVERYBODY):
        await services.runner.close()
    if services.wire is not None:
        await services.wire.close()
    await services.search_indexing.close()
    if loader.agent is not None:
        await loader.agent.mcp.close()
    await services.run_blocking(services.tracer.close)
    services.close()
    services.store.database.close()
    if sign_in is not None:
        sign_in.close()
    for part in added:
        if part.close is not None:
            part.close()


def _print_link(link: str) -> None:
    how = " Open this link (it works once; the browser then stays signed in):" if "token=" in link else ""
    ready = f"Waymark is ready.{how}"
    print(f"\n  {ready}\n\n    {link}\n", flush=True)


def work(settings: Settings) -> None:
    """Drive the runs begun by other processes, until the process receives a signal to end."""
    # Access is checked before anything listens.
    factory.check_access(settings)
    listener = None if settings.work_port is None else _listen(settings.host, settings.work_port, "WORK_PORT")
    port = listener.getsockname()[1] if listener else settings.port
    app = create_app(settings, port=port, role="work")
    watched = f" It answers on http://{format_host(settings.host)}:{port}/readyz." if listener else ""
    print(f"\n  Waymark is at work.{watched}\n", flush=True)

    async def run() -> None:
        async with answer_beside(app.asgi, listener):
            await run_until_signal(partial(_finish_start, app), app.close)

    asyncio.run(run())


async def _finish_start(app: App) -> None:
    """Load the agent. The collector leaves alone what is there then: a look at all of it held the loop for 0.4 s."""
    await app.load_agent()
    gc.freeze()


def _listen(host: str, port: int, name: str) -> socket.socket:
    try:
        return open_listener(host, port)
    except OSError as error:
        raise SettingsError(f"{name} {port} cannot be used on {host}: {error.strerror}.") from error


def serve(settings: Settings, role: Role) -> None:
    # Access is checked before anything listens.
    factory.check_access(settings)
    listener = _listen(settings.host, settings.port, "PORT")
    app = create_app(settings, port=listener.getsockname()[1], env_file=Path(".env"), role=role)
    headers = app.proxy.header_names if app.proxy else frozenset[bytes]()
    serve_until_signal(app.asgi, listener, lambda: _print_link(app.create_link()), partial(_finish_start, app), headers)


def main(arguments: list[str]) -> int:
    remove_tracing_variables()
    use_utf8()
    configure_log()
    try:
        # A server has none of the extensions' commands.
        extensions = [] if not arguments or arguments[0] in ("serve", "work") else load_all_extensions()
        options = parse_arguments(arguments, [command for each in extensions for command in each.commands])
        settings = load_settings()
        if settings.log_format == "json":
            configure_log(JsonFormatter((read_run_ids,)))
        if options.command == "work":
            work(settings)
            return 0
        if options.command != "serve":
            from application.commands.running import run_command  # noqa: PLC0415  (a server runs none)

            return run_command(options, settings, extensions)
        # uvicorn has ended quietly by then, and raises the signal again.
        with suppress(KeyboardInterrupt):
            serve(settings, "web" if options.web else "all")
    except (SettingsError, ModelConfigurationError, StoreUnavailableError) as error:
        # The error quotes settings and names of files.
        print(escape_controls(f"Waymark cannot start. {error}"), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
