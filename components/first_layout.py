"""The first layout of a page, filled with the data of its address.

A navigation gets the frame without data, because it carries nothing but the cookie. Its page requests the layout with its
key once the browser has begun the page. To begin it takes longer than to read the data, so reading begins with the
navigation and its result waits for the request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from checkpoints import NOBODY, StoreUnavailableError, TakesTooLongError, get_acting_owner
from components.page_state import Ids, PageLocation, parse_thread_id
from components.people import PERSON_HEADER, name_for_owner
from components.properties import Properties
from components.replies import to_json
from components.services import Services
from words import get_language

T = TypeVar("T")

# A result waits no longer than this, so the page never shows old data.
MAX_EARLY_SECONDS = 5.0
# This many early reads run at the same time. Further requests read for themselves.
MAX_EARLY_READS = 32
# The function returns the layout as plain values in the request's language. Callers must not change it.
BuildLayout = Callable[[], Any]
ReadPanels = Callable[[Services, PageLocation], Properties]


class EarlyReads(Generic[T]):
    """Reads by key. Each result answers a single request."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[T]] = {}
        self._running: set[str] = set()

    def begin(self, key: str, read: Callable[[], Awaitable[T]]) -> None:
        """Begin a read in place of an earlier read of the key.

        While that earlier read runs, no new read begins, so repeated navigations cost nothing more.
        """
        self._tasks.pop(key, None)
        if key in self._running or len(self._tasks) >= MAX_EARLY_READS:
            return
        self._running.add(key)
        task = self._tasks[key] = asyncio.create_task(self._run(key, read))
        # Perhaps nobody awaits the task, so its error is retrieved here.
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        asyncio.get_running_loop().call_later(MAX_EARLY_SECONDS, self._drop, key, task)

    def take(self, key: str) -> asyncio.Task[T] | None:
        """Return the read of a key, running or finished, or None."""
        return self._tasks.pop(key, None)

    async def _run(self, key: str, read: Callable[[], Awaitable[T]]) -> T:
        try:
            return await read()
        finally:
            self._running.discard(key)

    def _drop(self, key: str, task: asyncio.Task[T]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]


class FirstLayouts:
    def __init__(self, services: Services, build_layout: BuildLayout, read_panels: ReadPanels) -> None:
        self._services = services
        self._build_layout = build_layout
        self._read_panels = read_panels
        self._early = EarlyReads[bytes]()

    def add_route(self, server: FastAPI) -> None:
        """Serve the layout, ahead of Dash's own route for it.

        The referer names the page. Without a referer, the panels request their data as soon as they are mounted.
        """

        @server.get("/_dash-layout")
        async def get_layout(request: Request) -> Response:
            address = urlsplit(request.headers.get("referer", "")).path
            early = self._early.take(_name_layout(address))
            shown = await (early or self._read(address))
            person = {PERSON_HEADER: quote(get_acting_owner() or "")} if self._has_people else {}
            return Response(shown, media_type="application/json", headers=person)

    def begin_with_navigations(self, app: ASGIApp) -> ASGIApp:
        """Wrap the page's server: read a page's layout while the browser begins the page."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            await app(scope, receive, send)
            if _is_navigation(scope) and not self._is_of_nobody():
                address = (scope.get("raw_path") or b"").decode("latin-1")
                self._early.begin(_name_layout(address), lambda: self._read(address))

        return serve

    def _is_of_nobody(self) -> bool:
        """Return whether people sign in here and the cookie alone does not name the person."""
        return self._has_people and get_acting_owner() == NOBODY

    @property
    def _has_people(self) -> bool:
        return self._services.store.database.separates_owners

    async def _read(self, address: str) -> bytes:
        try:
            shown = await self._services.read_snapshot(self._fill, address) if address else self._build_layout()
        except (StoreUnavailableError, TakesTooLongError):
            # The panels request their data themselves, and report the error.
            shown = self._build_layout()
        return to_json(shown)

    def _fill(self, address: str) -> Any:
        """Return the layout with the data of an address, so the panels need no request of their own."""
        whole, properties = copy_layout(self._build_layout())
        properties[Ids.URL]["pathname"] = address
        for identifier, values in self._read_panels(self._services, PageLocation(parse_thread_id(address), {})).items():
            properties[identifier].update(values)
        return whole


def copy_layout(part: Any) -> tuple[Any, Properties]:
    """Copy a layout of plain values. Return the copy, and the properties of its components by id."""
    properties: Properties = {}

    def copy(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return list(map(copy, part))
        if not (isinstance(part, dict) and "props" in part):
            return part
        own = dict(part["props"])
        if "id" in own:
            properties[str(own["id"])] = own
        if "children" in own:
            own["children"] = copy(own["children"])
        return {**part, "props": own}

    return copy(part), properties


def _is_navigation(scope: Scope) -> bool:
    """Return whether a browser opens a page by this request. It says so only for https and this machine."""
    is_read = scope["type"] == "http" and scope["method"] == "GET"
    is_page = is_read and (scope["path"] == "/" or scope["path"].startswith("/t/"))
    return is_page and Headers(scope=scope).get("sec-fetch-dest") == "document"


def _name_layout(address: str) -> str:
    return name_for_owner(f"{get_language()} {address}")
