"""Networks that let no WebSocket through: the page asks for the same frames instead, and loses nothing of what it does."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import WebSocket, WebSocketRoute, expect

from tests.balancer import BLOCKS, Balancer
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_balanced_servers import find_free_port
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say
from tests.rounds import sample

pytestmark = pytest.mark.e2e
POEM = "The first line stands.\n\nThe second line runs.\n\nThe third line ends it all."
TOLD = re.compile("Live updates are slow here")
FIRST_ANSWER_MS = 5_000
TOLD_MS = 30_000
BEAT = '{"kind": "beat"}'
SHORT_SILENCE = """var shortens = true;
{
  const wait = window.setTimeout;
  window.setTimeout = (work, ms, ...rest) => wait(work, shortens && ms === 40_000 ? 300 : ms, ...rest);
}"""
FAIL_ONCE = """() => {
  const parse = JSON.parse;
  JSON.parse = (text, ...rest) => {
    if (!text.includes('"kind"')) return parse(text, ...rest);
    JSON.parse = parse;
    throw new Error("a frame that cannot be read");
  };
}"""


@pytest.fixture
def network() -> Iterator[Balancer]:
    with Balancer() as network:
        yield network


@pytest.fixture
def behind(network: Balancer, tmp_path: Path, openai_settings: dict[str, str]) -> Iterator[Server]:
    """A server that is reached through the network alone."""
    server = Server(tmp_path / "behind", public_url=network.origin, **openai_settings)
    server.port = port = find_free_port()
    server.start()
    network.serve([port])
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def open_page(visit: Visit, server: Server, path: str = "/", **options: Page) -> Page:
    page = visit(server, path, **options)
    page.expect_lost_server()
    return page


def expect_line(page: Page, line: str, timeout: float | None = None) -> None:
    expect(page.live).to_contain_text(line, timeout=timeout)


@pytest.mark.parametrize("block", sample(BLOCKS, 2))
def test_a_page_without_websockets_does_everything_that_a_page_does(
    block: str, network: Balancer, behind: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    network.block = block
    page = open_page(visit, behind)
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say(POEM), Say("Red it is."), Say(POEM))
    page.send("Write me a poem")
    expect_line(page, "The first line stands.", FIRST_ANSWER_MS)
    expect(page.tab.get_by_text(TOLD)).to_be_visible(timeout=TOLD_MS)
    page.tab.locator("#toast-close").click()
    expect(page.tab).to_have_url(re.compile("/t/"))
    second = open_page(visit, behind, page.tab.url.removeprefix(behind.origin), beside=page)
    expect_line(second, "The first line stands.")
    page.reload()
    expect_line(page, "The first line stands.")
    fake_openai.release()
    for each in (page, second):
        each.wait_for_answer()
        each.expect_messages(2)
    page.save("Poem")
    page.say("Red?")
    second.expect_messages(4)
    fake_openai.hold(after_tokens=6)
    page.send("Another poem")
    expect_line(second, "The first line stands.")
    second.stop_button.click()
    for each in (page, second):
        expect(each.stop_button).to_have_count(0)
        each.expect_messages(6)
    fake_openai.release()
    page.restore("Poem")
    second.expect_messages(2)
    page.undo()
    second.expect_messages(6)
    assert page.messages() == second.messages()
    expect(page.tab.get_by_text("Reconnecting…")).to_have_count(0)
    for each in (page, second):
        expect(each.tab.get_by_text(TOLD)).to_have_count(0)  # once is enough


@pytest.mark.parametrize("block", ["forbidden", pytest.param("no answer", marks=pytest.mark.slow)])
def test_a_page_goes_back_to_websockets_by_itself(
    block: str, network: Balancer, behind: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    network.block = block
    page = open_page(visit, behind)
    fake_openai.script(Say("Red it is."), Say("Green it is."))
    page.say("Red?")
    expect(page.tab.get_by_text(TOLD)).to_be_visible()
    assert network.sockets == 0
    network.block = None
    asked: list[str] = []
    page.tab.on("request", lambda request: asked.append(request.url) if "poll=" in request.url else None)
    with page.tab.expect_websocket(lambda socket: "/events" in socket.url) as opened:
        page.tab.evaluate("setInterval(() => window.dispatchEvent(new Event('online')), 500)")
    opened.value.wait_for_event("framereceived")
    page.tab.wait_for_function("localStorage.getItem('waymark.polling') === 'off'")
    page.say("Green?")
    asked.clear()
    page.say("Blue?")
    assert asked == []


def test_a_page_asks_for_frames_again_and_for_no_websocket_when_the_server_was_away(
    network: Balancer, behind: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    """Where a handshake gets no answer, a WebSocket would take seconds until the frames go on."""
    network.block = "forbidden"
    page = open_page(visit, behind)
    fake_openai.script(Say("Red it is."), Say("Green it is."))
    page.say("Red?")
    expect(page.tab.get_by_text(TOLD)).to_be_visible()
    tried: list[str] = []
    page.tab.on("websocket", lambda socket: tried.append("WebSocket") if "/events" in socket.url else None)
    page.tab.on("requestfailed", lambda request: tried.append("poll") if "poll=" in request.url else None)
    page.tab.route(re.compile("poll="), lambda route: route.abort())
    while tried.count("poll") < 4 and "WebSocket" not in tried:
        page.tab.wait_for_timeout(10)
    assert "WebSocket" not in tried
    page.tab.unroute(re.compile("poll="))
    page.say("Green?")


@pytest.mark.parametrize("beats", [True, False], ids=["after a beat", "after its first frames"])
def test_a_page_whose_socket_falls_silent_opens_another_one(
    beats: bool, shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    fake_openai.script(Say("Red it is."), Say("Green it is."))
    page = visit(shared_openai_server)
    page.tab.add_init_script(SHORT_SILENCE)
    page.say("Red?")
    opened: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        opened.append(socket)
        server, is_silent = socket.connect_to_server(), len(opened) == 1

        def deliver(frame: str | bytes) -> None:
            if not (is_silent and (opened[1:] or frame == BEAT)):
                socket.send(frame)
            if is_silent and beats:
                socket.send(BEAT)  # the last one

        server.on_message(deliver)

    page.tab.route_web_socket(re.compile("/threads/.*/events"), connect)
    page.reload()
    while len(opened) < 2:
        page.tab.wait_for_timeout(10)
    page.tab.evaluate("shortens = false")
    page.say("Green?")
    expect(page.log).to_contain_text("Green it is.")
    assert opened[1:]  # by which the answer came: the first brings nothing more


def test_a_page_without_websockets_goes_on_after_a_frame_that_it_cannot_read(
    network: Balancer, behind: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    network.block = "forbidden"
    page = open_page(visit, behind)
    page.expected.append("a frame that cannot be read")
    fake_openai.script(Say("Red it is."), Say(POEM))
    page.say("Red?")
    page.tab.evaluate(FAIL_ONCE)
    fake_openai.hold(after_tokens=6)
    page.send("Write me a poem")
    expect_line(page, "The first line stands.", FIRST_ANSWER_MS)
    assert "a frame that cannot be read" in "".join(page.complaints)
    fake_openai.release()
    page.wait_for_answer()


def test_a_slow_network_is_not_called_one_that_blocks(
    network: Balancer, behind: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = open_page(visit, behind)
    fake_openai.script(Say("Red it is."), Say("Green it is."))
    page.say("Red?")
    network.delay = 3.5
    received: set[WebSocket] = set()
    page.tab.on("websocket", lambda socket: socket.on("framereceived", lambda _: received.add(socket)))
    page.reload()
    while len(received) < 2:  # one beside requests, and the one that takes their place
        assert page.tab.get_by_text(TOLD).count() == 0
        page.tab.wait_for_timeout(50)
    page.say("Green?")
    assert len(received) == 2
    expect(page.tab.get_by_text(TOLD)).to_have_count(0)


def test_a_page_without_websockets_is_left_when_its_session_ends(
    network: Balancer, behind: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    network.block = "forbidden"
    page = open_page(visit, behind)
    page.expected.append("401")
    fake_openai.script(Say("Red it is."))
    page.say("Red?")
    page.tab.context.clear_cookies()
    expect(page.tab).to_have_url(re.compile("/sign-in"))
