"""Static files: compressed once, kept under an address with their hash, and read from Dash only once."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from server.static_serving import MAX_KEPT_LIBRARIES, PageFiles, StaticFile, serve_static_files

TEXT = "export const modules = {};\n" * 50
FILES = PageFiles("0123456789abcdef", {"waymark.mjs": StaticFile.build(TEXT.encode(), "text/javascript")})
LIBRARY = "/_dash-component-suites/dash/x.v1m1.js"
Fetch = Callable[..., httpx.Response]


class Library:
    """Dash, as far as it sends files; counts the requests."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        self.requests.append(request.url.path)
        missing = request.url.path.endswith("missing.js")
        response: Response = PlainTextResponse("none", 404) if missing else Response(TEXT, media_type="text/javascript")
        await response(scope, receive, send)


@pytest.fixture
def dash() -> Library:
    return Library()


@pytest.fixture
def fetch(dash: Library) -> Fetch:
    app: Any = serve_static_files(dash, FILES)

    async def send(path: str, headers: dict[str, str]) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
            return await client.get(path, headers=headers)

    def fetch(path: str, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(send(path, {"accept-encoding": ""} | named))

    return fetch


@pytest.mark.parametrize("path", [f"{FILES.root}/waymark.mjs", LIBRARY])
def test_a_browser_gets_a_file_compressed(path: str, fetch: Fetch) -> None:
    answer = fetch(path, accept_encoding="gzip, br")
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(TEXT) / 10
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.text == TEXT


@pytest.mark.parametrize("path", [f"{FILES.root}/waymark.mjs", LIBRARY])
def test_a_client_without_gzip_gets_the_text_itself(path: str, fetch: Fetch) -> None:
    answer = fetch(path)
    assert "content-encoding" not in answer.headers
    assert answer.text == TEXT


@pytest.mark.parametrize("path", [f"{FILES.root}/waymark.mjs", LIBRARY])
def test_an_unchanged_file_is_not_sent_again(path: str, fetch: Fetch) -> None:
    etag = (fetch(path)).headers["etag"]
    answer = fetch(path, if_none_match=etag)
    assert (answer.status_code, answer.content) == (304, b"")


def test_a_library_is_read_once_whatever_the_first_request_asked_for(dash: Library, fetch: Fetch) -> None:
    assert (fetch(LIBRARY, if_none_match='"x"')).text == TEXT
    assert (fetch(LIBRARY)).text == TEXT
    assert dash.requests == [LIBRARY]


def test_a_missing_file_is_not_found(dash: Library, fetch: Fetch) -> None:
    for path in (f"{FILES.root}/no.mjs", "/assets/no.mjs", "/assets/", "/_dash-component-suites/missing.js"):
        assert (fetch(path)).status_code == 404
    assert dash.requests == ["/_dash-component-suites/missing.js"]


def test_a_page_of_an_older_server_gets_its_files(fetch: Fetch) -> None:
    assert (fetch("/assets/fedcba9876543210/waymark.mjs")).text == TEXT


def test_invented_versions_do_not_fill_the_memory(dash: Library, fetch: Fetch) -> None:
    paths = [f"/_dash-component-suites/dash/x.v1m{number}.js" for number in range(MAX_KEPT_LIBRARIES + 1)]
    for path in [*paths, paths[-1], paths[0]]:
        assert (fetch(path)).text == TEXT
    assert dash.requests == [*paths, paths[-1]]


def test_other_addresses_reach_the_page_and_their_answers_name_its_version(dash: Library, fetch: Fetch) -> None:
    assert (fetch("/t/1")).headers["waymark-page"] == FILES.version
    assert dash.requests == ["/t/1"]
    assert "waymark-page" not in fetch(f"{FILES.root}/waymark.mjs").headers
