"""The page's server: its routes, Dash with the panels, and the guard before them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dash import Dash
from dash.exceptions import DependencyException
from fastapi import FastAPI
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Scope

from application.extension import ServerPart
from application.settings import Settings
from checkpoints.values.limits import MAX_MESSAGE_CHARS
from checkpoints.values.surrogates import replace_lone_surrogates
from components import action_routes, page, page_state
from components.auditing import ClientLayer
from components.panel import Panel
from components.people import PersonLayer
from components.routes import (
    agent_transcript,
    errors,
    excerpts,
    export_download,
    export_several,
    file_content,
    graph_state,
    growth,
    health,
    replaced_messages,
    request_progress,
    saved_prompts,
    search,
    shared_page,
    thread_list,
    uploads,
    usage,
    whole_text,
)
from components.services import Services
from components.sign_in import ServerPeople
from components.transfers.long_requests import ProgressMiddleware
from components.transfers.uploads import MAX_UPLOAD_BYTES, UPLOADS_PREFIX
from components.views import file_links
from server.client_address import Network, read_client_address
from server.dash_requests import (
    CALLBACK_PATH,
    PAGE_REQUEST_PREFIXES,
    CallbackCheck,
    DashRequests,
    answer_missing_file,
    make_backend,
    remove_dash_variables,
)
from server.guard import AllowedRoutes, Guard
from server.headers import build_security_policy, hash_script
from server.layers import serve_page_at
from server.session import session_routes
from server.session.session_authentication import SessionAuthentication
from server.static_files import load_frame, load_inline_scripts, load_page_files
from server.static_serving import ASSETS_PREFIX, LIBRARIES_PREFIX, PageFiles, serve_static_files
from server.trusted_proxy import TrustedProxy

# It has room for a message, and a text of the same length to fill the composer, all in escapes.
MAX_PAGE_REQUEST_BYTES = 2 * 6 * MAX_MESSAGE_CHARS + 100_000
ROUTES = (
    thread_list,
    export_several,
    usage,
    replaced_messages,
    excerpts,
    growth,
    graph_state,
    export_download,
    file_content,
    agent_transcript,
    whole_text,
    request_progress,
    search,
    uploads,
    saved_prompts,
    shared_page,
    health,
)
# `build_guard` adds the addresses of the page's own routes.
ALLOWED_ROUTES = AllowedRoutes(
    paths=frozenset({"/", "/_dash-layout", "/_dash-dependencies", CALLBACK_PATH}),
    public_paths=AllowedRoutes.public_paths | {shared_page.SHARED_PATH},
    shared_paths=frozenset({shared_page.SHARED_PATH}),
    page_prefixes=(page_state.THREADS_PREFIX,),
    user_file_prefixes=(file_links.FILES_PREFIX,),
    static_prefixes=(ASSETS_PREFIX, LIBRARIES_PREFIX),
    max_body_bytes={
        **dict.fromkeys(PAGE_REQUEST_PREFIXES, MAX_PAGE_REQUEST_BYTES),
        **{f"{UPLOADS_PREFIX}{purpose}": limit for purpose, limit in MAX_UPLOAD_BYTES.items()},
    },
)


@dataclass(frozen=True, slots=True)
class SignInConfig:
    """How people come in: by our sign-in or a proxy's, from which networks, and at which public address and path."""

    sign_in: SessionAuthentication | None
    people: ServerPeople | None
    proxy: TrustedProxy | None
    networks: Sequence[Network]
    public_url: str | None
    prefix: str


def build_guard(
    services: Services,
    host: str,
    port: int,
    config: SignInConfig,
    added: Sequence[ServerPart] = (),
    panels: Sequence[Panel] = (),
) -> Guard:
    """Build the page's server, and the guard before it, listening on `host` and `port`.

    If people sign in here behind a proxy that adds TLS, only addresses of this machine are served. `added` and `panels` are
    those of extensions.
    """
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    services = replace(services, people=config.people)
    if config.sign_in is not None:
        services = replace(services, sessions=session_routes.OwnSessions(config.sign_in))
    page_files, public_url = load_page_files(), config.public_url
    panels = (*page.PANELS, *panels)
    allowed = _add_routes(server, services, config, added, panels)
    allowed = replace(allowed, immutable_prefixes=(f"{page_files.root}/",))
    if config.people is not None and public_url:
        host = "127.0.0.1"
    dash = _build_dash(server, services, panels, page_files, config.prefix)
    policy = build_security_policy([*map(hash_script, load_inline_scripts().values()), *dash.csp_hashes()])
    read_address = partial(read_client_address, proxies=config.networks)
    pages = DashRequests(serve_page_at(page_state.THREADS_PREFIX, server), replace_lone_surrogates)
    return Guard(
        serve_static_files(_add_layers(pages, services, read_address), page_files),
        hosts=_list_hosts(host, port) | ({public_url.partition("://")[2]} if public_url else set()),
        sign_in=config.sign_in,
        proxy=config.proxy,
        public_url=public_url,
        content_security_policy=lambda: policy,
        routes=allowed,
        read_address=read_address,
    )


