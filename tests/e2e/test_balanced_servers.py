"""Two servers of one PostgreSQL behind one address: each request goes to the other one in turn, sockets as they fall."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.balancer import Balancer
from tests.browser import PATIENCE_MS
from tests.e2e.server import TIPS, Server
from tests.e2e.test_password import PASSWORD, invite, join, sign_in
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
NewPage = Callable[[], Page]
LONG_QUESTION = "a long answer, please"
PLACES = ("2 answers begin before yours.", "1 answer begins before yours.", "Your answer begins next.")


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def balancer() -> Iterator[Balancer]:
    with Balancer() as balancer:
        yield balancer


@pytest.fixture
def new_page(
    request: pytest.FixtureRequest, tmp_path: Path, browser: Browser, ordinary_url: str, balancer: Balancer
) -> Iterator[NewPage]:
    """Pages of the two servers, each in a browser of its own. `server` of a page has the address and the links of both."""
    servers, ports = [], []
    with ExitStack() as stack:
        for number in range(2):
            settings = {"auth": "password", "database_url": ordinary_url, "public_url": balancer.origin}
            settings |= getattr(request, "param", {})
            server = Server(tmp_path / str(number), **settings)
            server.port = find_free_port()
            ports.append(server.port)
            stack.callback(server.stop)
            server.start()  # its port is the balancer's from now on, as the link has it
            servers.append(server)
        balancer.serve(ports)

        def open_page() -> Page:
            context = stack.enter_context(browser.new_context(viewport={"width": 1440, "height": 900}))
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
            return Page(context.new_page(), servers[-1])

        yield open_page
    assert not [server.log() for server in servers if "Traceback" in server.log()]
    assert len(balancer.counts) == 2


def test_a_page_works_when_each_request_goes_to_another_server(new_page: NewPage, tmp_path: Path) -> None:
    ann, bob = new_page(), new_page()
    join(ann, ann.server.links[-1], "Ann")
    join(bob, invite(ann, "Member"), "bob")
    bob.say("The kingfisher digs a tunnel")
    bob.save("Tunnel")
    bob.say("What is 2+2?")
    (tmp_path / "heron.txt").write_text("The heron stands still.")
    with bob.tab.expect_file_chooser() as chooser:
        bob.tab.get_by_role("button", name="Attach files").click()
    chooser.value.set_files(tmp_path / "heron.txt")
    expect(bob.tab.get_by_role("list", name="Attached files").get_by_role("listitem")).to_have_count(1)
    bob.say("And this?")
    expect(bob.log.get_by_text("heron.txt")).to_be_visible()
    bob.restore("Tunnel")
    bob.expect_messages(2)
    bob.undo()
    bob.expect_messages(8)
    file, before = bob.export(tmp_path), bob.messages()
    bob.choose_import(file)
    bob.confirm("As a new conversation")
    expect(bob.threads).to_have_count(2)
    bob.expect_messages(8)
    assert bob.messages() == before
    bob.open_menu().get_by_role("button", name="Sign out").click()
    expect(bob.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(ann.threads).to_have_count(0)
    sign_in(bob.tab, "bob", PASSWORD)
    expect(bob.threads).to_have_count(2)


def test_answers_appear_without_websockets_though_each_request_goes_to_another_server(
    new_page: NewPage, balancer: Balancer
) -> None:
    balancer.block = "forbidden"
    ann = new_page()
    join(ann, ann.server.links[-1], "Ann")
    ann.say("The kingfisher digs a tunnel")
    ann.say("And the heron?")
    ann.expect_messages(4)
    expect(ann.tab.get_by_text("Reconnecting…")).to_have_count(0)
    assert balancer.sockets == 0


def sign_in_twice(new_page: NewPage) -> tuple[Page, Page]:
    """Return two pages of Ann, each signed in by itself."""
    ann, again = new_page(), new_page()
    join(ann, ann.server.links[-1], "Ann")
    again.tab.goto(again.server.origin + "/sign-in")
    sign_in(again.tab, "Ann", PASSWORD)
    again.composer.wait_for()
    return ann, again


def test_a_session_that_is_ended_elsewhere_leaves_the_page(new_page: NewPage) -> None:
    ann, again = sign_in_twice(new_page)
    ann.press_in_menu("Sessions")
    ann.dialog.get_by_role("button", name="Sign all others out").click()
    expect(again.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(ann.composer).to_be_visible()


@pytest.mark.parametrize("new_page", [{"demo_seconds_per_token": "0.15"}], indirect=True)
def test_a_queued_message_is_seen_edited_and_deleted_at_the_other_server(new_page: NewPage, balancer: Balancer) -> None:
    ann = new_page()
    join(ann, ann.server.links[-1], "Ann")
    here, there = balancer.counts
    balancer.serve([here])
    ann.send(LONG_QUESTION)
    expect(ann.tab).to_have_url(re.compile("/t/"))
    expect(ann.live).to_be_visible()
    ann.composer.fill("What is 2+2?")
    ann.composer.press("Enter")
    expect(ann.queued).to_contain_text("What is 2+2?")
    balancer.serve([there])
    ann.reload()
    expect(ann.live).to_be_visible()
    expect(ann.queued).to_contain_text("What is 2+2?")
    ann.queued.get_by_role("button", name="Edit").click()
    expect(ann.queued).to_have_count(0)
    expect(ann.composer).to_have_value("What is 2+2?")
    ann.composer.fill("")  # it is deleted
    balancer.serve([here])
    ann.reload()
    expect(ann.live).to_be_visible()
    expect(ann.queued).to_have_count(0)
    expect(ann.composer).to_have_value("")
    ann.composer.fill("What is 3+4?")
    ann.composer.press("Enter")
    expect(ann.queued).to_contain_text("What is 3+4?")
    balancer.serve([there])
    ann.reload()
    ann.queued.get_by_role("button", name="Send now").click()
    ann.wait_for_answer()
    assert [each.text for each in ann.messages() if each.role == "user"] == [LONG_QUESTION, "What is 3+4?"]
    balancer.serve([here, there])


@pytest.mark.parametrize(
    "new_page", [{"demo_seconds_per_token": "2", "worker_runs": "1", "shutdown_seconds": "1"}], indirect=True
)
def test_the_place_of_an_answer_that_waits_is_shown_and_goes_down(new_page: NewPage) -> None:
    ann, again = sign_in_twice(new_page)
    addresses: list[str] = []
    for number in range(5):  # two begin, one at each server, and three wait
        if number:
            ann.new_conversation()
            expect(ann.tab).to_have_url(re.compile("/$"))
        ann.send(f"{LONG_QUESTION} ({number})")
        expect(ann.tab).to_have_url(re.compile("/t/"))
        addresses.append(ann.tab.url)
        if number < 2:
            expect(ann.live).to_be_visible()
    for address, place in zip(addresses, PLACES, strict=False):
        expect(ann.tab.get_by_text(place)).to_be_visible()
        again.tab.goto(address)
        again.stop_button.click()
        expect(again.stop_button).to_have_count(0)
    expect(ann.tab.get_by_text(PLACES[-1])).to_have_count(0)
    expect(ann.live).to_be_visible()
    ann.stop_button.click()
    expect(ann.stop_button).to_have_count(0)
