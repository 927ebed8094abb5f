"""The guard: who gets in, what gets in, and what every answer carries."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from server.guard import MAX_BODY_BYTES, AllowedRoutes, Guard
from server.headers import build_security_policy, choose_file_caching
from server.refusal_log import RefusalLog
from server.request_rate import MAX_BURST_REQUESTS, RequestRate
from server.session.link_sign_in import LinkSignIn
from server.session.session_file import SessionFile

HOST = "127.0.0.1:8050"
ORIGIN = {"origin": f"http://{HOST}"}
ALLOWED = AllowedRoutes(
    paths=frozenset({"/", "/_dash-update-component"}),
    prefixes=("/api/",),
    page_prefixes=("/t/",),
    static_prefixes=("/assets/",),
    immutable_prefixes=("/assets/0123456789abcdef/",),
    max_body_bytes={"/_dash-update-component": 2_500_000},
)


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
    sign_in: LinkSignIn | None = None
    hosts: frozenset[str] = frozenset({HOST})
    rate: RequestRate | None = None
    public_url: str | None = None

    def guard(self) -> Guard:
        return Guard(
            self.app,
            hosts=self.hosts,
            sign_in=self.sign_in,
            public_url=self.public_url,
            content_security_policy=lambda: build_security_policy(["'sha256-x'"]),
            routes=ALLOWED,
            refusals=RefusalLog(lambda *_: None),
            rate=self.rate,
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


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8050", "127.0.0.1", "127.0.0.1:80", "", ["a", HOST]])
def test_only_our_own_address_is_served(host: Any) -> None:
    assert Entrance().knock("/", host=host).status == 400
    assert Entrance().socket(host=host, **ORIGIN) == "websocket.close"


@pytest.mark.parametrize(
    ("public_url", "advice"),
    [
        (None, "Set PUBLIC_URL to the address in the browser."),
        ("https://waymark.example", "Open the one that PUBLIC_URL sets."),
    ],
)
def test_the_refusal_of_an_address_says_what_to_do(public_url: str | None, advice: str) -> None:
    answer = Entrance(public_url=public_url).knock("/", host="box:8080")
    assert answer.text == f"This address is not served here. {advice}\n"


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
    assert Entrance().knock("/_dash-update-component", "POST", content_length="2500000", **ORIGIN).status == 200
    assert Entrance().knock("/_dash-update-component", "POST", content_length="2500001", **ORIGIN).status == 413


@pytest.mark.parametrize("length", ["-1", "x", "1.0", "", "²"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    assert Entrance().knock("/", "POST", content_length=length, **ORIGIN).status == 400


def test_a_body_that_does_not_say_its_length_is_counted() -> None:
    chunks = (b"x" * 400_000,) * 3
    assert Entrance().knock("/", "POST", chunks, **ORIGIN).status == 413
    assert Entrance().knock("/", "GET", chunks, transfer_encoding="chunked").status == 413
    assert Entrance().knock("/", "POST", chunks[:2], **ORIGIN).text == "inside / 800000"


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
    assert choose_file_caching("/_dash-component-suites/dash/x.v4_4_1m1700000000.js", b"", ()) == for_ever
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
        st.tuples(
            st.sampled_from(["host", "cookie", "x-waymark-page-key", "origin", "content-length", "accept"]),
            st.binary(max_size=30),
        )
    ),
    method=st.sampled_from(["GET", "HEAD", "POST"]),
)
def test_no_request_breaks_the_door(path: str, query: bytes, headers: list[tuple[str, bytes]], method: str) -> None:
    sign_in = LinkSignIn(SessionFile(Path("/nowhere")), address=f"http://{HOST}", script="/assets/sign-in.js")
    entrance = Entrance(sign_in=sign_in)
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


def test_a_session_that_sends_too_many_requests_is_told_to_wait_and_still_gets_the_page() -> None:
    entrance = Entrance(rate=RequestRate(lambda: 0.0))
    statuses = [entrance.knock("/api/x").status for _ in range(MAX_BURST_REQUESTS + 2)]
    assert statuses == [200] * MAX_BURST_REQUESTS + [429] * 2
    assert entrance.knock("/api/x")["retry-after"] == "1"
    assert [entrance.knock(path).status for path in ("/", "/t/x", "/assets/x.css", "/healthz")] == [200] * 4
