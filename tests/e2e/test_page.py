"""What the page does besides its main story: unbroken streaming, conversations, keys, themes, phones, doors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from playwright.sync_api import Browser, WebSocketRoute, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.waymark import SHOWN, Message, Page
from tests.fakes.openai import FakeOpenAI, Say
from tests.fakes.tavily import FakeTavily, Found, Result

pytestmark = pytest.mark.e2e
POEM = "The first line stands.\n\nThe second line runs.\n\nThe third line ends it all."
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def talking(start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI) -> Iterator[Page]:
    """A page with an answer that stands still after its first line, until the model goes on."""
    page = visit(start(**openai_settings))
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say(POEM))
    page.send("Write me a poem")
    expect(page.live).to_contain_text("The first line stands.")
    yield page
    fake_openai.release()


def _expect_poem(page: Page) -> None:
    page.wait_for_answer()
    page.expect_messages(2)
    assert page.messages() == [
        Message("user", "done", "Write me a poem"),
        Message("assistant", "done", POEM.replace("\n\n", "\n")),
    ]
    expect(page.tab.get_by_text("The first line stands.")).to_have_count(1)


# The running answer


def test_a_reload_in_mid_stream_loses_and_doubles_nothing(talking: Page, fake_openai: FakeOpenAI) -> None:
    talking.reload()
    expect(talking.live).to_contain_text("The first line stands.")
    expect(talking.stop_button).to_be_visible()
    fake_openai.release()
    _expect_poem(talking)
    talking.reload()
    _expect_poem(talking)


def test_an_answer_is_finished_while_no_tab_is_open(talking: Page, visit: Visit, fake_openai: FakeOpenAI) -> None:
    address = talking.tab.url.removeprefix(talking.server.origin)
    talking.tab.close()
    fake_openai.release()
    fake_openai.wait_for(lambda: bool(fake_openai.last_byte_times))
    _expect_poem(visit(talking.server, address))
    assert len(fake_openai.requests) == 1


def test_a_second_tab_sees_the_same_answer_grow(talking: Page, visit: Visit, fake_openai: FakeOpenAI) -> None:
    second = visit(talking.server, talking.tab.url.removeprefix(talking.server.origin), beside=talking)
    expect(second.live).to_contain_text("The first line stands.")
    fake_openai.release()
    _expect_poem(second)
    _expect_poem(talking)


class Cable:
    """The connection between the page and the server's events, which can be pulled and plugged in."""

    def __init__(self, page: Page) -> None:
        self._in = True
        self._sockets: list[WebSocketRoute] = []
        page.tab.route_web_socket(re.compile("/events$"), self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        if self._in:
            socket.connect_to_server()
            self._sockets.append(socket)
        else:
            socket.close(code=3001)

    @contextmanager
    def pulled(self) -> Iterator[None]:
        self._in = False
        for socket in self._sockets:
            socket.close(code=3001)
        self._sockets.clear()
        yield
        self._in = True


@pytest.mark.parametrize("finishes", ["while it is gone", "after it is back"])
def test_an_answer_survives_a_dropped_connection(finishes: str, talking: Page, fake_openai: FakeOpenAI) -> None:
    cable = Cable(talking)
    talking.reload()
    expect(talking.live).to_contain_text("The first line stands.")
    with cable.pulled():
        expect(talking.tab.get_by_text("Reconnecting…")).to_be_visible()
        expect(talking.live).to_contain_text("The first line stands.")
        if finishes == "while it is gone":
            fake_openai.release()
            fake_openai.wait_for(lambda: bool(fake_openai.last_byte_times))
    expect(talking.tab.get_by_text("Reconnecting…")).to_have_count(0, timeout=10_000)
    fake_openai.release()
    _expect_poem(talking)


def test_stop_keeps_what_was_there(talking: Page) -> None:
    talking.stop_button.click()
    expect(talking.stop_button).to_have_count(0, timeout=2000)
    expect(talking.tab.get_by_text("This answer was cut off")).to_be_visible()
    kept = Message("assistant", "partial", "The first line stands.")
    assert _last(talking).role == kept.role
    assert _last(talking).state == kept.state
    assert _last(talking).text.startswith(kept.text)
    talking.reload()
    expect(talking.tab.get_by_role("button", name="Continue")).to_be_visible()
    talking.tab.get_by_role("button", name="Dismiss").click()
    expect(talking.tab.get_by_text("This answer was cut off")).to_have_count(0)
    assert _last(talking).text.startswith(kept.text)


def _last(page: Page) -> Message:
    return page.messages()[-1]


def test_the_answer_goes_on_after_a_kill(talking: Page, fake_openai: FakeOpenAI) -> None:
    talking.expected.append("WebSocket connection|ERR_CONNECTION_REFUSED|Failed to fetch")
    talking.server.kill()
    fake_openai.release()
    talking.server.start()
    expect(talking.tab.get_by_text("This answer was cut off")).to_be_visible(timeout=15_000)
    expect(talking.tab.locator(f'{SHOWN}[data-role="user"]')).to_have_count(1)
    fake_openai.script(Say("Here is all of it."))
    retry = talking.tab.get_by_role("button", name=re.compile("Retry|Continue"))
    retry.first.click()
    expect(talking.log).to_contain_text("Here is all of it.")
    expect(talking.tab.locator(f'{SHOWN}[data-role="user"]')).to_have_count(1)


# Conversations


def test_conversations_are_begun_renamed_switched_and_named_by_the_address(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Tell me about stocks")
    first = page.tab.url
    assert re.fullmatch(re.escape(server.origin) + r"/t/[\w-]+", first)
    page.new_conversation()
    page.say("How is the weather?")
    second = page.tab.url
    assert page.thread_titles() == ["How is the weather?", "Tell me about stocks"]

    page.threads.filter(has_text="stocks").click()
    page.tab.wait_for_url(first)
    expect(page.log).to_contain_text("Do not trade on them")
    page.tab.go_back()
    page.tab.wait_for_url(second)
    expect(page.log).to_contain_text("I made this weather up")
    expect(page.log).not_to_contain_text("Do not trade on them")

    page.tab.get_by_role("button", name="Rename Tell me about stocks").click()
    page.tab.get_by_label("Title of the conversation").fill("Money")
    page.tab.keyboard.press("Enter")
    expect(page.threads.filter(has_text="Money")).to_be_visible()
    other = visit(server, first.removeprefix(server.origin))
    expect(other.tab.get_by_role("heading", name="Money")).to_be_visible()
    other.expect_messages(2)


def test_deleting_a_conversation_asks_first_and_can_be_undone(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("What is 6 * 7?")
    page.save("The sum")
    everything, address = page.messages(), page.tab.url

    page.tab.get_by_role("button", name="Delete What is 6 * 7?").click()
    expect(page.dialog).to_contain_text("What is 6 * 7?")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.confirm("Cancel")
    expect(page.threads).to_have_count(1)

    page.tab.get_by_role("button", name="Delete What is 6 * 7?").click()
    page.confirm("Delete")
    expect(page.threads).to_have_count(0)
    page.tab.wait_for_url(f"{server.origin}/")
    page.toast.get_by_role("button", name="Undo").click()
    page.tab.wait_for_url(address)
    page.expect_messages(4)
    assert page.messages() == everything
    assert page.checkpoints() == [("The sum", 4)]


def test_deleting_a_checkpoint_asks_first_and_can_be_undone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save("One")
    page.say("Hello again")
    page.save("Two")

    page.tab.get_by_role("button", name="Delete One").click()
    expect(page.dialog).to_contain_text("One")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    assert page.checkpoints() == [("One", 2), ("Two", 4)]

    page.tab.get_by_role("button", name="Delete One").click()
    page.confirm("Delete")
    page.expect_checkpoints(1)
    page.expect_messages(4)
    page.reload()
    page.undo()
    page.expect_checkpoints(2)
    assert page.checkpoints() == [("One", 2), ("Two", 4)]


def test_clearing_asks_first_and_can_be_undone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("What is 6 * 7?")
    page.save("The sum")
    everything = page.messages()

    page.tab.get_by_role("button", name="Clear conversation").click()
    expect(page.dialog).to_contain_text("4 messages and 1 checkpoint")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.confirm("Cancel")
    page.expect_messages(4)

    page.tab.get_by_role("button", name="Clear conversation").click()
    page.confirm("Clear")
    page.expect_messages(0)
    page.expect_checkpoints(0)
    page.undo()
    page.expect_messages(4)
    assert page.messages() == everything
    assert page.checkpoints() == [("The sum", 4)]


def test_what_the_head_of_the_conversation_undoes_it_can_redo(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save("One")
    page.tab.get_by_role("button", name="Undo last change").click()
    page.expect_checkpoints(0)
    page.tab.get_by_role("button", name="Redo").click()
    page.expect_checkpoints(1)


def test_save_says_why_it_is_disabled(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    expect(page.save_button).to_have_attribute("aria-disabled", "true")
    expect(page.save_button).to_have_attribute("title", re.compile("start a conversation first"))
    expect(page.save_button).to_have_accessible_description(re.compile("start a conversation first"))
    page.save_button.click(force=True)
    page.tab.keyboard.press("Control+s")
    expect(page.tab.get_by_role("form")).to_have_count(0)
    page.say("Hello")
    expect(page.save_button).to_have_attribute("aria-disabled", "false")
    page.save()
    assert page.checkpoints() == [("Checkpoint 1", 2)]


# Looks and hands


def test_the_theme_can_be_light_dark_or_as_the_system(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, color_scheme="light")
    root = page.tab.locator("html")
    button = page.tab.get_by_role("button", name="Theme")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.tab.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-bs-theme", "dark")
    seen = []
    for _ in range(3):
        before = root.get_attribute("data-theme-choice")
        button.click()
        expect(root).not_to_have_attribute("data-theme-choice", str(before))
        seen.append((root.get_attribute("data-theme-choice"), root.get_attribute("data-bs-theme")))
    assert seen == [("light", "light"), ("dark", "dark"), ("system", "dark")]
    button.click()
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-bs-theme", "light")


def test_on_a_phone_the_side_panes_are_sheets(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, **PHONE)
    page.say("Hello")
    conversations = page.tab.get_by_role("navigation", name="Conversations")
    timeline = page.tab.get_by_role("complementary", name="Timeline")
    expect(conversations).not_to_be_in_viewport()
    expect(timeline).not_to_be_in_viewport()
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 390

    page.tab.get_by_role("button", name="Checkpoints").click()
    expect(timeline).to_be_in_viewport()
    page.save("On the way")
    page.tab.keyboard.press("Escape")
    expect(timeline).not_to_be_in_viewport()

    page.tab.get_by_role("button", name="Conversations", exact=True).click()
    expect(conversations).to_be_in_viewport()
    page.tab.get_by_role("button", name="Close conversations").click()
    expect(conversations).not_to_be_in_viewport()

    page.tab.get_by_role("button", name="Conversations", exact=True).click()
    page.tab.get_by_role("button", name="New conversation").click()
    expect(conversations).not_to_be_in_viewport()
    page.expect_messages(0)


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the control with that name has the focus."""
    here = 'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent'
    for _ in range(60):
        page.tab.keyboard.press("Tab")
        if page.tab.evaluate(here).strip() == name:
            return
    raise AssertionError(f"Tab never came to {name!r}")


def test_everything_can_be_done_with_the_keyboard_alone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    keyboard = page.tab.keyboard
    expect(page.composer).to_be_focused()
    keyboard.type("What is 6 * 7?")
    keyboard.press("Enter")
    page.expect_messages(4)
    page.wait_for_answer()
    keyboard.press("Control+s")
    keyboard.type("The sum")
    keyboard.press("Enter")
    page.expect_checkpoints(1)
    expect(page.save_button).to_be_focused()

    _tab_to(page, "Message")
    keyboard.type("one line")
    keyboard.press("Shift+Enter")
    keyboard.type("and another")
    keyboard.press("Enter")
    page.expect_messages(6)
    page.wait_for_answer()

    _tab_to(page, "Restore The sum")
    keyboard.press("Enter")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    _tab_to(page, "Restore")
    keyboard.press("Enter")
    page.expect_messages(4)
    expect(page.composer).to_have_value("one line\nand another")
    _tab_to(page, "Undo")
    keyboard.press("Enter")
    page.expect_messages(6)


# Text is only text

HOSTILE = (
    "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'> "
    "![away](http://elsewhere.invalid/a.png) [press me](javascript:window.hit=1) "
    "<iframe src='http://elsewhere.invalid'></iframe><a href='javascript:window.hit=1'>here</a>"
    "<style>body { display: none }</style>"
)


def test_text_from_anybody_is_only_text(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI, fake_tavily: FakeTavily
) -> None:
    fake_tavily.reply(Found((Result(HOSTILE, "javascript:window.hit=1", HOSTILE),), HOSTILE))
    page = visit(start(**openai_settings))
    page.say(HOSTILE)
    fake_openai.reply(Say(HOSTILE))
    page.say(f"Tell me {HOSTILE}")
    page.say(f"Search for {HOSTILE[:100]}")
    page.save(HOSTILE[:100], HOSTILE[:300])
    for card in page.tab.locator("details.tool").all():
        card.locator("summary").click()
    page.ask_to_restore(HOSTILE[:100])
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
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    fake_openai.script(Say("See [the page](https://elsewhere.invalid/page)."))
    page = visit(start(**openai_settings))
    page.say("Where does it stand?")
    link = page.log.get_by_role("link", name="the page")
    expect(link).to_have_attribute("rel", re.compile("noopener"))
    expect(link).to_have_attribute("rel", re.compile("noreferrer"))


# The door


@pytest.fixture(scope="module")
def cookie(shared_server: Server, browser: Browser) -> str:
    """What a browser sends that was let in."""
    with browser.new_context() as context:
        shared_server.sign_in(context)
        return "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())


def test_the_link_works_once_and_the_terminal_shows_a_new_one(server: Server, browser: Browser) -> None:
    def open_link(link: str) -> str:
        with browser.new_context() as context:
            tab = context.new_page()
            tab.goto(link)
            tab.get_by_test_id("composer").or_(tab.get_by_role("heading", name="This link no longer works")).wait_for()
            return tab.url if tab.get_by_test_id("composer").count() else "refused"

    assert open_link(server.links[-1]) == f"{server.origin}/"
    assert open_link(server.links[-1]) == "refused"
    assert open_link(server.wait_for_link(1)) == f"{server.origin}/"


def test_a_restart_signs_nobody_out(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    page.expected.append("WebSocket connection|ERR_CONNECTION_REFUSED")
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


@pytest.mark.parametrize("path", ["/nothing", "/docs", "/openapi.json", "/_dash-config", "/_reload-hash", "/assets/no.js"])
def test_an_unknown_path_is_not_found(path: str, shared_server: Server, cookie: str) -> None:
    answer = httpx.get(shared_server.origin + path, headers={"cookie": cookie}, trust_env=False)
    assert answer.status_code == 404


def test_the_address_of_no_conversation_begins_a_new_one(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, "/t/no-such-thread")
    expect(page.tab.get_by_text("Where shall we start?")).to_be_visible()
    page.say("Hello")
    page.expect_messages(2)
    assert page.tab.url != f"{shared_server.origin}/t/no-such-thread"


DOORS = {
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


def _knock(server: Server, door: str, **headers: str) -> int:
    """The answer to somebody who is not our page; the socket is asked for with a handshake by hand."""
    method, path = DOORS[door]
    own = {"origin": server.origin} | (UPGRADE if door == "the socket" else {})
    with (
        httpx.Client(trust_env=False) as client,
        client.stream(method, server.origin + path, headers=own | headers) as response,
    ):
        return response.status_code


@pytest.mark.parametrize("door", DOORS)
def test_nobody_gets_in_without_the_cookie(door: str, shared_server: Server, cookie: str) -> None:
    refused = _knock(shared_server, door)
    assert refused == (403 if door == "the socket" else 401)
    let_in = {"the page": 200, "a callback": 500, "an export": 404, "the socket": 101}[door]
    assert _knock(shared_server, door, cookie=cookie) == let_in


@pytest.mark.parametrize("door", DOORS)
def test_another_host_is_refused(door: str, shared_server: Server, cookie: str) -> None:
    assert _knock(shared_server, door, cookie=cookie, host="elsewhere.invalid") == (403 if door == "the socket" else 400)


@pytest.mark.parametrize("door", ["a callback", "the socket"])
@pytest.mark.parametrize("origin", ["http://elsewhere.invalid", "null", "http://127.0.0.1:1"])
def test_another_origin_is_refused(door: str, origin: str, shared_server: Server, cookie: str) -> None:
    assert _knock(shared_server, door, cookie=cookie, origin=origin) == 403
