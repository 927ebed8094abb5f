"""The way in: a link for a cookie and a page key, which let requests in together, until the session ends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from server.session.link_sign_in import LinkSignIn
from server.session.session_file import SessionFile
from server.session.sessions import MAX_SESSION_SECONDS
from tests.browser import PATIENCE_MS, open_browser
from tests.page_key import read_page_key
from tests.server.session.test_session_file import Clock
from tests.server.test_guard import HOST, ORIGIN, Answer, Entrance, echo, listening, served

SCRIPT = "/assets/sign-in.js"


@pytest.fixture
def links() -> list[str]:
    """The links that were printed because a used one was opened."""
    return []


@pytest.fixture
def sign_in(tmp_path: Path, links: list[str]) -> LinkSignIn:
    sessions = SessionFile(tmp_path / "sessions-8050.json")
    return LinkSignIn(sessions, address=f"http://{HOST}", script=SCRIPT, on_stale_link=links.append)


@pytest.fixture
def entrance(sign_in: LinkSignIn) -> Entrance:
    return Entrance(sign_in=sign_in)


@pytest.fixture
def both(sign_in: LinkSignIn) -> dict[str, str]:
    """The headers of a page: the cookie and the key."""
    created = asyncio.run(sign_in.sessions.begin(""))
    return {"cookie": f"other; x=1; waymark_8050={created.cookie}", "x-waymark-page-key": created.page_key}


def cookie_of(both: dict[str, str]) -> dict[str, str]:
    """What the browser sends to every port of the host."""
    return {"cookie": both["cookie"]}


def open_link(entrance: Entrance, link: str, **headers: str) -> Answer:
    return entrance.knock(link.removeprefix(f"http://{HOST}"), **headers)


def test_nobody_gets_in_without_a_cookie(entrance: Entrance) -> None:
    page = entrance.knock("/")
    assert (page.status, page["content-type"]) == (401, "text/html; charset=utf-8")
    assert "Open the link that Waymark printed" in page.text
    assert "@media (prefers-color-scheme: dark) { :root {" in page.text  # dressed, with nothing that would be refused
    assert not re.search(r"src=|href=|url\(|@import", page.text)
    for path in ("/_dash-update-component", "/assets/x.css", "/nothing"):
        assert entrance.knock(path)["content-type"] == "text/plain; charset=utf-8"
        assert entrance.knock(path).status == 401
    assert entrance.knock("/", "POST", **ORIGIN).status == 401
    assert entrance.socket(host=HOST, **ORIGIN) == "websocket.close"


def test_only_what_a_person_does_is_a_use_and_neither_a_socket_nor_a_poll(tmp_path: Path) -> None:
    """A page opens its stream again by itself, day and night; how its frames come makes no difference."""
    clock = Clock()
    sessions = SessionFile(tmp_path / "sessions-8050.json", read_clock=clock)
    entrance = Entrance(sign_in=LinkSignIn(sessions, address=f"http://{HOST}", script=SCRIPT))
    created = asyncio.run(sessions.begin(""))
    both = {"cookie": f"waymark_8050={created.cookie}", "x-waymark-page-key": created.page_key}
    offered = {"host": HOST, "cookie": both["cookie"], "sec-websocket-protocol": f"waymark, {created.page_key}"}
    began = clock.now
    clock.now += 3600
    for path in ("/api/events", "/api/threads/1/events"):
        assert entrance.socket(path, **offered, **ORIGIN) != "websocket.close"
        for query in ("?poll=1", "?poll=1&seen=2"):
            assert entrance.knock(path + query, "POST", **both, **ORIGIN).status == 200
    assert [each.seen_at for each in asyncio.run(sessions.list_open())] == [began]
    assert entrance.knock("/api/threads", **both).status == 200
    assert [each.seen_at for each in asyncio.run(sessions.list_open())] == [clock.now]


def test_behind_a_proxy_with_tls_the_link_is_public_and_the_cookie_secure(tmp_path: Path) -> None:
    sessions = SessionFile(tmp_path / "sessions-8050.json")
    url = "https://waymark.example"
    sign_in = LinkSignIn(sessions, address=url, script=SCRIPT)
    entrance = Entrance(sign_in=sign_in, hosts=frozenset({HOST, "waymark.example"}), public_url=url)
    link = sign_in.create_link()
    assert link.startswith(f"{url}/?token=")
    cookie = entrance.knock(link.removeprefix(url), host="waymark.example")["set-cookie"]
    assert cookie
    assert "Secure" in cookie.split("; ")
    created = asyncio.run(sessions.begin(""))
    both = {"cookie": f"waymark_443={created.cookie}", "x-waymark-page-key": created.page_key}
    for host, origin, status in (
        ("waymark.example", url, 200),
        ("waymark.example", "http://waymark.example", 403),
        (HOST, f"http://{HOST}", 200),
        (HOST, url, 403),
    ):
        assert entrance.knock("/", "POST", **both, host=host, origin=origin).status == status


def test_the_health_of_the_server_can_be_asked_by_everybody(entrance: Entrance) -> None:
    assert entrance.knock("/healthz").text == "inside /healthz 0"


def test_the_cookie_and_the_key_let_in_page_commands_and_socket(entrance: Entrance, both: dict[str, str]) -> None:
    protocols = {"sec-websocket-protocol": f"waymark, {both['x-waymark-page-key']}"}
    assert entrance.knock("/", **both).status == 200
    assert entrance.knock("/api/x", **both).status == 200
    assert entrance.knock("/", "POST", **ORIGIN, **both).status == 200
    assert entrance.socket(host=HOST, **ORIGIN, **cookie_of(both), **protocols) == "websocket.accept"
    assert entrance.knock("/nothing", **both).status == 404


def test_the_cookie_alone_gets_the_frame_and_files_and_nothing_else(entrance: Entrance, both: dict[str, str]) -> None:
    cookie = cookie_of(both)
    assert [entrance.knock(path, **cookie).status for path in ("/", "/t/1", "/assets/x.css")] == [200, 200, 200]
    assert [entrance.knock(path, **cookie).status for path in ("/api/x", "/_dash-update-component", "/no")] == [401] * 3
    assert entrance.knock("/", "POST", **ORIGIN, **cookie).status == 401
    assert entrance.socket(host=HOST, **ORIGIN, **cookie) == "websocket.close"


def test_the_key_alone_gets_nothing(entrance: Entrance, both: dict[str, str]) -> None:
    del both["cookie"]
    assert [entrance.knock(path, **both).status for path in ("/", "/api/x")] == [401, 401]


def test_the_key_of_one_session_does_not_open_another(entrance: Entrance, sign_in: LinkSignIn, both: dict[str, str]) -> None:
    both["x-waymark-page-key"] = asyncio.run(sign_in.sessions.begin("")).page_key
    assert entrance.knock("/api/x", **both).status == 401


def test_an_address_of_data_typed_by_hand_says_where_it_opens(entrance: Entrance, both: dict[str, str]) -> None:
    answer = entrance.knock("/api/x", accept="text/html", **cookie_of(both))
    assert (answer.status, "Open this from Waymark" in answer.text) == (403, True)


@pytest.mark.parametrize("change", [str.upper, lambda value: value[:-1], lambda value: "", lambda value: "ÿ" + value])
@pytest.mark.parametrize("name", ["cookie", "x-waymark-page-key"])
def test_a_changed_secret_lets_nobody_in(
    name: str, change: Callable[[str], str], entrance: Entrance, both: dict[str, str]
) -> None:
    before, sign, value = both[name].rpartition("=")
    both[name] = before + sign + change(value)
    assert entrance.knock("/api/x", **both).status == 401


def test_the_link_is_swapped_for_a_cookie_and_a_key(entrance: Entrance, sign_in: LinkSignIn) -> None:
    answer = open_link(entrance, sign_in.create_link())
    cookie, key = answer["set-cookie"] or "", read_page_key(answer.text) or ""
    assert answer.status == 200
    assert f'<script src="{SCRIPT}"' in answer.text
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={MAX_SESSION_SECONDS}"))
    headers = {"cookie": cookie.partition(";")[0], "x-waymark-page-key": key}
    assert entrance.knock("/api/x", **headers).status == 200


def test_a_link_works_once_and_then_a_fresh_one_is_printed(
    entrance: Entrance, sign_in: LinkSignIn, both: dict[str, str], links: list[str]
) -> None:
    link = sign_in.create_link()
    open_link(entrance, link)
    answer = open_link(entrance, link)
    assert (answer.status, answer["set-cookie"], len(links)) == (403, None, 1)
    assert "A link works once" in answer.text
    assert open_link(entrance, link, **cookie_of(both)).status == 200
    assert open_link(entrance, links[0]).status == 200


def test_a_browser_that_signs_in_again_has_one_session(
    entrance: Entrance, sign_in: LinkSignIn, both: dict[str, str]
) -> None:
    open_link(entrance, sign_in.create_link(), **cookie_of(both))
    assert len(asyncio.run(sign_in.sessions.list_open())) == 1
    assert entrance.knock("/", **both).status == 401


@pytest.mark.parametrize("token", ["x", "%FF", "😀", "a" * 5000])
def test_a_wrong_token_gets_nothing_and_does_not_spend_the_link(
    token: str, entrance: Entrance, sign_in: LinkSignIn, links: list[str]
) -> None:
    good = sign_in.create_link().removeprefix(f"http://{HOST}")
    assert entrance.knock(f"/?token={token}").status == 403
    assert entrance.knock(good, "HEAD").status == 401
    assert links == []
    assert entrance.knock(good).status == 200


def test_a_new_link_closes_the_earlier_one(entrance: Entrance, sign_in: LinkSignIn) -> None:
    old, new = sign_in.create_link(), sign_in.create_link()
    assert [open_link(entrance, link).status for link in (old, new, new)] == [403, 200, 403]


def test_a_page_that_lost_its_key_gets_a_new_one_for_a_used_link(
    entrance: Entrance, sign_in: LinkSignIn, both: dict[str, str], links: list[str]
) -> None:
    used = sign_in.create_link()
    open_link(entrance, used)
    assert 'url=/"' in open_link(entrance, used, **cookie_of(both)).text
    assert read_page_key(open_link(entrance, links[0], **cookie_of(both)).text)


def test_only_the_page_of_the_sign_in_is_at_its_address(entrance: Entrance, both: dict[str, str]) -> None:
    answers = [entrance.knock("/sign-in", **headers) for headers in ({}, cookie_of(both), both)]
    assert [(answer.status, answer["set-cookie"]) for answer in answers] == [(200, None)] * 3


@pytest.mark.parametrize(("path", "target"), [("/t/1?x=2", "/t/1?x=2"), ("//evil.example/", "/evil.example/?"), ("/", "/?")])
def test_a_link_on_another_site_leads_to_this_host_alone(path: str, target: str, entrance: Entrance) -> None:
    answer = entrance.knock(path, **{"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
    assert f'content="0; url={target}"' in answer.text


def test_the_socket_of_a_session_is_closed_when_the_session_ends(sign_in: LinkSignIn, both: dict[str, str]) -> None:
    sent: list[dict[str, Any]] = []
    ending: list[asyncio.Task[Any]] = []

    async def follow(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        [session] = await sign_in.sessions.list_open()
        ending.append(asyncio.create_task(sign_in.sessions.end([session.id])))
        assert (await receive())["type"] == "websocket.disconnect"

    async def story() -> None:
        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        key = both["x-waymark-page-key"]
        headers = {"host": HOST, **ORIGIN, **cookie_of(both), "sec-websocket-protocol": f"waymark, {key}"}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "websocket", "scheme": "ws", "path": "/api/x", "query_string": b"", "headers": raw}
        async with asyncio.timeout(60):
            await Entrance(app=follow, sign_in=sign_in).guard()(scope, asyncio.Event().wait, send)  # type: ignore[arg-type]

    asyncio.run(story())
    assert sent == [
        {"type": "websocket.accept", "subprotocol": "waymark"},
        {"type": "websocket.close", "code": 4401},
    ]


async def serve_script(scope: Any, receive: Any, send: Any) -> None:
    """The app that echoes, with the script that keeps the key."""
    script = (Path(__file__).parents[3] / "assets" / "sign-in.js").read_text()
    answer = PlainTextResponse(script, media_type="text/javascript") if scope["path"] == SCRIPT else echo
    await answer(scope, receive, send)


@pytest.mark.e2e
def test_a_link_on_another_site_signs_in_a_real_browser(tmp_path: Path) -> None:
    (ours, port), (theirs, elsewhere) = listening(), listening()
    address = f"http://127.0.0.1:{port}"
    sign_in = LinkSignIn(SessionFile(tmp_path / "sessions.json"), address=address, script=SCRIPT)
    anchors = f'<a href="{sign_in.create_link()}">sign in</a><a href="{address}/t/1?x=2">deep</a>'
    guard = Entrance(serve_script, sign_in=sign_in, hosts=frozenset({f"127.0.0.1:{port}"})).guard()
    other_site = PlainTextResponse(anchors, media_type="text/html")
    with served(guard, ours), served(other_site, theirs), open_browser() as browser:
        page = browser.new_page()
        for name, arrived in (("deep", "not signed in"), ("sign in", "inside / 0"), ("deep", "inside /t/1 0")):
            page.goto(f"http://localhost:{elsewhere}/")  # "localhost" is another site than "127.0.0.1"
            page.get_by_text(name).click()
            page.get_by_text(arrived).wait_for(timeout=PATIENCE_MS)
        assert page.url == f"{address}/t/1?x=2"
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("localStorage.getItem('waymark.page-key')")
