"""The way in behind a proxy: the proxy says who it is, and nobody else is heard."""

import asyncio
import json
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest
from starlette.responses import JSONResponse

from server.guard import AllowedRoutes, Guard
from server.refusal_log import RefusalLog
from server.request_rate import MAX_BURST_REQUESTS, RequestRate
from server.trusted_proxy import MAX_PERSON_CHARS, TrustedProxy

SECRET = "a-secret-of-more-than-thirty-two-characters"
URL = "https://waymark.example"
NETWORKS = (ip_network("10.0.3.0/24"), ip_network("fd00::/8"))
PROXY = TrustedProxy(NETWORKS, SECRET, "X-Forwarded-User", frozenset({"local"}))
GIVEN = {"host": "waymark.example", "x-forwarded-user": "ann", "x-waymark-proxy-secret": SECRET}
Pairs = list[tuple[str, str]]


async def echo(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    names = [name.decode() for name, _ in scope["headers"]]
    state = scope.get("state", {})
    told = {"person": state.get("person"), "headers": names} | ({"role": state["role"]} if "role" in state else {})
    await JSONResponse(told)(scope, receive, send)


def build_guard(rate: RequestRate | None = None, proxy: TrustedProxy = PROXY) -> Guard:
    return Guard(
        echo,
        hosts=frozenset({"waymark.example", "127.0.0.1:8050"}),
        sign_in=None,
        proxy=proxy,
        public_url=URL,
        content_security_policy=lambda: "default-src 'none'",
        routes=AllowedRoutes(frozenset({"/", "/api/threads"}), static_prefixes=("/assets/",)),
        refusals=RefusalLog(lambda *_: None),
        rate=rate,
    )


def knock(
    headers: Pairs, *, path: str = "/api/threads", client: Any = ("10.0.3.7", 5000), guard: Guard | None = None, **scope: Any
) -> tuple[int, Any]:
    """The status of an answer, and its body. A socket that is accepted has the status 101."""
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    base = {"type": "http", "method": "GET", "scheme": "http", "path": path, "query_string": b"", "client": client}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run((guard or build_guard())({**base, "headers": raw, **scope}, receive, send))
    if sent[0]["type"].startswith("websocket"):
        return (101 if sent[0]["type"] == "websocket.accept" else 403), None
    body = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return int(sent[0]["status"]), json.loads(body) if body.startswith("{") else body


def given(**changed: str | None) -> Pairs:
    """The headers of the proxy, some of them replaced or left out."""
    headers = GIVEN | {name.replace("_", "-"): value for name, value in changed.items()}
    return [(name, value) for name, value in headers.items() if value is not None]


def test_the_proxy_names_the_person_and_its_headers_go_no_further() -> None:
    status, told = knock(given())
    assert (status, told) == (200, {"person": "ann", "headers": ["host"]})
    assert knock(given(), client=("fd00::7", 5000))[0] == 200
    assert knock(given(), client=("::ffff:10.0.3.7", 5000))[0] == 200


@pytest.mark.parametrize(
    "client", [("10.0.4.7", 5000), ("127.0.0.1", 5000), ("::1", 5000), ("/run/socket", 0), ("", 0), None]
)
def test_who_comes_from_elsewhere_is_refused_with_the_right_secret(client: Any) -> None:
    headers = [*given(), ("x-forwarded-for", "10.0.3.7"), ("forwarded", "for=10.0.3.7"), ("x-real-ip", "10.0.3.7")]
    assert knock(headers, client=client)[0] == 403


@pytest.mark.parametrize("secret", [None, "", SECRET[:-1], SECRET + "x", SECRET.upper(), f"{SECRET}, {SECRET}"])
def test_a_wrong_secret_is_refused_from_the_right_place(secret: str | None) -> None:
    assert knock(given(x_waymark_proxy_secret=secret))[0] == 403


@pytest.mark.parametrize(
    "extra",
    [
        ("x-forwarded-user", "ann"),
        ("x-forwarded-user", "bob"),
        ("x-waymark-proxy-secret", SECRET),
        ("x_forwarded_user", "bob"),
        ("x-forwarded_user", "bob"),
        ("X_Forwarded-User", "bob"),
        ("x_waymark_proxy_secret", "x"),
        ("x_forwarded_groups", "bosses"),
    ],
)
@pytest.mark.parametrize("place", [0, 3])
def test_a_second_header_is_refused_under_whatever_name_others_read_it(extra: tuple[str, str], place: int) -> None:
    headers = given()
    headers.insert(place, extra)
    assert knock(headers)[0] in (401, 403)


@pytest.mark.parametrize(
    "name", [None, "", "  ", "ann,bob", "ann\x00", "ann\nbob", "local", "\xe4", "a" * (MAX_PERSON_CHARS + 1)]
)
def test_a_name_that_is_none_or_of_nobody_is_refused(name: str | None) -> None:
    assert knock(given(x_forwarded_user=name))[0] == 401


@pytest.mark.parametrize(
    ("groups", "role"),
    [(None, "member"), ("", "member"), ("staff, bosses", "admin"), ("user_graphs", "reader"), ("Bosses", "member")],
)
def test_a_persons_groups_give_a_role(groups: str | None, role: str) -> None:
    choose_role = lambda own: "admin" if "bosses" in own else "reader" if "user_graphs" in own else "member"  # noqa: E731
    guard = build_guard(proxy=replace(PROXY, choose_role=choose_role))
    assert knock(given(x_forwarded_groups=groups), guard=guard)[1] == {"person": "ann", "headers": ["host"], "role": role}
    twice = [*given(x_forwarded_groups="staff"), ("x-forwarded-groups", "bosses")]
    assert knock(twice, guard=guard)[0] == 403
    assert knock(given(x_forwarded_groups="bosses"))[1] == {"person": "ann", "headers": ["host"]}  # nobody has a role


def test_a_name_may_be_in_any_script() -> None:
    assert knock(given(x_forwarded_user="Jörg Ærø".encode().decode("latin-1")))[1]["person"] == "Jörg Ærø"


def test_without_the_proxy_nothing_is_open_but_its_health_which_hears_no_name() -> None:
    for path in ("/", "/t/1", "/api/threads", "/assets/waymark.mjs", "/sign-in", "/nowhere"):
        assert knock([("host", "127.0.0.1:8050")], path=path, client=("127.0.0.1", 1))[0] == 403
    status, told = knock(given(), path="/healthz", client=("192.0.2.1", 1))
    assert (status, told) == (200, {"person": None, "headers": ["host"]})


@pytest.mark.parametrize(
    ("origin", "status"),
    [(URL, 101), (None, 403), ("http://waymark.example", 403), ("https://evil.example", 403), (f"{URL}.evil", 403)],
)
@pytest.mark.parametrize("host", ["waymark.example", "127.0.0.1:8050"])
def test_a_socket_and_a_command_come_from_the_public_address(origin: str | None, status: int, host: str) -> None:
    headers = given(origin=origin, host=host)
    assert knock(headers, type="websocket", scheme="ws")[0] == status
    assert knock(headers, method="POST")[0] == (200 if status == 101 else status)


def test_a_page_that_the_proxy_has_signed_out_comes_back_to_the_start() -> None:
    status, text = knock(given(), path="/sign-in")
    assert status == 200
    assert 'content="0; url=/"' in text


def test_one_person_who_sends_too_much_keeps_nobody_else_out() -> None:
    guard = build_guard(RequestRate(lambda: 0.0))
    statuses = [knock(given(), guard=guard)[0] for _ in range(MAX_BURST_REQUESTS + 1)]
    assert (statuses[-2], statuses[-1]) == (200, 429)
    assert knock(given(x_forwarded_user="bob"), guard=guard)[0] == 200
