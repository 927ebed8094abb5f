"""Two people behind a proxy, each in a browser of their own: they talk beside one another and see nothing of one another."""

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import PATIENCE_MS
from tests.e2e.server import TIPS, Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.auth_proxy import open_proxy

pytestmark = [pytest.mark.e2e]
SECRET = "a-secret-of-more-than-thirty-two-characters"


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def people(tmp_path: Path, browser: Browser) -> Iterator[tuple[Page, Page]]:
    """The pages of Ann and of Bob."""
    with open_pages(tmp_path, browser, ("ann", "bob")) as pages:
        yield pages[0], pages[1]


@contextmanager
def open_pages(folder: Path, browser: Browser, names: Sequence[str], **more: Any) -> Iterator[list[Page]]:
    """Open a page for each of these people, in a browser of their own, at a server with more settings."""
    port = find_free_port()
    with ExitStack() as stack, open_proxy(port, SECRET) as proxy:
        settings = {"auth": "proxy", "public_url": proxy.url, "proxy_networks": "127.0.0.0/8", "proxy_secret": SECRET}
        server = Server(folder, **settings, **more, sign_out_url="/healthz")
        server.port = port
        server.start()
        stack.callback(server.stop)
        pages = []
        for person in names:
            context = stack.enter_context(browser.new_context(viewport={"width": 1440, "height": 900}))
            context.set_default_timeout(PATIENCE_MS)
            context.add_cookies([{"name": "person", "value": person, "url": proxy.url}])
            context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
            pages.append(Page(context.new_page(), server))
            pages[-1].open("/")
        yield pages


@pytest.mark.slow
def test_two_people_talk_and_see_nothing_of_one_another(people: tuple[Page, Page]) -> None:
    ann, bob = people
    ann.say("The heron nests at the lake")
    bob.say("The kingfisher digs a tunnel")
    ann.reload()
    expect(ann.log).to_contain_text("The heron nests")
    expect(ann.tab.get_by_test_id("thread")).to_have_count(1)
    expect(bob.tab.get_by_test_id("thread")).to_have_count(1)
    expect(bob.tab.locator("body")).not_to_contain_text("heron")
    bob.open(urlsplit(ann.tab.url).path)
    bob.expect_messages(0)
    expect(bob.tab.locator("body")).not_to_contain_text("heron")
    nothing = bob.tab.locator("#chat").inner_text()
    bob.open("/t/0123456789abcdef0123")
    expect(bob.tab.locator("#chat")).to_have_text(nothing, use_inner_text=True)
    assert "refused" not in ann.server.log()  # the sockets among them


def test_the_menu_names_the_person_and_the_way_out(people: tuple[Page, Page]) -> None:
    _, bob = people
    bob.tab.get_by_role("button", name="Conversation menu").click()
    expect(bob.tab.get_by_text("Signed in as bob")).to_be_visible()
    expect(bob.tab.get_by_role("button", name="Sessions")).to_be_hidden()  # they are the proxy's
    expect_accessible(bob, "the menu with the person")
    bob.tab.get_by_role("link", name="Sign out").click()
    expect(bob.tab).to_have_url(re.compile("/healthz$"))


@pytest.mark.slow
def test_a_page_is_left_when_the_proxy_names_another_person(people: tuple[Page, Page]) -> None:
    """Its browser has signed in there as somebody else, of which nothing tells the page."""
    ann, _ = people
    ann.say("The heron nests at the lake")
    ann.composer.fill("An unsent secret")
    ann.expected.append("409")
    ann.tab.context.add_cookies([{"name": "person", "value": "bob", "url": ann.server.settings["public_url"]}])
    ann.composer.press("Enter")
    expect(ann.tab.get_by_text("The heron nests")).to_have_count(0)
    ann.wait_until_ready()
    ann.open_menu()
    expect(ann.tab.get_by_text("Signed in as bob")).to_be_visible()
    expect(ann.tab.get_by_test_id("thread")).to_have_count(0)
    expect(ann.composer).to_have_value("")
