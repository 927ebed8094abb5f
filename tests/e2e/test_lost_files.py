"""A page whose files do not arrive, as behind a proxy that takes a path away from its addresses, says what is wrong."""

import pytest
from playwright.sync_api import Browser, Route, expect
from playwright.sync_api import Page as Tab

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server

pytestmark = pytest.mark.e2e
SAID = "If Waymark is below a path of this host, set URL_PREFIX to that path, such as /waymark/."
OTHERS = {"not found": (404, "Not found"), "a page": (200, "<h1>Another program</h1>"), "a sign-in": (401, "Who are you?")}


def serve_below_a_path(tab: Tab, server: Server, status: int, text: str) -> None:
    """Let the server be reached below /waymark/ alone: everything else on this host is another program's."""

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(server.origin)
        if path.startswith("/waymark/"):
            route.fulfill(response=route.fetch(url=server.origin + path.removeprefix("/waymark")))
        else:
            route.fulfill(status=status, content_type="text/html", body=text)

    tab.route(f"{server.origin}/**", answer)


@pytest.mark.parametrize("other", OTHERS)
def test_a_page_below_a_path_says_what_to_set(shared_server: Server, visit: Visit, other: str) -> None:
    page = visit(shared_server)
    said = page.tab.get_by_text(SAID)
    expect(said).to_have_count(1)
    expect(said).to_be_hidden()
    page.expected.append(".")  # nothing of the page is there
    serve_below_a_path(page.tab, shared_server, *OTHERS[other])
    page.tab.goto(f"{shared_server.origin}/waymark/")
    expect(said).to_be_in_viewport()
    assert page.tab.url == f"{shared_server.origin}/waymark/"


@pytest.mark.parametrize("auth", ["token", "password"])
def test_a_way_in_below_a_path_says_what_to_set(start: Start, browser: Browser, auth: str) -> None:
    server = start(auth=auth)
    with browser.new_context() as context:
        tab = context.new_page()
        serve_below_a_path(tab, server, *OTHERS["not found"])
        tab.goto(f"{server.origin}/waymark{server.links[-1].removeprefix(server.origin)}")
        expect(tab.get_by_text(SAID)).to_be_in_viewport()
        expect(tab.get_by_text(SAID)).to_have_css("opacity", "1")
