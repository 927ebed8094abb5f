"""One Enter is one message, however slow the network is; what is not sent comes back into the field."""

import re

import pytest
from playwright.sync_api import Route, expect

from checkpoints.values.limits import MAX_MESSAGE_CHARS
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_attachments import NOTES, attach, chips
from tests.e2e.waymark import SHOWN, Page
from tests.rounds import sample

pytestmark = pytest.mark.e2e
ACTIONS = re.compile("/api/actions/")
SEND = re.compile('"type": ?"send"')
REFUSED = "A message needs a text."
# The second click of a double click arrives as soon as Stop is there, before a short answer takes it away.
SECOND_CLICK = """() => new MutationObserver((_, observer) => {
  const stop = document.querySelector("[data-testid=stop]");
  if (!stop) return;
  observer.disconnect();
  stop.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }));
  window.isClickedTwice = true;
}).observe(document.body, { childList: true, subtree: true })"""


class Network:
    """Holds back what the composer sends, until it is released or lost."""

    def __init__(self, page: Page) -> None:
        self._held: list[Route] = []
        self._is_lost = False
        self._page = page
        page.expected.append("ERR_FAILED|Failed to fetch|Callback failed")

    def hold(self) -> None:
        self._page.tab.route(ACTIONS, self._hold)

    def _hold(self, route: Route) -> None:
        if not SEND.search(route.request.post_data or ""):
            route.continue_()
        elif self._is_lost:
            route.abort()
        else:
            self._held.append(route)

    def wait_for_send(self) -> None:
        expect(self._page.tab.locator(".send-button .spinner")).to_be_visible()

    def release(self) -> None:
        self._page.tab.unroute(ACTIONS)  # and what was held goes on

    def refuse(self, **fields: object) -> None:
        """Refuse what is held; what comes later goes on."""
        for route in self._held:
            route.fulfill(json=_refusal(route, **fields))
        self.release()

    def deliver_unseen(self) -> None:
        """Leave the page, and bring to the server what is held: nobody reads the reply."""
        while not self._held:
            self._page.tab.wait_for_timeout(10)
        self._page.tab.goto("about:blank")
        for route in self._held:
            assert route.fetch().ok
        self._page.tab.unroute(ACTIONS)

    def lose(self) -> None:
        """Lose what is held, and what is still on its way here, until the network is released."""
        self._is_lost = True
        for route in self._held:
            route.abort()
        self._held.clear()


@pytest.fixture
def page(shared_server: Server, visit: Visit) -> Page:
    return visit(shared_server)


def _asked(page: Page) -> list[str]:
    return [message.text for message in page.messages() if message.role == "user"]


def _expect_asked(page: Page, *texts: str) -> None:
    expect(page.tab.locator(f'{SHOWN}[data-role="user"]')).to_have_count(len(texts))
    page.wait_for_answer()
    expect(page.queued).to_have_count(0)
    assert _asked(page) == list(texts)


@pytest.mark.slow
def test_a_first_message_whose_reply_is_lost_has_its_conversation_and_its_address(page: Page) -> None:
    def lose_reply(route: Route) -> None:
        if SEND.search(route.request.post_data or ""):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.expected.append("ERR_FAILED|Failed to fetch|Callback failed")
    page.tab.route(ACTIONS, lose_reply)
    page.composer.fill("Hello")
    page.composer.press("Enter")
    page.wait_for_answer()
    expect(page.tab).to_have_url(re.compile("/t/"))
    assert _asked(page) == ["Hello"]


