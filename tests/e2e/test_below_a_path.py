"""A whole story below a path of a host whose other paths are another program's, behind each kind of proxy."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from playwright.sync_api import Page as Tab

from tests.balancer import Balancer
from tests.browser import PATIENCE_MS
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import TIPS, Server
from tests.e2e.test_balanced_servers import find_free_port
from tests.e2e.test_password import PASSWORD, sign_in
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
BELOW = "/waymark/"
POEM = "The first line stands.\n\nThe second line runs.\n\nThe third line ends it all."
PROXIES: dict[str, dict[str, Any]] = {
    "strips": {"strips": True},
    "keeps": {},
    "buffers": {"strips": True, "buffers": True},
    "closes idle sockets": {"idle_seconds": 0.5},
    "blocks WebSockets": {"strips": True, "block": "forbidden"},
}


class Visitor:
    """Browsers, each of another person. They note what the pages ask for outside of the path."""

    def __init__(self, browser: Browser, proxy: Balancer, server: Server, stack: ExitStack) -> None:
        self._browser, self._proxy, self.server, self._stack = browser, proxy, server, stack
        self.outside: list[str] = []

    def open(self, path: str) -> Page:
        """Open a path below the proxy's in a new browser."""
        context = self._open_browser()
        context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
        page = Page(context.new_page(), self.server)
        for event in ("request", "websocket"):
            page.tab.on(event, self._note)  # type: ignore[call-overload]
        page.tab.goto(self._proxy.origin + path)
        return page

    def _open_browser(self) -> BrowserContext:
        context = self._stack.enter_context(self._browser.new_context(viewport={"width": 1440, "height": 900}))
        context.set_default_timeout(PATIENCE_MS)
        return context

    def _note(self, asked: Any) -> None:
        address = urlsplit(asked.url)
        if address.scheme not in ("blob", "data") and not address.path.startswith(BELOW):
            self.outside.append(asked.url)


@pytest.fixture(params=PROXIES)
def proxy(request: pytest.FixtureRequest) -> Iterator[Balancer]:
    with Balancer() as proxy:
        proxy.below = BELOW
        for name, value in PROXIES[request.param].items():
            setattr(proxy, name, value)
        yield proxy


@pytest.fixture
def visitor(tmp_path: Path, browser: Browser, proxy: Balancer, openai_settings: dict[str, str]) -> Iterator[Visitor]:
    settings = {"auth": "password", "url_prefix": BELOW, "public_url": proxy.origin, **openai_settings}
    server = Server(tmp_path / "server", **settings)
    server.port = port = find_free_port()
    server.start()
    proxy.serve([port])
    with ExitStack() as stack:
        stack.callback(server.stop)
        visitor = Visitor(browser, proxy, server, stack)
        yield visitor
        assert visitor.outside == []
    assert "Traceback" not in server.log()


def test_a_whole_story_below_a_path(visitor: Visitor, proxy: Balancer, tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say(POEM), Say("Red it is."), Say("Green it is."))
    page = join(visitor)
    stream(page, fake_openai)
    change(page)
    send_a_file(page, tmp_path)
    read_the_link_of(page, visitor)
    export(page, tmp_path)
    address = open_a_message(page)
    leave_and_return(page, address)
    assert (proxy.closed > 0) is (proxy.idle_seconds is not None)
    assert (proxy.sockets > 0) is (proxy.block is None)


def join(visitor: Visitor) -> Page:
    """The first admin joins by the printed link, whose address is whole."""
    link = visitor.server.links[0]
    assert link.startswith(f"{visitor.server.address}/join?token=")
    page = visitor.open(urlsplit(link)._replace(scheme="", netloc="").geturl())
    page.tab.get_by_label("Name", exact=True).fill("Ann")
    page.tab.get_by_label("Password").fill(PASSWORD)
    page.tab.keyboard.press("Enter")
    page.composer.wait_for()
    assert urlsplit(page.tab.url).path == BELOW
    assert {cookie["path"] for cookie in page.tab.context.cookies()} == {BELOW}  # type: ignore[typeddict-item]
    return page


def stream(page: Page, fake_openai: FakeOpenAI) -> None:
    """An answer appears while it is written, also after a reload."""
    fake_openai.hold(after_tokens=6)
    page.send("Write me a poem")
    expect(page.live).to_contain_text("The first line stands.")
    expect(page.tab).to_have_url(re.compile(rf"{BELOW}t/[\w-]+$"))
    page.reload()
    expect(page.live).to_contain_text("The first line stands.")
    fake_openai.release()
    page.wait_for_answer()


