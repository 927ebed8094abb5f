"""The guard lets through the addresses that a route declares, and no others."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.responses import PlainTextResponse

from app import create_app
from application.composition import page_server
from application.settings import Settings
from server.guard import AllowedRoutes, Guard

WAYS_IN = ({"auth": "none"}, {"auth": "password", "public_url": "https://waymark.example"})


@pytest.mark.parametrize("settings", WAYS_IN)
def test_each_declared_route_is_allowed_and_any_other_is_refused(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[FastAPI] = []
    allowed: list[AllowedRoutes] = []

    def make_server(**options: Any) -> FastAPI:
        servers.append(FastAPI(**options))
        return servers[0]

    def make_guard(*parts: Any, routes: AllowedRoutes, **others: Any) -> Guard:
        allowed.append(routes)
        return Guard(*parts, routes=routes, **others)

    monkeypatch.setattr(page_server, "FastAPI", make_server)
    monkeypatch.setattr(page_server, "Guard", make_guard)

    async def story() -> None:
        app = create_app(Settings(data_dir=tmp_path, model="demo", titles="off", **settings), port=8050)
        [server] = servers
        routes = [each for each in server.routes if isinstance(each, APIRoute | APIWebSocketRoute)]
        own = [each.path.translate({ord("{"): None, ord("}"): None}) for each in routes if _is_own(each)]
        assert len(own) > 30
        assert [path for path in own if not allowed[0].is_allowed(path)] == []

        @server.get("/api/forgotten")
        async def answer() -> PlainTextResponse:
            return PlainTextResponse("forgotten")

        closed = ["/api/forgotten", "/_reload-hash", "/_favicon.ico", "/anything", "/api", "/t"]
        assert [path for path in closed if allowed[0].is_allowed(path)] == []
        if settings == WAYS_IN[0]:
            transport = httpx.ASGITransport(app.asgi)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8050") as browser:
                assert {(await browser.get(path)).status_code for path in closed} == {404}
                assert (await browser.get("/api/threads")).status_code == 200
        await app.close()

    asyncio.run(story())


def _is_own(route: APIRoute | APIWebSocketRoute) -> bool:
    return not route.endpoint.__module__.startswith("dash.")
