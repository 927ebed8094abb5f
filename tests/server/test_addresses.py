"""Waymark below a path: requests with and without it, what the answers name, and that no other module writes an address."""

import ast
import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

import app as program
from application.composition import page_server
from application.settings import Settings, SettingsError, load_settings
from server.addresses import OWN_PARTS, build_address, read_path, use_prefix
from server.layers import serve_below
from tests.page_key import read_page_key

ROOT = Path(__file__).parents[2]
ORIGIN = "http://127.0.0.1:8050"
BELOW = "/waymark/"
OWN_PATH = re.compile(rf"/({'|'.join(OWN_PARTS)})\b|/_dash")
SOURCES = [
    *ROOT.glob("*.py"),
    *(path for folder in ("application", "components", "extensions", "server") for path in (ROOT / folder).rglob("*.py")),
]
ROUTES = {"get", "post", "api_route", "websocket"}
# The constants with paths of ours.
_DECLARED = re.compile(r'^([A-Z_]+) = (?:"|f"\{SIGN_IN_PATH\})/', re.MULTILINE)
NAMED = {name for path in SOURCES for name in _DECLARED.findall(path.read_text(encoding="utf-8"))}
# In JavaScript, an address begins a text, a template or an attribute.
WRITTEN = re.compile(rf"""["'`=](/|\$\{{ROOT\}})({"|".join(OWN_PARTS)})\b""")


def load(**given: str) -> Settings:
    return load_settings(given, dotenv=ROOT / "no.env", tables=ROOT / "no.toml")


@pytest.mark.parametrize("prefix", ["/", "/waymark/", "/a/b.c/d~e-f_g/", "/tools/t/"])
def test_a_prefix_is_a_path_between_slashes(prefix: str) -> None:
    assert load(URL_PREFIX=prefix).url_prefix == prefix


BAD = [
    "waymark",
    "/waymark",
    "waymark/",
    "//",
    "/a//b/",
    "/../",
    "/.a/",
    "/_dash-x/",
    "/ä/",
    "/a b/",
    "/a?b/",
    "/a%2fb/",
    "/t/",
    "/api/x/",
]


@pytest.mark.parametrize("prefix", BAD)
def test_another_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(SettingsError, match=r"^URL_PREFIX must be a path that begins and ends with a slash"):
        load(URL_PREFIX=prefix)


def test_an_address_is_read_as_it_was_built() -> None:
    assert (build_address("/t/a"), read_path("/t/a")) == ("/t/a", "/t/a")

    async def story() -> None:
        use_prefix(BELOW)
        assert build_address("/") == BELOW
        assert build_address("/t/a") == "/waymark/t/a"
        assert read_path("/waymark/t/a") == "/t/a"
        assert [read_path(each) for each in ("/", "/t/a", "/waymark", "/waymarks/")] == [None] * 4

    asyncio.run(story())


async def answer_path(scope: Scope, receive: Receive, send: Send) -> None:
    text = f"{scope['path']} {scope['raw_path'].decode()} {scope['query_string'].decode()} {build_address('/x')}"
    await PlainTextResponse(text)(scope, receive, send)


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/waymark/", "/ /  /waymark/x"),
        ("/", "/ /  /waymark/x"),
        ("/waymark/t/a%20b?c=d", "/t/a b /t/a%20b c=d /waymark/x"),
        ("/t/a%20b", "/t/a b /t/a%20b  /waymark/x"),
        ("/waymark/waymark/", "/waymark/ /waymark/  /waymark/x"),
    ],
)
def test_a_request_comes_with_the_prefix_or_without_it(path: str, seen: str) -> None:
    assert asyncio.run(fetch(serve_below(BELOW, answer_path), path)).text == seen


def test_the_prefix_without_its_last_slash_leads_to_the_page() -> None:
    response = asyncio.run(fetch(serve_below(BELOW, answer_path), "/waymark?token=a%2Bb"))
    assert (response.status_code, response.headers["location"]) == (307, "/waymark/?token=a%2Bb")


async def fetch(asgi: Any, path: str, **options: Any) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(asgi), base_url=ORIGIN) as browser:
        return await browser.get(path, **options)


