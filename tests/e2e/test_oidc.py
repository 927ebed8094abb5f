"""People who sign in at a real provider of OpenID Connect, each in a browser of their own."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect
from playwright.sync_api import Page as Tab

from tests.app_process import read_environment
from tests.browser import PATIENCE_MS
from tests.e2e.conftest import Start
from tests.e2e.server import TIPS, Server
from tests.e2e.test_accessible_states import look_at
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
NewPage = Callable[[], Page]
PEOPLE = [
    {"sub": "a1", "name": "Ann", "email": "ann@example.org", "email_verified": True, "groups": ["bosses"]},
    {"sub": "b2", "name": "Bob", "groups": ["staff"]},
    {"sub": "c3", "name": "Cy", "groups": ["others"]},
]


@pytest.fixture
def issuer() -> Iterator[str]:
    """The address of the provider. Its host has another name than the page's: to browsers it is another site."""
    people = [part for person in PEOPLE for part in ("--user-claims", json.dumps(person))]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", "0", "--require-nonce", *people]
    environment = read_environment() | {"NO_COLOR": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        started = (re.search(r"running on http://[\w.]+:(\d+)", line) for line in process.stderr)
        port = next(found[1] for found in started if found)
        yield f"http://localhost:{port}"
        process.terminate()


@pytest.fixture
def new_page(request: pytest.FixtureRequest, tmp_path: Path, browser: Browser, issuer: str) -> Iterator[NewPage]:
    """Pages of one server, each in a browser of its own."""
    groups = {"oidc_admin_groups": "bosses", "oidc_member_groups": "staff"} | getattr(request, "param", {})
    server = Server(tmp_path, auth="oidc", oidc_issuer=issuer, oidc_client_id="waymark", oidc_client_secret="x", **groups)
    with ExitStack() as stack:
        server.start()
        stack.callback(server.stop)

        def open_page() -> Page:
            context = stack.enter_context(browser.new_context(viewport={"width": 1440, "height": 900}))
            context.set_default_timeout(PATIENCE_MS)
            tips = "".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS)
            context.add_init_script(f"if (location.origin === '{server.origin}') {{ {tips} }}")
            page = Page(context.new_page(), server)
            page.expected.append("40[13]")
            return page

        yield open_page


READ_PANELS = "window.dash_clientside.set_props('head', { data: { tick: Date.now() / 1000 } })"


def press_sign_in(tab: Tab) -> None:
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("heading", name="Authorize Client")).to_be_visible()


def sign_in(page: Page, subject: str) -> None:
    press_sign_in(page.tab)
    page.tab.get_by_role("button", name=subject, exact=True).click()


@pytest.mark.parametrize("new_page", [{}, {"url_prefix": "/waymark/"}], ids=["at a host", "below a path"], indirect=True)
def test_people_come_by_the_provider_with_the_roles_of_their_groups(new_page: NewPage) -> None:
    ann, bob = new_page(), new_page()
    for page, subject in ((ann, "a1"), (bob, "b2")):
        page.tab.goto(page.server.links[-1])
        expect(page.tab.get_by_role("heading", name="Sign in")).to_be_visible()
        look_at(page, "the sign-in at a provider")
        sign_in(page, subject)
        page.composer.wait_for()
    bob.say("The kingfisher digs a tunnel")
    address = urlsplit(bob.tab.url).path
    bob.open_menu()
    expect(bob.tab.get_by_text("Signed in as Bob")).to_be_visible()
    for item in ("People", "Password"):
        expect(bob.tab.get_by_role("button", name=item)).to_have_count(0)
    ann.press_in_menu("People")
    expect(ann.dialog.get_by_test_id("person")).to_have_text([re.compile("Ann.*Admin"), re.compile("Bob.*Member")])
    expect(ann.dialog.get_by_role("button", name="Make a link")).to_have_count(0)
    look_at(ann, "the people of a provider")
    bob.tab.get_by_role("button", name="Sign out").click()
    bob.tab.get_by_role("button", name="End session").click()  # of the provider
    expect(bob.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    bob.tab.goto(bob.server.origin + address)
    sign_in(bob, "b2")
    expect(bob.log).to_contain_text("The kingfisher")
    assert urlsplit(bob.tab.url).path == address


def test_a_reading_that_finds_the_session_ended_keeps_nobody_from_the_provider(new_page: NewPage) -> None:
    page = new_page()
    page.tab.goto(page.server.links[-1])
    sign_in(page, "b2")
    page.say("The kingfisher digs a tunnel")
    page.open_menu()
    reading, leaving = hold(page, "**/api/panels"), hold(page, "**/sign-in?signed-out=")
    with page.tab.expect_request("**/api/panels"):
        page.tab.evaluate(READ_PANELS)
    with page.tab.expect_request("**/sign-in?signed-out="):
        page.tab.get_by_role("button", name="Sign out").click(no_wait_after=True)
    with page.tab.expect_response("**/api/panels") as answer:
        reading[0].continue_()
    assert answer.value.status == HTTPStatus.UNAUTHORIZED
    leaving[0].continue_()
    expect(page.tab.get_by_role("button", name="End session")).to_be_visible()  # of the provider


def hold(page: Page, address: str) -> list[Route]:
    held: list[Route] = []
    page.tab.route(address, lambda route: held.append(route))  # noqa: PLW0108  it marks the function
    return held


def test_whoever_is_refused_reads_why_and_finds_the_way_back(new_page: NewPage) -> None:
    page = new_page()
    page.tab.goto(page.server.links[-1])
    press_sign_in(page.tab)
    page.tab.get_by_role("button", name="Deny").click()
    expect(page.tab.get_by_text("The sign-in was cancelled")).to_be_visible()
    look_at(page, "a sign-in that failed")
    page.tab.get_by_role("link", name="Sign in").click()
    sign_in(page, "c3")
    expect(page.tab.get_by_text("You are in none of the groups")).to_be_visible()
    look_at(page, "a person of no group")
    page.tab.go_back()
    page.tab.goto(f"{page.server.origin}/sign-in/callback?code=x&state=y")
    expect(page.tab.get_by_text("began in another browser")).to_be_visible()
    look_at(page, "a sign-in that is no longer known")
    page.tab.get_by_role("link", name="Sign in").click()
    sign_in(page, "a1")
    page.composer.wait_for()


def test_a_provider_that_does_not_answer_is_a_sentence(start: Start, browser: Browser) -> None:
    nobody = {"oidc_issuer": "http://localhost:9", "oidc_client_id": "waymark", "oidc_client_secret": "x"}
    server = start(auth="oidc", oidc_member_groups="staff", **nobody)
    with browser.new_context() as context:
        page = Page(context.new_page(), server)
        page.tab.goto(server.links[-1])
        page.tab.get_by_role("button", name="Sign in").click()
        expect(page.tab.get_by_text("The sign-in service does not answer.")).to_be_visible()
        look_at(page, "a provider that does not answer")