def _add_routes(
    server: FastAPI, services: Services, config: SignInConfig, added: Sequence[ServerPart], panels: Sequence[Panel]
) -> AllowedRoutes:
    """Serve the page's routes and those of extensions, and return them. Dash's own, which come later, stay closed."""
    session_routes.add_routes(server, config.sign_in)
    allowed = ALLOWED_ROUTES
    if config.people is not None:
        # The page of the sign-in has styles.
        allowed = replace(allowed, public_prefixes=(*allowed.public_prefixes, ASSETS_PREFIX))
    for part in added:
        allowed = _add_part(server, part, allowed)
    errors.add_error_responses(server)
    page.add_route(server, services, panels)
    for route in ROUTES:
        route.add_route(server, services)
    return _allow(allowed, server.routes)


def _add_layers(pages: ASGIApp, services: Services, read_address: Callable[[Scope], str]) -> ASGIApp:
    served: ASGIApp = ProgressMiddleware(pages, services.long_requests)
    has_people = services.store.database.separates_owners
    return ClientLayer(PersonLayer(served) if has_people else served, read_address, has_people=has_people)


def _add_part(server: FastAPI, part: ServerPart, allowed: AllowedRoutes) -> AllowedRoutes:
    """Serve what an extension adds. Return the allowed routes including its routes."""
    if part.add_routes is not None:
        part.add_routes(server)
    return replace(
        allowed,
        public_paths=allowed.public_paths | part.public_paths,
        max_body_bytes={**allowed.max_body_bytes, **part.max_body_bytes},
    )


def _allow(allowed: AllowedRoutes, routes: Iterable[BaseRoute]) -> AllowedRoutes:
    """Allow the addresses of the routes. One with a part in braces allows everything below its beginning."""
    declared = [route.path for route in routes if isinstance(route, Route | WebSocketRoute)]
    beginnings = {path.partition("{")[0] for path in declared if "{" in path}
    return replace(allowed, paths=allowed.paths.union(declared), prefixes=(*allowed.prefixes, *sorted(beginnings)))


def _list_hosts(host: str, port: int) -> frozenset[str]:
    """Return the allowed values of the Host header. Browsers leave :80 out."""
    names = {"127.0.0.1", "localhost", "[::1]", format_host(host)}
    return frozenset(names if port == 80 else {f"{name}:{port}" for name in names})


def format_host(host: str) -> str:
    """Return a host in the notation of addresses, IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def find_public_address(settings: Settings, port: int) -> str:
    """Return the page's address as browsers see it, without the last slash."""
    return (settings.public_url or f"http://{format_host(settings.host)}:{port}") + settings.url_prefix[:-1]


def _build_dash(server: FastAPI, services: Services, panels: Sequence[Panel], page_files: PageFiles, prefix: str) -> Dash:
    remove_dash_variables()
    # This comes before Dash's own middleware, which encloses it.
    server.add_middleware(CallbackCheck, get_callbacks=lambda: dash.callback_map)
    server.add_exception_handler(DependencyException, answer_missing_file)
    dash: page.Page = page.Page(
        "waymark",
        backend=make_backend(server),
        title="Waymark",
        update_title=None,  # type: ignore[arg-type]  # its documented off switch
        # The page asks below the prefix, which `serve_below` takes off.
        requests_pathname_prefix=prefix,
        routes_pathname_prefix="/",
        # The frame names the files.
        include_assets_files=False,
        meta_tags=page.META_TAGS,
        enable_mcp=False,
        on_error=action_routes.report_error,
        hooks=page.RENDERER_HOOKS,
    )
    dash.fill_index = partial(page.fill_index, load_frame(), page_files.root)
    dash.layout = page.make_layout(services, panels)
    page.register(dash, services, panels)
    return dash
