"""Text from anybody is only text, and nobody comes in who was not let in."""

import re

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.fakes.openai import FakeOpenAI, Say
from tests.fakes.tavily import FakeTavily, Found, Result

pytestmark = pytest.mark.e2e


HOSTILE = (
    "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'> "
    "![away](http://elsewhere.invalid/a.png) [press me](javascript:window.hit=1) "
    "<iframe src='http://elsewhere.invalid'></iframe><a href='javascript:window.hit=1'>here</a>"
    "<style>body { display: none }</style>"
)


def test_text_from_anybody_is_only_text(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI, fake_tavily: FakeTavily
) -> None:
    fake_tavily.reply(Found((Result(HOSTILE, "javascript:window.hit=1", HOSTILE),), HOSTILE))
    page = visit(shared_openai_server)
    page.say(HOSTILE)
    fake_openai.reply(Say(HOSTILE))
    page.say(f"Tell me {HOSTILE}")
    page.say(f"Search for {HOSTILE[:100]}")
    page.save(HOSTILE[:100], HOSTILE[:300])
    for card in page.tab.locator("details.tool").all():
        card.locator("summary").click()
    page.press(HOSTILE[:100], f"Delete {HOSTILE[:100]}")
    page.dialog.wait_for()
    page.confirm("Cancel")
    page.reload()
    page.expect_messages(8)

    assert page.tab.evaluate("window.hit") is None
    assert page.tab.locator("img, iframe, .log script, .log style").count() == 0
    hrefs = page.tab.locator("a").evaluate_all("links => links.map(link => link.href)")
    assert not [href for href in hrefs if href.lower().startswith("javascript")]
    expect(page.log).to_contain_text("window.hit = 1")
    expect(page.tab.get_by_test_id("checkpoint")).to_contain_text(HOSTILE[:100])
    assert page.thread_titles()[0].startswith("<script>")


def test_a_link_leads_away_only_when_it_is_followed(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    fake_openai.script(Say("See [the page](https://elsewhere.invalid/page)."))
    page = visit(shared_openai_server)
    page.say("Where does it stand?")
    link = page.log.get_by_role("link", name="the page")
    expect(link).to_have_attribute("rel", re.compile("noopener"))
    expect(link).to_have_attribute("rel", re.compile("noreferrer"))


@pytest.fixture(scope="module")
def cookie(shared_server: Server, browser: Browser) -> str:
    """What a browser sends to every port of the host."""
    with browser.new_context() as context:
        shared_server.sign_in(context)
        return "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())


@pytest.fixture(scope="module")
def signed_in(shared_server: Server, cookie: str) -> dict[str, str]:
    """What the page sends to its own server alone."""
    protocols = {"sec-websocket-protocol": f"waymark, {shared_server.page_key}"}
    return {"cookie": cookie} | shared_server.key_header | protocols


@pytest.mark.slow
def test_the_link_works_once_and_the_terminal_shows_a_new_one(server: Server, browser: Browser) -> None:
    def open_link(link: str) -> str:
        with browser.new_context() as context:
            tab = context.new_page()
            tab.goto(link)
            tab.get_by_test_id("composer").or_(tab.get_by_role("heading", name="This link no longer works")).wait_for()
            assert tab.evaluate("document.referrer") == ""
            return tab.url if tab.get_by_test_id("composer").count() else "refused"

    assert open_link(server.links[-1]) == f"{server.origin}/"
    assert open_link(server.links[-1]) == "refused"
    assert open_link(server.wait_for_link(1)) == f"{server.origin}/"


@pytest.mark.slow
def test_a_restart_signs_nobody_out(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    page.expect_lost_server()
    server.restart()
    page.reload()
    page.expect_messages(2)


def test_every_answer_carries_a_strict_policy(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    response = page.tab.reload()
    assert response is not None
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    script = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert "'self'" in script
    assert not re.search("unsafe|http|\\*|data:|blob:", script)
    page.expected.append("Content Security Policy")
    ran = page.tab.evaluate(
        """() => { const script = document.createElement("script"); script.textContent = "window.hit = 1";
        document.head.append(script); return window.hit; }"""
    )
    assert ran is None


PATHS = ["/nothing", "/docs", "/openapi.json", "/_dash-config", "/_reload-hash", "/assets/no.js"]


@pytest.mark.parametrize("path", PATHS)
def test_an_unknown_path_is_not_found(path: str, shared_server: Server, signed_in: dict[str, str]) -> None:
    answer = httpx.get(shared_server.origin + path, headers=signed_in, trust_env=False)
    assert answer.status_code == 404


def test_one_can_begin_a_conversation_at_the_address_of_none(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, "/t/no-such-thread")
    expect(page.tab.get_by_text("This conversation is not here.")).to_be_visible()
    page.say("Hello")
    page.expect_messages(2)
    assert page.tab.url != f"{shared_server.origin}/t/no-such-thread"


ENTRY_POINTS = {
    "the page": ("GET", "/"),
    "a callback": ("POST", "/_dash-update-component"),
    "an export": ("GET", "/api/threads/x/export"),
    "the socket": ("GET", "/api/threads/x/events"),
}
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def _knock(server: Server, entry_point: str, **headers: str) -> int:
    """The answer to somebody who is not our page; the socket is asked for with a handshake by hand."""
    method, path = ENTRY_POINTS[entry_point]
    own = {"origin": server.origin} | (UPGRADE if entry_point == "the socket" else {})
    with (
        httpx.Client(trust_env=False) as client,
        client.stream(method, server.origin + path, headers=own | headers) as response,
    ):
        return response.status_code


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_nobody_gets_in_without_the_cookie_and_the_key(
    entry_point: str, shared_server: Server, cookie: str, signed_in: dict[str, str]
) -> None:
    refused = _knock(shared_server, entry_point)
    assert refused == (403 if entry_point == "the socket" else 401)
    let_in = {"the page": 200, "a callback": 400, "an export": 404, "the socket": 101}[entry_point]
    assert _knock(shared_server, entry_point, **signed_in) == let_in
    assert _knock(shared_server, entry_point, cookie=cookie) == (let_in if entry_point == "the page" else refused)


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_another_host_is_refused(entry_point: str, shared_server: Server, signed_in: dict[str, str]) -> None:
    assert _knock(shared_server, entry_point, **signed_in, host="elsewhere.invalid") == (
        403 if entry_point == "the socket" else 400
    )


@pytest.mark.parametrize("entry_point", ["a callback", "the socket"])
@pytest.mark.parametrize("origin", ["http://elsewhere.invalid", "null", "http://127.0.0.1:1"])
def test_another_origin_is_refused(entry_point: str, origin: str, shared_server: Server, signed_in: dict[str, str]) -> None:
    assert _knock(shared_server, entry_point, **signed_in, origin=origin) == 403