@pytest.mark.parametrize("below", [BELOW, "/"], ids=["kept", "taken off"])
def test_a_page_below_a_path_names_nothing_outside_of_it(tmp_path: Path, below: str) -> None:
    async def story() -> None:
        given: Any = {"data_dir": tmp_path, "model": "demo", "titles": "off", "url_prefix": BELOW}
        app = program.create_app(Settings(**given), port=8050)
        link = app.create_link()
        assert link.startswith(f"{ORIGIN}{BELOW}?token=")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=ORIGIN) as browser:
            crossing = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
            again = await browser.get(f"{below}t/a%20b?message=1", headers=crossing)
            assert "url=/waymark/t/a%20b?message=1" in again.text
            entered = await browser.get(link.removeprefix(ORIGIN).replace(BELOW, below))
            assert "; Path=/waymark/;" in entered.headers["set-cookie"]
            assert re.findall(r'(?:src|data-next|data-root)="([^"?]*)', entered.text) == [
                f"{BELOW}assets/{page_server.load_page_files().version}/sign-in.js", BELOW, BELOW
            ]  # fmt: skip
            cookie = entered.headers["set-cookie"].partition(";")[0]
            headers = {"cookie": cookie, "x-waymark-page-key": read_page_key(entered.text) or "", "origin": ORIGIN}
            page = await browser.get(below, headers=headers)
            named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
            assert len(named) > 5
            assert [each for each in named if not each.startswith(BELOW)] == []
            [config] = re.findall(r'id="_dash-config"[^>]*>([^<]+)<', page.text)
            assert json.loads(config)["requests_pathname_prefix"] == BELOW
            for each in named:
                assert (await browser.get(each.replace(BELOW, below), headers=headers)).status_code == 200, each
            manifest = next(each for each in named if each.endswith(".webmanifest"))
            start = (await browser.get(manifest, headers=headers)).json()["start_url"]
            assert urljoin(manifest, start) == BELOW
            layout = json.dumps((await browser.get(f"{below}_dash-layout", headers=headers)).json())
            assert set(re.findall(r'"href": "(/[^"]*)"', layout)) == {BELOW}
            assert (await browser.get(f"{below}api/threads", headers=headers)).status_code == 200
            assert (await browser.get(f"{below}api/threads")).status_code == 401
            for each in ("healthz", "readyz"):
                assert (await browser.get(f"{below}{each}")).json()["status"] in ("ok", "starting")
            ended = await browser.post(f"{below}api/sessions/current/end", headers=headers)
            assert "; Path=/waymark/;" in ended.headers["set-cookie"]
        await app.close()

    asyncio.run(story())


def test_the_cookie_of_a_sign_in_at_a_provider_is_of_the_path(tmp_path: Path) -> None:
    from extensions.people.oidc_sign_in import OidcSignIn

    given: Any = {"data_dir": tmp_path, "model": "demo", "titles": "off", "auth": "oidc", "url_prefix": BELOW}
    given |= {"oidc_issuer": "https://id.example", "oidc_client_id": "waymark", "oidc_member_groups": ("staff",)}
    app = program.create_app(Settings(**given, public_url="https://waymark.example"), port=8050)
    assert isinstance(app.sign_in, OidcSignIn)
    assert app.sign_in.provider._client.redirect_uri == "https://waymark.example/waymark/sign-in/callback"
    assert app.sign_in._request_cookie == "__Secure-waymark_request_443"  # one of the whole host would be refused
    asyncio.run(app.close())


def test_a_person_whom_a_proxy_signs_in_again_comes_back_below_the_path(tmp_path: Path) -> None:
    given: Any = {"data_dir": tmp_path, "model": "demo", "titles": "off", "auth": "proxy", "url_prefix": BELOW}
    given |= {"proxy_networks": "127.0.0.0/8", "proxy_secret": "s" * 32, "public_url": ORIGIN}
    app = program.create_app(Settings(**given), port=8050)
    headers = {"x-forwarded-user": "ann", "x-waymark-proxy-secret": "s" * 32}
    assert "url=/waymark/" in asyncio.run(fetch(app.asgi, "/sign-in", headers=headers)).text
    asyncio.run(app.close())


