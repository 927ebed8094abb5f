"""The door: who gets in, what gets in, and what every answer carries."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import TimestampSigner
from playwright.sync_api import sync_playwright
from starlette.responses import PlainTextResponse

from server.guard import MAX_BODY_BYTES, AllowedRoutes, Guard
from server.headers import build_security_policy, choose_file_caching
from server.session import MAX_COOKIE_SECONDS, Session

HOST = "127.0.0.1:8050"
ORIGIN = {"origin": f"http://{HOST}"}
DOORS = AllowedRoutes(
    paths=frozenset({"/", "/_dash-update-component"}),
    prefixes=("/t/",),
    static_prefixes=("/assets/",),
    immutable_prefixes=("/assets/0123456789abcdef/",),
    max_body_bytes={"/_dash-update-component": 16_000_000},
)
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An app that answers what it got, on HTTP, and accepts every socket."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    await PlainTextResponse(f"inside {scope['path']} {len(body)}")(scope, receive, send)


@dataclass
class Entrance:
    """A guard in front of an app, and the ways to knock."""

    app: Any = echo
    session: Session | None = None
    hosts: frozenset[str] = frozenset({HOST})
    stale: list[int] = field(default_factory=list)

    def guard(self) -> Guard:
        return Guard(
            self.app,
            hosts=self.hosts,
            session=self.session,
            content_security_policy=lambda: build_security_policy(["'sha256-x'"]),
            routes=DOORS,
            on_stale_link=lambda: self.stale.append(1),
        )

    def knock(self, path: str, method: str = "GET", chunks: tuple[bytes, ...] = (b"",), **headers: Any) -> Answer:
        scope = {"type": "http", "method": method, "scheme": "http", "headers": _raw({"host": HOST} | headers)}
        scope["path"], _, query = path.partition("?")
        messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        messages[-1]["more_body"] = False
        return Answer(_run(self.guard(), scope | {"query_string": query.encode()}, messages))

    def socket(self, path: str = "/t/1", **headers: Any) -> str:
        scope = {"type": "websocket", "scheme": "ws", "path": path, "query_string": b"", "headers": _raw(headers)}
        sent = _run(self.guard(), scope, [{"type": "websocket.connect"}])
        return str(sent[0]["type"])


@dataclass
class Answer:
    sent: list[dict[str, Any]]

    @property
    def status(self) -> int:
        assert [message["type"] for message in self.sent].count("http.response.start") == 1
        return int(self.sent[0]["status"])

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.sent[1:]).decode()

    def __getitem__(self, header: str) -> str | None:
        return {key.decode(): value.decode() for key, value in self.sent[0]["headers"]}.get(header)


def _raw(headers: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    pairs = [(key, value) for key, values in headers.items() for value in ([values] if isinstance(values, str) else values)]
    return [(key.replace("_", "-").encode(), value.encode("latin-1")) for key, value in pairs]


def _run(app: Any, scope: dict[str, Any], messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    rest = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(rest, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def signed_in() -> tuple[Entrance, dict[str, str]]:
    session = Session(b"secret" * 8, port=8050)
    return Entrance(session=session), {"cookie": f"other; x=1; waymark_8050={session.issue_cookie()}"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8050", "127.0.0.1", "127.0.0.1:80", "", ["a", HOST]])
def test_only_our_own_address_is_served(host: Any) -> None:
    assert Entrance().knock("/", host=host).status == 400
    assert Entrance().socket(host=host, **ORIGIN) == "websocket.close"


def test_a_request_without_a_host_is_refused() -> None:
    assert Entrance().knock("/", host=[]).status == 400


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://127.0.0.1:8050", "http://127.0.0.1:1"])
def test_commands_come_from_our_own_page_alone(origin: str | None) -> None:
    headers = {"origin": origin} if origin else {}
    assert Entrance().knock("/", "POST", **headers).status == 403
    assert Entrance().socket(host=HOST, **headers) == "websocket.close"


def test_our_own_page_gets_in() -> None:
    assert Entrance().knock("/t/1").text == "inside /t/1 0"
    assert Entrance().knock("/", "POST", (b"ab", b"c"), **ORIGIN).text == "inside / 3"
    assert Entrance().socket(host=HOST, **ORIGIN) == "websocket.accept"


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/_dash-ws-callback", "/x.json", "/T/1", "//t/1", "/_mcp"])
def test_what_is_not_listed_is_not_found(path: str) -> None:
    assert Entrance().knock(path).status == 404
    assert Entrance().socket(path, host=HOST, **ORIGIN) == "websocket.close"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "X"])
def test_other_methods_are_not_allowed(method: str) -> None:
    assert Entrance().knock("/", method, **ORIGIN).status == 405


def test_a_body_that_says_it_is_too_large_is_refused_unread() -> None:
    assert Entrance().knock("/", "POST", content_length=str(MAX_BODY_BYTES + 1), **ORIGIN).status == 413
    assert Entrance().knock("/", "POST", content_length="9" * 5000, **ORIGIN).status == 413
    assert Entrance().knock("/", "POST", content_length=str(MAX_BODY_BYTES), **ORIGIN).status == 200
    assert Entrance().knock("/_dash-update-component", "POST", content_length="15999999", **ORIGIN).status == 200
    assert Entrance().knock("/_dash-update-component", "POST", content_length="16000001", **ORIGIN).status == 413


@pytest.mark.parametrize("length", ["-1", "x", "1.0", "", "²"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    assert Entrance().knock("/", "POST", content_length=length, **ORIGIN).status == 400


def test_a_body_that_does_not_say_its_length_is_counted() -> None:
    chunks = (b"x" * 400_000,) * 3
    assert Entrance().knock("/", "POST", chunks, **ORIGIN).status == 413
    assert Entrance().knock("/", "GET", chunks, transfer_encoding="chunked").status == 413
    assert Entrance().knock("/", "POST", chunks[:2], **ORIGIN).text == "inside / 800000"


def test_nobody_gets_in_without_a_cookie() -> None:
    entrance, _ = signed_in()
    page = entrance.knock("/")
    assert (page.status, page["content-type"]) == (401, "text/html; charset=utf-8")
    assert "Open the link that Waymark printed" in page.text
    for path in ("/_dash-update-component", "/assets/x.css", "/nothing"):
        assert entrance.knock(path)["content-type"] == "text/plain; charset=utf-8"
        assert entrance.knock(path).status == 401
    assert entrance.knock("/", "POST", **ORIGIN).status == 401
    assert entrance.socket(host=HOST, **ORIGIN) == "websocket.close"


def test_the_health_of_the_server_can_be_asked_by_everybody() -> None:
    assert signed_in()[0].knock("/healthz").text == "inside /healthz 0"


def test_the_cookie_lets_in_page_commands_and_socket() -> None:
    entrance, cookie = signed_in()
    assert entrance.knock("/", **cookie).status == 200
    assert entrance.knock("/", "POST", **ORIGIN, **cookie).status == 200
    assert entrance.socket(host=HOST, **ORIGIN, **cookie) == "websocket.accept"
    assert entrance.knock("/nothing", **cookie).status == 404


@pytest.mark.parametrize("change", [str.upper, lambda value: value[:-1], lambda value: "", lambda value: "ÿ" + value])
def test_a_changed_cookie_lets_nobody_in(change: Callable[[str], str]) -> None:
    session = Session(b"secret" * 8, port=8050)
    value = change(session.issue_cookie())
    assert Entrance(session=session).knock("/", cookie=f"waymark_8050={value}").status == 401


def test_a_cookie_of_another_server_lets_nobody_in() -> None:
    other = Session(b"another" * 8, port=8050).issue_cookie()
    assert not Session(b"secret" * 8, port=8050).is_valid(other)


def test_a_cookie_ends_after_thirty_days(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(b"secret" * 8, port=8050)
    value, now = session.issue_cookie(), TimestampSigner("x").get_timestamp()
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _: now + MAX_COOKIE_SECONDS - 60)
    assert session.is_valid(value)
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _: now + MAX_COOKIE_SECONDS + 60)
    assert not session.is_valid(value)


def test_the_link_is_swapped_for_a_cookie() -> None:
    entrance, _ = signed_in()
    assert entrance.session
    answer = entrance.knock(f"/?token={entrance.session.issue_link_token()}")
    cookie = answer["set-cookie"] or ""
    assert answer.status == 200
    assert 'content="0; url=/"' in answer.text
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={MAX_COOKIE_SECONDS}"))
    assert entrance.knock("/", cookie=cookie.partition(";")[0]).status == 200


def test_a_link_works_once_and_then_a_fresh_one_is_asked_for() -> None:
    entrance, cookie = signed_in()
    assert entrance.session
    link = f"/?token={entrance.session.issue_link_token()}"
    entrance.knock(link)
    answer = entrance.knock(link)
    assert (answer.status, answer["set-cookie"], entrance.stale) == (403, None, [1])
    assert "A link works once" in answer.text
    assert entrance.knock(link, **cookie).status == 200


@pytest.mark.parametrize("token", ["x", "%FF", "😀", "a" * 5000])
def test_a_wrong_token_gets_nothing_and_does_not_spend_the_link(token: str) -> None:
    entrance, _ = signed_in()
    assert entrance.session
    good = entrance.session.issue_link_token()
    assert entrance.knock(f"/?token={token}").status == 403
    assert entrance.knock(f"/?token={good}", "HEAD").status == 401
    assert entrance.stale == []
    assert entrance.knock(f"/?token={good}").status == 200


def test_a_new_link_closes_the_earlier_one() -> None:
    session = Session(b"secret" * 8, port=8050)
    old, new = session.issue_link_token(), session.issue_link_token()
    assert (session.redeem_link_token(old), session.redeem_link_token(new), session.redeem_link_token(new)) == (
        False,
        True,
        False,
    )


EXPECTED = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": build_security_policy(["'sha256-x'"]),
}


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/nothing", 404), ("/?host=", 400), ("/?big=", 413)])
def test_every_answer_carries_the_security_headers(path: str, status: int) -> None:
    headers = {"host": "x"} if "host" in path else {"content_length": "999999999"} if "big" in path else {}
    answer = Entrance().knock(path, **headers)
    assert answer.status == status
    assert {name: answer[name] for name in EXPECTED} == EXPECTED
    assert "camera=()" in (answer["permissions-policy"] or "")


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    policy = build_security_policy(["'sha256-x'"])
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-x'; ")
    assert "http" not in policy
    assert "unsafe-eval" not in policy


def test_files_are_kept_only_while_their_address_says_their_version() -> None:
    for_ever = "public, max-age=31536000, immutable"
    assert Entrance().knock("/assets/x.css?m=1700000000.0")["cache-control"] == for_ever
    assert choose_file_caching("/_dash-component-suites/dash/x.v4_4_1m1700000000.js", b"") == for_ever
    assert Entrance().knock("/assets/x.css")["cache-control"] == "no-cache"
    assert Entrance().knock("/?m=1")["cache-control"] == "no-store"


def test_a_file_is_immutable_only_below_the_hash_of_the_contents() -> None:
    assert Entrance().knock("/assets/0123456789abcdef/x.css")["cache-control"] == "public, max-age=31536000, immutable"
    assert Entrance().knock("/assets/fedcba9876543210/x.css")["cache-control"] == "no-cache"


def test_an_error_page_is_never_kept() -> None:
    missing = Entrance(app=PlainTextResponse("none", 404))
    assert missing.knock("/assets/0123456789abcdef/x.css")["cache-control"] == "no-store"
    assert missing.knock("/assets/x.css?m=1")["cache-control"] == "no-store"


def test_a_failure_shows_an_id_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError("sk-secret")

    with caplog.at_level(logging.ERROR):
        answer = Entrance(app=broken).knock("/t/\nfake line")
    assert answer.status == 500
    assert "sk-secret" not in answer.text
    assert answer.text.partition("error ")[2][:8] in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "\nfake" not in caplog.text


def test_what_the_app_says_of_its_own_failure_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def starlette(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("Traceback: sk-secret", 500)(scope, receive, send)
        raise ZeroDivisionError

    answer = Entrance(app=starlette).knock("/")
    assert answer.status == 500
    assert "sk-secret" not in answer.text
    assert "ZeroDivisionError" in caplog.text


def test_half_an_answer_is_cut_and_not_completed() -> None:
    async def half(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Entrance(app=half).knock("/")


def test_startup_and_shutdown_pass_untouched() -> None:
    seen = []

    async def app(*arguments: Any) -> None:
        seen.append(arguments)

    scope = {"type": "lifespan"}
    _run(Entrance(app=app).guard(), scope, [])
    assert seen[0][0] is scope


@given(
    path=st.text(max_size=20),
    query=st.binary(max_size=20),
    headers=st.lists(
        st.tuples(st.sampled_from(["host", "cookie", "origin", "content-length", "accept"]), st.binary(max_size=30))
    ),
    method=st.sampled_from(["GET", "HEAD", "POST"]),
)
def test_no_request_breaks_the_door(path: str, query: bytes, headers: list[tuple[str, bytes]], method: str) -> None:
    entrance, _ = signed_in()
    raw = [(name.encode(), value) for name, value in [("host", HOST.encode()), *headers]]
    scope = {"type": "http", "method": method, "scheme": "http", "path": path, "query_string": query, "headers": raw}
    answer = Answer(_run(entrance.guard(), scope, [{"type": "http.request", "body": b""}]))
    assert answer.status in (400, 401, 403, 404, 413)


@contextmanager
def served(app: Any, port: socket.socket) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [port]})
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        port.close()


def listening() -> tuple[socket.socket, int]:
    port = socket.socket()
    port.bind(("127.0.0.1", 0))
    port.listen()  # from now on browsers wait instead of being refused
    return port, port.getsockname()[1]


@pytest.mark.e2e
def test_a_link_on_another_site_signs_in_a_real_browser() -> None:
    (ours, port), (theirs, elsewhere) = listening(), listening()
    session = Session(b"secret" * 8, port=port)
    address, link = f"http://127.0.0.1:{port}", session.issue_link_token()
    anchors = f'<a href="{address}/?token={link}">sign in</a><a href="{address}/t/1?x=2">deep</a>'
    guard = Entrance(session=session, hosts=frozenset({f"127.0.0.1:{port}"})).guard()
    other_site = PlainTextResponse(anchors, media_type="text/html")
    with served(guard, ours), served(other_site, theirs), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        page = browser.new_page()
        for name, arrived in (("deep", "not signed in"), ("sign in", "inside / 0"), ("deep", "inside /t/1 0")):
            page.goto(f"http://localhost:{elsewhere}/")  # "localhost" is another site than "127.0.0.1"
            page.get_by_text(name).click()
            page.get_by_text(arrived).wait_for(timeout=60_000)
        assert page.url == f"{address}/t/1?x=2"
        assert page.evaluate("document.cookie") == ""
        browser.close()