@pytest.mark.parametrize("press", ["Enter twice", pytest.param("a double click", marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_begun", sample([False, True], 1), ids=["first message", "later message"])
def test_two_presses_on_a_slow_network_are_one_message(page: Page, press: str, is_begun: bool) -> None:
    before = ["Tell me of harbours"] if is_begun else []
    for text in before:
        page.say(text)
    network = Network(page)
    network.hold()
    page.composer.fill("Tell me of bridges")
    if press == "Enter twice":
        page.composer.press("Enter")
        page.composer.press("Enter")
    else:
        page.tab.get_by_test_id("send").dblclick()
    network.wait_for_send()
    expect(page.composer).to_have_value("")
    network.release()
    _expect_asked(page, *before, "Tell me of bridges")


@pytest.mark.slow
def test_a_double_click_on_a_quick_network_does_not_stop_the_answer(page: Page) -> None:
    page.composer.fill("Tell me of lighthouses")
    page.tab.evaluate(SECOND_CLICK)
    page.tab.get_by_test_id("send").click()
    page.tab.wait_for_function("() => window.isClickedTwice")
    _expect_asked(page, "Tell me of lighthouses")


@pytest.mark.slow
def test_what_is_typed_while_a_message_is_under_way_is_the_next_one(page: Page) -> None:
    network = Network(page)
    _send_held(page, network, "First")
    page.composer.press_sequentially("Second")
    network.release()
    _expect_asked(page, "First")
    expect(page.composer).to_have_value("Second")
    page.composer.press("Enter")
    _expect_asked(page, "First", "Second")


@pytest.mark.slow
def test_a_refused_message_comes_back_before_what_was_typed_meanwhile(page: Page) -> None:
    page.tab.route(
        ACTIONS,
        lambda route: (
            route.fulfill(json=_refusal(route)) if SEND.search(route.request.post_data or "") else route.continue_()
        ),
    )
    attach(page, NOTES)
    expect(chips(page)).to_have_count(1)
    page.composer.fill("Read this")
    with page.tab.expect_request(ACTIONS):
        page.tab.evaluate(
            """() => {
              const field = document.querySelector("[data-testid=composer]");
              document.querySelector("[data-testid=send]").click();
              field.value += "and more";
            }"""
        )
    expect(page.tab.get_by_role("alert")).to_contain_text(REFUSED)
    expect(page.composer).to_have_value("Read this\n\nand more")
    expect(chips(page)).to_have_count(1)


@pytest.mark.parametrize(
    "is_late", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["refused", "late, then refused"]
)
def test_a_refused_message_comes_back_before_the_one_that_waits_for_it(page: Page, is_late: bool) -> None:
    page.say("Tell me of harbours")
    _queue_behind_held(page, is_late=is_late).refuse()
    expect(page.tab.locator(".composer-problem")).to_contain_text(REFUSED)
    expect(page.queued).to_have_count(0)
    expect(page.composer).to_have_value("First\n\nSecond\n\nand more")


def test_a_message_that_has_to_wait_is_sent_before_the_one_behind_it(page: Page) -> None:
    page.say("Tell me of harbours")
    _queue_behind_held(page).refuse(text=None, waits=True)
    _expect_asked(page, "Tell me of harbours", "FirstSecond")  # each in its own paragraph
    expect(page.composer).to_have_value("and more")


def _send_held(page: Page, network: Network, text: str) -> None:
    """Send a message, which the network holds."""
    network.hold()
    page.composer.fill(text)
    page.composer.press("Enter")
    network.wait_for_send()


def _queue_behind_held(page: Page, *, is_late: bool = False) -> Network:
    """Send a message, which is held, and one that waits for it; then go on typing."""
    network = Network(page)
    _send_held(page, network, "First")
    page.composer.fill("Second")
    page.composer.press("Enter")
    expect(page.queued).to_contain_text("Second")
    if is_late:
        expect(page.composer).to_have_value("First")  # the server has not answered for too long
    page.tab.keyboard.insert_text("\n\nand more" if is_late else "and more")
    return network


def _refusal(route: Route, **fields: object) -> dict[str, object]:
    operation = re.search('"request_id": ?"([^"]+)"', route.request.post_data or "")
    assert operation is not None
    return {"composer-panel": {"reply": {"request_id": operation[1], "ok": False, "text": REFUSED, **fields}}}


def test_a_lost_message_comes_back_and_is_sent_once_with_its_file(page: Page) -> None:
    network = Network(page)
    attach(page, NOTES)
    expect(chips(page)).to_have_count(1)
    _send_held(page, network, "Read this")
    expect(chips(page)).to_have_count(0)
    network.lose()
    expect(page.composer).to_have_value("Read this")
    expect(chips(page)).to_have_count(1)
    network.release()
    page.tab.get_by_role("button", name="Try again").click()
    _expect_asked(page, "Read this")
    expect(page.composer).to_have_value("")
    expect(chips(page)).to_have_count(0)


class Proxy:
    """A proxy that answers requests itself while its server is away."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []  # what it has answered so
        self.is_server_away, self._tab = True, page.tab
        page.expected.append("502")
        page.tab.route(re.compile("/api/(actions|uploads)/"), self._answer)

    def _answer(self, route: Route) -> None:
        path = route.request.url.partition("/api/")[2].partition("/")[0]
        if self.is_server_away or self.errors.count(path) < 2:
            self.errors.append(path)
            route.fulfill(status=502, content_type="text/html", body="<html><h1>502 Bad Gateway</h1></html>")
        else:
            route.continue_()


def test_a_message_with_a_file_finds_another_server_where_a_proxy_has_lost_one(page: Page) -> None:
    proxy = Proxy(page)
    proxy.is_server_away = False
    attach(page, NOTES)
    expect(chips(page)).to_have_count(1)
    page.composer.fill("Read this")
    page.composer.press("Enter")
    _expect_asked(page, "Read this")
    assert proxy.errors == ["uploads", "uploads", "actions", "actions"]
    expect(page.composer).to_have_value("")
    expect(page.toast).not_to_be_visible()


@pytest.mark.parametrize("with_file", [False, True])
def test_a_message_comes_back_when_a_proxy_finds_no_server(page: Page, with_file: bool) -> None:
    proxy = Proxy(page)
    if with_file:
        attach(page, NOTES)
        expect(chips(page)).to_have_count(1)
    page.composer.fill("Read this")
    page.composer.press("Enter")
    again = page.tab.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    expect(page.composer).to_have_value("Read this")
    expect(page.tab.get_by_text(re.compile("Bad Gateway|Reload the page"))).to_have_count(0)
    proxy.is_server_away = False
    again.click()
    _expect_asked(page, "Read this")
    expect(page.composer).to_have_value("")


def test_a_lost_message_that_is_taken_out_of_the_field_is_not_offered_again(page: Page) -> None:
    network = Network(page)
    _send_held(page, network, "Read this")
    network.lose()
    expect(page.tab.get_by_role("button", name="Try again")).to_be_visible()
    page.composer.fill("")
    expect(page.tab.locator(".composer-problem")).to_have_count(0)


def test_a_message_whose_answer_was_lost_is_not_sent_a_second_time(page: Page) -> None:
    """The server has it; the network lost the reply. Sent again as it stands, it is known by its operation."""
    page.expected.append("ERR_FAILED|Failed to fetch|Callback failed")

    def lose_reply(route: Route) -> None:
        if SEND.search(route.request.post_data or ""):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.say("Tell me of harbours")
    page.tab.route(ACTIONS, lose_reply)
    page.composer.fill("Tell me of bridges")
    page.composer.press("Enter")
    expect(page.tab.locator(".composer-problem")).to_contain_text("the server does not answer")
    expect(page.toast).to_be_hidden()  # one notice is enough
    expect(page.composer).to_have_value("Tell me of bridges")
    page.tab.unroute(ACTIONS)
    page.wait_for_answer()
    page.composer.press("Enter")
    expect(page.composer).to_have_value("")
    _expect_asked(page, "Tell me of harbours", "Tell me of bridges")


def test_a_message_that_was_under_way_at_a_reload_is_sent_once(page: Page) -> None:
    network = Network(page)
    _send_held(page, network, "Tell me of viaducts")
    network.deliver_unseen()
    page.open("/")
    expect(page.composer).to_have_value("Tell me of viaducts")
    page.composer.press("Enter")
    _expect_asked(page, "Tell me of viaducts")
    expect(page.composer).to_have_value("")
    expect(page.threads.filter(has_text="viaducts")).to_have_count(1)


@pytest.mark.slow
def test_a_message_that_is_lost_after_leaving_comes_back_to_its_own_conversation(page: Page) -> None:
    page.say("Tell me of left luggage")
    network = Network(page)
    _send_held(page, network, "And of bridges")
    page.new_conversation()
    page.composer.fill("Something else")
    network.lose()
    expect(page.toast).to_contain_text("The server does not answer.")
    expect(page.tab.locator(".composer-problem")).to_have_count(0)
    expect(page.composer).to_have_value("Something else")
    page.tab.get_by_role("link", name="Tell me of left luggage").click()
    expect(page.composer).to_have_value("And of bridges")


def test_a_text_that_is_too_long_is_not_sent_and_stays_in_the_field(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    text = "x" * (MAX_MESSAGE_CHARS + 1)
    page.composer.fill(text)
    page.composer.press("Enter")
    expect(page.tab.get_by_role("alert")).to_contain_text("A message has at most 200,000")
    expect(page.composer).to_have_value(text)
    page.composer.fill(text[1:])
    page.composer.press("Enter")
    expect(page.log.get_by_test_id("show-all").first).to_be_visible()
    expect(page.composer).to_have_value("")


@pytest.mark.slow
def test_a_request_that_is_too_large_for_the_server_says_so_and_the_text_comes_back(page: Page) -> None:
    page.expected.append("413")
    page.tab.route(ACTIONS, lambda route: route.fulfill(status=413) if is_send(route) else route.continue_())
    page.composer.fill("Tell me of bridges")
    page.composer.press("Enter")
    expect(page.toast).to_contain_text("This is too long to be sent.")
    expect(page.composer).to_have_value("Tell me of bridges")


def is_send(route: Route) -> bool:
    return SEND.search(route.request.post_data or "") is not None
