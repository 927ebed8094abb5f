"""The servers and the browser of these tests. Everything that is started here is ended here."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, WebSocket

from tests.browser import PATIENCE_MS, open_browser
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI
from tests.fakes.server import FakeServer
from tests.fakes.tavily import FakeTavily

# A busy machine may not get to look at a toast in its ten seconds.
LASTING_TOASTS = """{
  const wait = window.setTimeout;
  window.setTimeout = (work, ms, ...rest) => wait(work, ms === 10_000 ? 600_000 : ms, ...rest);
}"""
WIDE: Any = {"width": 1440, "height": 900}
Start = Callable[..., Server]
Visit = Callable[..., Page]
Fake = TypeVar("Fake", bound=FakeServer)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all of these tests; not for the whole session, because its event loop stands in asyncio.run's way."""
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that only need a conversation of their own."""
    yield from _running(Server(tmp_path_factory.mktemp("shared")))


def _running(server: Server) -> Iterator[Server]:
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


@pytest.fixture(scope="package")
def fakes() -> Iterator[tuple[FakeOpenAI, FakeTavily]]:
    with FakeOpenAI() as openai, FakeTavily() as tavily:
        yield openai, tavily


@pytest.fixture
def fake_openai(fakes: tuple[FakeOpenAI, FakeTavily]) -> Iterator[FakeOpenAI]:
    yield from _as_new(fakes[0])


@pytest.fixture
def fake_tavily(fakes: tuple[FakeOpenAI, FakeTavily]) -> Iterator[FakeTavily]:
    yield from _as_new(fakes[1])


def _as_new(fake: Fake) -> Iterator[Fake]:
    """A fake that remembers nothing of other tests; it must not have been asked for anything that is not allowed."""
    fake.script()
    for memory in (fake.requests, fake.headers, fake.first_byte_times, fake.last_byte_times):
        memory.clear()
    yield fake
    fake.release()
    violations = fake.violations[:]
    fake.violations.clear()
    assert violations == []


@pytest.fixture(scope="package")
def openai_settings(fakes: tuple[FakeOpenAI, FakeTavily]) -> dict[str, str]:
    """For a server whose model and web search are the fakes."""
    openai, tavily = fakes
    return {
        "model": "openai:fake-model",
        "models_offered": "openai:other-model",
        "openai_base_url": openai.base_url,
        "openai_api_key": "sk-fake-key-for-the-tests",
        "tavily_base_url": tavily.base_url,
        "tavily_api_key": "tvly-fake-key-for-the-tests",
    }


@pytest.fixture(scope="package")
def shared_openai_server(tmp_path_factory: pytest.TempPathFactory, openai_settings: dict[str, str]) -> Iterator[Server]:
    """Like `shared_server`, with a model that says what a test lets it say."""
    yield from _running(Server(tmp_path_factory.mktemp("openai"), **openai_settings))


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a server's page in a browser of its own (or, with `beside`, in a tab beside another page).

    The test fails if a page said an error that the test did not expect, or asked any other host for anything.
    """
    contexts: list[BrowserContext] = []
    pages: list[Page] = []

    def visit(
        server: Server, path: str = "/", *, beside: Page | None = None, is_newcomer: bool = False, **options: Any
    ) -> Page:
        if beside is None:
            context = browser.new_context(**({"viewport": WIDE} | options))
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script(LASTING_TOASTS)
            contexts.append(context)
            server.sign_in(context, is_newcomer=is_newcomer)
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
    page.tab.on("pageerror", lambda error: page.complaints.append(f"error: {error.stack or error}"))
    page.tab.on("request", on_request)
    page.tab.on("websocket", on_request)


def _is_expected(text: str, page: Page) -> bool:
    return any(re.search(pattern, text) for pattern in page.expected)