def change(page: Page) -> None:
    page.save("Poem")
    page.say("Red?")
    page.restore("Poem")
    page.expect_messages(2)
    page.undo()
    page.expect_messages(4)
    page.ask_to_branch("Red?")
    page.confirm("Branch")
    expect(page.branches).to_have_count(2)
    page.expect_messages(2)


def send_a_file(page: Page, folder: Path) -> None:
    (folder / "heron.txt").write_text("The heron stands still.")
    with page.tab.expect_file_chooser() as chooser:
        page.tab.get_by_role("button", name="Attach files").click()
    chooser.value.set_files(folder / "heron.txt")
    expect(page.tab.get_by_role("list", name="Attached files").get_by_role("listitem")).to_have_count(1)
    page.say("And this?")
    with page.tab.expect_download() as kept:
        page.log.get_by_role("link", name="heron.txt").click()
    assert kept.value.path().read_text() == "The heron stands still."


def read_the_link_of(page: Page, visitor: Visitor) -> None:
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").click()
    field = page.dialog.get_by_label("The link is shown only now.")
    expect(field).to_have_value(re.compile(f"^{page.server.address}/shared"))
    link = field.input_value()
    page.confirm("Close")
    stranger: Tab = visitor.open(urlsplit(link)._replace(scheme="", netloc="").geturl()).tab
    expect(stranger.get_by_text("And this?")).to_be_visible()


def export(page: Page, folder: Path) -> None:
    before = page.messages()
    page.choose_import(page.export(folder))
    page.confirm("As a new conversation")
    expect(page.threads).to_have_count(2)
    assert page.messages() == before


def open_a_message(page: Page) -> str:
    """Open the address of a message, as another page has it, and return that of its conversation."""
    address = page.tab.url
    message = page.message("And this?").first.get_attribute("data-message-id")
    page.new_conversation()
    page.tab.goto(f"{address}?message={message}")
    expect(page.log.get_by_text("And this?")).to_be_in_viewport()
    expect(page.tab).to_have_url(address)
    page.tab.locator("a.brand").click()
    expect(page.tab).to_have_url(f"{page.server.address}/")
    page.tab.go_back()
    expect(page.tab).to_have_url(address)
    return address


def leave_and_return(page: Page, address: str) -> None:
    page.press_in_menu("Sign out")
    expect(page.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    assert urlsplit(page.tab.url).path == f"{BELOW}sign-in"
    page.tab.goto(address)
    sign_in(page.tab, "Ann", PASSWORD)
    expect(page.log.get_by_text("And this?")).to_be_visible()
    assert page.tab.url == address


def test_a_page_reached_without_the_path_goes_there(start: Start, visit: Visit, browser: Browser) -> None:
    server = start(url_prefix=BELOW, auth="none")
    with browser.new_context() as context:
        tab = context.new_page()
        for path, place in (("/", ""), ("/waymark", ""), ("/t/abc", "t/abc"), ("/waymark?a=b", "?a=b")):
            tab.goto(server.origin + path)
            expect(tab).to_have_url(f"{server.address}/{place}")
    page = visit(server)
    page.say("What is 2+2?")
    page.press_in_menu("App settings")
    with page.tab.expect_navigation():
        page.dialog.get_by_label("Language").select_option("Deutsch")
    expect(page.tab.locator("html")).to_have_attribute("lang", "de")
    paths = {cookie["name"]: cookie["path"] for cookie in page.tab.context.cookies()}  # type: ignore[typeddict-item]
    assert paths["waymark_language"] == BELOW


def test_two_at_one_host_keep_apart(tmp_path: Path, browser: Browser) -> None:
    """Two Waymarks below two paths: each has its own cookie, key and unsent text."""
    with Balancer() as proxy, ExitStack() as stack:
        servers, ports = [], []
        for name in ("one", "two"):
            server = Server(tmp_path / name, url_prefix=f"/{name}/", public_url=proxy.origin)
            server.port = find_free_port()
            ports.append(server.port)
            server.start()
            stack.callback(server.stop)
            servers.append(server)
        context = stack.enter_context(browser.new_context())
        context.set_default_timeout(PATIENCE_MS)
        tab = context.new_page()
        for server, port in zip(servers, ports, strict=True):
            proxy.serve([port])
            tab.goto(server.links[0])
            page = Page(tab, server)
            page.wait_until_ready()
            expect(page.composer).to_have_value("")
            page.composer.fill(server.settings["url_prefix"])
        for server, port in zip(servers, ports, strict=True):
            proxy.serve([port])
            page = Page(tab, server)
            page.open()
            expect(page.composer).to_have_value(server.settings["url_prefix"])
