"""Two servers of one PostgreSQL, where people sign in: what one is told, the other knows."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import App, create_app
from application.settings import Settings
from checkpoints import EVERYBODY, act_for
from checkpoints.interchange import transfer
from checkpoints.rows.account_rows import Role
from checkpoints.values.progress import Progress
from components.transfers.long_requests import HEADER
from extensions.fleet import shared_requests
from extensions.fleet.followed_requests import FollowedRequests
from extensions.people import passwords
from extensions.people.accounts import Accounts
from tests import people_dialog, walk
from tests.agent.run.wires import until
from tests.checkpoints import tables
from tests.components.transfers.test_long_requests import hold_at, write_long
from tests.extensions.people.test_password import CHEAP, GOOD, URL, is_in, sign_in
from tests.page_key import read_page_key
from tests.running_app import post_callback

pytestmark = pytest.mark.slow
Browser = httpx.AsyncClient


class Servers:
    """Two servers, and browsers whose requests go to the one that is asked for."""

    def __init__(self, apps: list[App]) -> None:
        self.apps = apps
        self.accounts = Accounts(apps[0].services.store)

    def add(self, name: str, role: Role = Role.MEMBER) -> None:
        self.accounts.invite(name, role, made_by="", days=1)
        self.accounts.accept_invitation(name, name, CHEAP().hash(GOOD))

    def browsers(self, headers: dict[str, str] | None = None, address: str = "10.0.3.7") -> list[Browser]:
        """One browser, once for each server."""
        given = {"origin": URL, **(headers or {})}
        transports = [httpx.ASGITransport(each.asgi, client=(address, 1)) for each in self.apps]
        return [Browser(transport=each, base_url=URL, headers=given) for each in transports]

    async def sign_in(self, name: str) -> list[Browser]:
        """Sign a browser in at the first server."""
        first, _ = self.browsers()
        reply = await sign_in(first, name)
        assert reply.status_code == 200, reply.text
        both = {
            "cookie": f"waymark_443={first.cookies['waymark_443']}",
            "x-waymark-page-key": read_page_key(reply.text) or "",
        }
        return self.browsers(both)


@pytest.fixture
def servers(tmp_path: Path, ordinary_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(passwords, "PasswordHasher", CHEAP)
    monkeypatch.setattr(shared_requests, "NOTE_SECONDS", 0.01)

    @asynccontextmanager
    async def open_sign_ins(**settings: Any) -> AsyncIterator[Servers]:
        chosen: Any = {"model": "demo", "titles": "off", "auth": "password", "public_url": URL, "database_url": ordinary_url}
        chosen |= settings
        async with AsyncExitStack() as stack:
            apps = []
            for number in range(2):
                apps.append(create_app(Settings(data_dir=tmp_path / str(number), **chosen), port=8050 + number))
                stack.push_async_callback(apps[-1].close)
            yield Servers(apps)

    return open_sign_ins


def test_who_signs_in_at_one_server_is_known_at_the_other_until_either_ends_the_session(servers: Any) -> None:
    async def story() -> None:
        async with servers() as opened:
            opened.add("ann", Role.ADMIN)
            opened.add("bob")
            here, there = await opened.sign_in("bob")
            assert [await is_in(each) for each in (here, there)] == [True, True]
            await there.post("/api/sessions/current/end")
            assert [await is_in(each) for each in (here, there)] == [False, False]
            here, there = await opened.sign_in("bob")
            _, ann = await opened.sign_in("ann")
            await people_dialog.change_role(ann, "bob", "reader")
            assert [await is_in(each) for each in (here, there)] == [False, False]

    asyncio.run(story())


def test_a_socket_ends_with_a_session_that_another_server_has_ended(servers: Any) -> None:
    async def story() -> None:
        async with servers() as opened:
            opened.add("bob")
            _, there = await opened.sign_in("bob")
            headers = {"host": "waymark.example", "origin": URL, "cookie": there.headers["cookie"]}
            headers |= {"sec-websocket-protocol": f"waymark, {there.headers['x-waymark-page-key']}"}
            request = walk.Request("WEBSOCKET", "/api/events")
            known: Any = opened.apps[0].sign_in.sessions  # type: ignore[union-attr]  # with passwords there is one
            following = asyncio.ensure_future(walk.follow(opened.apps[0].asgi, request, headers, ("10.0.3.7", 1)))
            await until(lambda: known._remembered)
            await there.post("/api/sessions/current/end")
            assert (await following)[-1] == {"type": "websocket.close", "code": 4401}

    asyncio.run(story())


def test_wrong_passwords_count_at_both_servers_together(servers: Any) -> None:
    async def story() -> None:
        async with servers() as opened:
            opened.add("bob")
            here, there = opened.browsers()
            told = [(await sign_in(each, "bob", "wrong")).status_code for each in (here, there) * 4]
            assert told == [401] * 5 + [429] * 3

    asyncio.run(story())


def test_a_file_that_one_server_took_is_imported_by_the_other(servers: Any) -> None:
    async def story() -> None:
        async with servers() as opened:
            opened.add("bob")
            here, there = await opened.sign_in("bob")
            with act_for("bob"):
                store = opened.apps[0].services.store
                text = transfer.export(store, source := write_long(store))
                store.delete_thread(source)
            identifier = (await here.post("/api/uploads/import", content=text)).json()["id"]
            file = {"import-file.data": {"id": identifier, "name": "a.json"}, "url.pathname": "/"}
            assert "300" in (await post_callback(there, "import-file.data", file)).text
            done = await post_callback(here, "import-confirm.n_clicks", {**file, "import-confirm.n_clicks": 1})
            assert json.loads(done.text)["response"]["head"]["data"]["go"].startswith("/t/")
            await post_callback(
                there, "import-dialog.is_open", {**file, "import-dialog.is_open": False}, output="import-file.data"
            )
            again = await post_callback(here, "import-confirm.n_clicks", {**file, "import-confirm.n_clicks": 1})
            assert "was not kept on the server" in again.text

    asyncio.run(story())


def test_a_long_request_is_followed_and_cancelled_at_the_other_server(servers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, noted, note = hold_at(monkeypatch, "Reading"), list[Progress](), FollowedRequests.note

    def note_and_tell(self: FollowedRequests, request_id: str, progress: Progress | None) -> bool:
        is_cancelled = note(self, request_id, progress)
        noted.extend([progress] if progress else [])
        return is_cancelled

    monkeypatch.setattr(FollowedRequests, "note", note_and_tell)

    async def story() -> None:
        async with servers() as opened:
            opened.add("bob")
            here, there = await opened.sign_in("bob")
            with act_for("bob"):
                thread_id = write_long(opened.apps[0].services.store)
            export = asyncio.create_task(here.get(f"/api/threads/{thread_id}/export", headers={HEADER: "one"}))
            assert await asyncio.to_thread(gate.reached.wait, 60)
            await until(lambda: noted)
            progress = await there.get("/api/requests/one")
            assert (progress.json()["phase"], progress.json()["total"]) == ("Reading", 300)
            await there.post("/api/requests/one/cancel")
            [request] = opened.apps[0].services.long_requests._running.values()
            await until(lambda: request.is_cancelled)
            gate.opened.set()
            assert (await export).text == "It was cancelled."
            assert (await there.get("/api/requests/one")).status_code == 204

    asyncio.run(story())


def test_who_is_erased_at_one_server_while_the_other_writes_their_answer_leaves_nothing(servers: Any) -> None:
    async def story() -> None:
        async with servers(demo_seconds_per_token=0.2) as opened:
            for app in opened.apps:
                await app.load_agent()
            await until(lambda: all(app.services.wire._peers.names for app in opened.apps))
            opened.add("ann", Role.ADMIN)
            opened.add("bob")
            here, there = await opened.sign_in("bob")
            _, ann = await opened.sign_in("ann")
            request_id = "a0a0a0a0-0000-4000-8000-a0a0a0a0a0a0"
            action = {"type": "send", "request_id": request_id, "text": "a long answer, please"}
            await here.post("/api/actions/composer-panel", json={"pathname": "/", "action": action})
            await until(lambda: opened.apps[0].services.runner.active_runs.by_thread)
            assert await people_dialog.erase(ann, "bob") is None
            await until(lambda: not opened.apps[0].services.runner.active_runs.by_thread)
            assert [await is_in(each) for each in (here, there, ann)] == [False, False, True]
            assert (await sign_in(there, "bob")).status_code == 401
            with act_for(EVERYBODY):
                rows = tables.read(opened.apps[0].services.store)
            assert [name for name, found in rows.items() if "bob" in str(found) or request_id in str(found)] == []

    asyncio.run(story())
