"""The servers and the browser of these tests. Everything that is started here is ended here."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, WebSocket, sync_playwright

from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI
from tests.fakes.tavily import FakeTavily

CHROMIUM = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
WIDE: Any = {"width": 1440, "height": 900}
Start = Callable[..., Server]
Visit = Callable[..., Page]


def chromium() -> str:
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), "chromium")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all of these tests; not for the whole session, because its event loop stands in asyncio.run's way."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that only need a conversation of their own."""
    server = Server(tmp_path_factory.mktemp("shared"))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server with a data folder of its own; settings by name: start(demo_seconds_per_token="0.1")."""
    servers: list[Server] = []

    def start(**settings: str) -> Server:
        server = Server(tmp_path / f"server-{len(servers)}", **settings)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()
    assert not [server.log() for server in servers if "Traceback" in server.log()]


@pytest.fixture
def server(start: Start) -> Server:
    """A server without any conversation."""
    return start()


@pytest.fixture
def fake_openai() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake
        assert fake.violations == []


@pytest.fixture
def fake_tavily() -> Iterator[FakeTavily]:
    with FakeTavily() as fake:
        yield fake
        assert fake.violations == []


@pytest.fixture
def openai_settings(fake_openai: FakeOpenAI, fake_tavily: FakeTavily) -> dict[str, str]:
    """A server whose model and web search are the fakes."""
    return {
        "model": "openai:fake-model",
        "openai_base_url": fake_openai.base_url,
        "openai_api_key": "sk-fake-key-for-the-tests",
        "tavily_base_url": fake_tavily.base_url,
        "tavily_api_key": "tvly-fake-key-for-the-tests",
    }


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a server's page in a browser of its own (or, with `beside`, in a tab beside another page).

    The test fails if a page said an error that the test did not expect, or asked any other host for anything.
    """
    contexts: list[BrowserContext] = []
    pages: list[Page] = []

    def visit(server: Server, path: str = "/", *, beside: Page | None = None, **options: Any) -> Page:
        if beside is None:
            context = browser.new_context(**({"viewport": WIDE} | options))
            context.set_default_timeout(10_000)
            contexts.append(context)
            server.sign_in(context)
        else:
            context = beside.tab.context
        page = Page(context.new_page(), server)
        _watch(page, server)
        pages.append(page)
        page.open(path)
        return page

    yield visit
    for context in contexts:
        context.close()
    unexpected = [text for page in pages for text in page.complaints if not _is_expected(text, page)]
    assert unexpected == []


def _watch(page: Page, server: Server) -> None:
    own = urlsplit(server.origin).netloc

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            page.complaints.append(f"console: {message.text}")

    def on_request(request: Request | WebSocket) -> None:
        address = urlsplit(request.url)
        if address.netloc != own and address.scheme not in ("data", "blob"):
            page.complaints.append(f"request: {request.url}")

    page.tab.on("console", on_console)
    page.tab.on("pageerror", lambda error: page.complaints.append(f"error: {error}"))
    page.tab.on("request", on_request)
    page.tab.on("websocket", on_request)


def _is_expected(text: str, page: Page) -> bool:
    return any(re.search(pattern, text) for pattern in page.expected)