def test_no_route_of_ours_is_below_a_prefix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a proxy takes the prefix off, what is left would lose it once more."""
    servers: list[Any] = []
    make = page_server.FastAPI
    monkeypatch.setattr(page_server, "FastAPI", lambda **options: servers.append(make(**options)) or servers[0])
    given: Any = {"data_dir": tmp_path, "model": "demo", "titles": "off", "metrics_key": "0123456789abcdef"}
    app = program.create_app(Settings(**given, auth="password"), port=8050)
    routes = [each.path for each in servers[0].routes if isinstance(each, APIRoute | APIWebSocketRoute)]
    parts = {path.split("/")[1] for path in routes} | {"assets", "t"}
    assert {each for each in parts if each and not each.startswith(("_", "{"))} == set(OWN_PARTS)
    asyncio.run(app.close())


def find_written(tree: ast.AST) -> Iterator[str]:
    """Find paths of ours that are no part of a route, of a named path, or of an argument of `build_address`."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        text = _read_beginning(node)
        if text is None or not OWN_PATH.match(text) or isinstance(parents.get(node), ast.JoinedStr):
            continue
        if not any(_is_path(each) for each in _list_above(node, parents)):
            yield f"{node.lineno}: {text}"  # type: ignore[attr-defined]


def _read_beginning(node: ast.AST) -> str | None:
    """The beginning of a text; of one that begins with a named path, a path of ours in its place."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr) or not node.values:
        return None
    first = node.values[0]
    if isinstance(first, ast.FormattedValue):
        name = first.value
        return "/api/" if isinstance(name, ast.Name) and name.id in NAMED else None
    return _read_beginning(first)


def _list_above(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while (above := parents.get(node)) is not None:
        yield above
        node = above


def _is_path(node: ast.AST) -> bool:
    """Whether all within is a path: a route, a constant, or the argument of `build_address`."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in {"build_address", "for_admins", *ROUTES}
    if isinstance(node, ast.FunctionDef):
        return node.name == "root"  # of the page's files: a path
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(each, ast.Name) and re.fullmatch("_?[A-Z_]+|[a-z_]+_paths", each.id) for each in targets)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_writes_addresses_in_one_place(path: Path) -> None:
    if path.name != "addresses.py":
        assert list(find_written(ast.parse(path.read_text(encoding="utf-8")))) == []


def find_roots(tree: ast.AST) -> Iterator[int]:
    """Find the lines with the start page's path in a value that a browser may get: in no comparison, call or default."""
    for node in ast.walk(tree):
        values = [*ast.iter_child_nodes(node)]
        if isinstance(node, ast.Call):
            values = [] if _is_path(node) or isinstance(node.func, ast.Attribute) else node.args
        elif isinstance(node, ast.JoinedStr):
            values = [*node.values[:1]]
        elif isinstance(node, ast.Dict):
            values = [*node.values]
        elif isinstance(node, ast.Compare | ast.BoolOp | ast.Expr | ast.arguments):
            values = []
        yield from (each.lineno for each in values if isinstance(each, ast.Constant) and each.value == "/")


@pytest.mark.parametrize(
    "path", [each for each in SOURCES if "components" in each.parts], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_page_writes_the_root_address_in_one_place(path: Path) -> None:
    assert list(find_roots(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_a_written_root_address_is_found() -> None:
    wrong = 'a = "/" if b else None\nc(d="/")\ne = {"f": "/"}\ng("/")\nh = f"/{i}"'
    assert sorted(find_roots(ast.parse(wrong))) == [1, 2, 3, 4, 5]
    right = (
        'a = build_address("/")\nb = c.partition("/")\nd = read_path(e) or "/"\nf = g == "/"\nh = f"{i}/{j}"\nk = {"/": i}'
    )
    assert [*find_roots(ast.parse(right))] == []


def test_a_written_address_is_found() -> None:
    wrong = 'def f(a):\n    x = "/t/a"\n    return f"/api/{a}", f"{SHARED_PATH}?{a}", f"see /t/{a}"'
    assert [each[0] for each in find_written(ast.parse(wrong))] == ["2", "3", "3"]
    right = 'A_PATH = "/t/"\n@server.get("/api/{a}")\ndef f(a):\n    return build_address(f"{SHARED_PATH}/{a}")'
    assert list(find_written(ast.parse(right))) == []


def test_javascript_writes_addresses_in_one_place() -> None:
    files = [path for kind in ("*.mjs", "*.js", "*.html", "*.webmanifest") for path in (ROOT / "assets").rglob(kind)]
    found = {
        path.relative_to(ROOT / "assets").as_posix() for path in files if WRITTEN.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"modules/browser/addresses.mjs"}
    root = re.compile(r"""(pathname ===|leaveSession\(|replace\(|goTo\(|href:|href=|url=) ?["'`]/["'`]""")
    assert [path.name for path in files if "path=/" in path.read_text(encoding="utf-8")] == []  # a cookie
    assert [path.name for path in files if root.search(path.read_text(encoding="utf-8"))] == []
