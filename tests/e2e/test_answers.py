"""The answer that is being written: nothing that happens to the page interrupts, loses or doubles it."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.panel_requests import panels_held_back, panels_lost
from tests.e2e.server import Server
from tests.e2e.waymark import SHOWN, Message, Page
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

pytestmark = pytest.mark.e2e
POEM = "The first line stands.\n\nThe second line runs.\n\nThe third line ends it all."


@pytest.fixture
def talking(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A page with an answer that stands still after its first line, until the model goes on."""
    page = _begin_to_talk(visit(shared_openai_server), fake_openai)
    expect(page.tab.locator("#transcript")).not_to_have_attribute("data-thread", "")  # the panels have followed
    return page


def _begin_to_talk(page: Page, fake_openai: FakeOpenAI) -> Page:
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say(POEM))
    page.send("Write me a poem")
    expect(page.live).to_contain_text("The first line stands.")
    expect(page.tab).to_have_url(re.compile("/t/"))  # it follows the first word
    return page


def _expect_poem(page: Page) -> None:
    page.wait_for_answer()
    page.expect_messages(2)
    assert page.messages() == [
        Message("user", "done", "Write me a poem"),
        Message("assistant", "done", POEM.replace("\n\n", "\n")),
    ]
    expect(page.tab.get_by_text("The first line stands.")).to_have_count(1)


def test_a_reload_in_mid_stream_loses_and_doubles_nothing(talking: Page, fake_openai: FakeOpenAI) -> None:
    talking.reload()
    expect(talking.live).to_contain_text("The first line stands.")
    expect(talking.stop_button).to_be_visible()
    fake_openai.release()
    _expect_poem(talking)
    talking.reload()
    _expect_poem(talking)


def test_a_long_answer_changes_the_panels_and_none_of_them_is_read(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    fake_openai.script(Say("Hello."))
    page = visit(shared_openai_server)
    page.say("Hello")
    expect(page.tab.locator("#undo")).to_be_enabled()
    reads: list[str] = []
    page.tab.on("request", lambda request: reads.append(request.url) if request.url.endswith("/api/panels") else None)
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say(POEM))
    page.send("Write me a poem")
    expect(page.tab.locator("#undo")).to_have_attribute("title", "Stop the running answer first")
    fake_openai.release()
    page.wait_for_answer()
    expect(page.tab.locator("#undo")).to_be_enabled()
    assert reads == []


@pytest.mark.slow
def test_an_answer_is_finished_while_no_tab_is_open(talking: Page, visit: Visit, fake_openai: FakeOpenAI) -> None:
    address = talking.tab.url.removeprefix(talking.server.origin)
    talking.tab.close()
    fake_openai.release()
    fake_openai.wait_for(lambda: bool(fake_openai.last_byte_times))
    _expect_poem(visit(talking.server, address))
    assert len(fake_openai.requests) == 1


@pytest.mark.slow
def test_a_second_tab_sees_the_same_answer_grow(talking: Page, visit: Visit, fake_openai: FakeOpenAI) -> None:
    second = visit(talking.server, talking.tab.url.removeprefix(talking.server.origin), beside=talking)
    expect(second.live).to_contain_text("The first line stands.")
    fake_openai.release()
    _expect_poem(second)
    _expect_poem(talking)


class Cable:
    """The connection between the page and the server's events, which can be pulled and plugged in."""

    def __init__(self, page: Page, change: Callable[[str | bytes], str | bytes] = lambda frame: frame) -> None:
        self._in = True
        self._change = change
        self._sockets: list[WebSocketRoute] = []
        page.tab.route_web_socket(re.compile("/events$"), self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        if self._in:
            socket.connect_to_server().on_message(lambda frame: socket.send(self._change(frame)))
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


@pytest.mark.slow
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
    expect(talking.tab.get_by_text("Reconnecting…")).to_have_count(0)
    fake_openai.release()
    _expect_poem(talking)


@pytest.mark.slow
def test_a_page_that_hears_of_no_run_asks_for_the_end_whatever_its_version(talking: Page, fake_openai: FakeOpenAI) -> None:
    """The page may hold data of the end's version that still report the run."""
    cable = Cable(talking, age_hello)
    talking.reload()
    expect(talking.live).to_contain_text("The first line stands.")
    with cable.pulled():
        expect(talking.tab.get_by_text("Reconnecting…")).to_be_visible()
        fake_openai.release()
        fake_openai.wait_for(lambda: bool(fake_openai.last_byte_times))
    _expect_poem(talking)
    expect(talking.tab.get_by_role("button", name="Stop")).to_have_count(0)


def age_hello(frame: str | bytes) -> str | bytes:
    """Make the hello of a conversation without a run as old as can be."""
    told = json.loads(frame)
    return json.dumps({**told, "version": 0}) if told["kind"] == "hello" and not told.get("run") else frame


@pytest.mark.slow
def test_a_page_says_that_updates_from_other_servers_are_delayed(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    delayed: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        def deliver(frame: str | bytes) -> None:
            socket.send(frame)
            if json.loads(frame)["kind"] == "hello" and not delayed:
                delayed.append(socket)
                socket.send(json.dumps({"kind": "late"}))

        socket.connect_to_server().on_message(deliver)

    page.say("hello")
    page.tab.route_web_socket(re.compile("/events"), connect)
    page.reload()
    line = page.tab.get_by_text("Updates from other servers are delayed…")
    expect(line).to_be_visible()
    delayed[0].close(code=1013)  # the server lets every page open again when it hears the others
    expect(line).to_have_count(0)


def test_stop_keeps_what_was_there(talking: Page) -> None:
    talking.stop_button.click()
    expect(talking.stop_button).to_have_count(0)
    expect(talking.tab.get_by_text("You stopped this answer.")).to_be_visible()
    talking.expect_messages(2)
    kept = Message("assistant", "partial", "The first line stands.")
    assert _last(talking).role == kept.role
    assert _last(talking).state == kept.state
    assert _last(talking).text.startswith(kept.text)
    talking.reload()
    expect(talking.tab.get_by_role("button", name="Continue")).to_be_visible()
    talking.tab.get_by_role("button", name="Dismiss").click()
    expect(talking.tab.get_by_text("You stopped this answer.")).to_have_count(0)
    assert _last(talking).text.startswith(kept.text)


def _last(page: Page) -> Message:
    return page.messages()[-1]


@pytest.mark.slow
def test_the_answer_goes_on_after_a_kill(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    page = _begin_to_talk(visit(start(**openai_settings)), fake_openai)
    page.expect_lost_server()
    page.server.kill()
    fake_openai.release()
    page.server.start()
    expect(page.tab.get_by_role("main").locator("p", has_text="This answer was cut off")).to_be_visible()
    fake_openai.script(Say("Here is all of it."))
    page.tab.get_by_role("button", name=re.compile("Retry|Continue")).click()
    expect(page.log).to_contain_text("Here is all of it.")
    expect(page.tab.locator(f'{SHOWN}[data-role="user"]')).to_have_count(1)


@pytest.mark.slow
def test_a_first_answer_that_a_kill_cut_off_before_the_panels_read_it_is_found_again(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings))
    page.expect_lost_server()
    with panels_lost(page):
        _begin_to_talk(page, fake_openai)
        expect(page.toast).to_contain_text("The server does not answer")
        page.server.kill()
    fake_openai.release()
    page.server.start()
    expect(page.tab.get_by_role("main").locator("p", has_text="This answer was cut off")).to_be_visible()


def test_what_is_sent_while_an_answer_is_written_follows_it(talking: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("A second poem."))
    talking.composer.fill("Another one")
    talking.composer.press("Enter")
    expect(talking.queued).to_contain_text("Another one")
    expect(talking.composer).to_have_value("")
    fake_openai.release()
    talking.expect_messages(4)
    talking.wait_for_answer()
    expect(talking.queued).to_have_count(0)
    assert [message.text for message in talking.messages()][2:] == ["Another one", "A second poem."]
    expect(talking.composer).to_have_value("")


@pytest.mark.slow
def test_what_is_sent_before_the_panels_have_read_the_end_follows_it(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("First it is."), Say("Second it is."), Say("Third it is."))
    page.say("First")
    with panels_held_back(page):
        page.send("Second")
        expect(page.message("Second it is.")).to_be_visible()
        page.composer.fill("Third")
        page.composer.press("Enter")
        expect(page.message("Third it is.")).to_be_visible()
    page.expect_messages(6)
    page.wait_for_answer()
    assert [message.text for message in page.messages()][4:] == ["Third", "Third it is."]


@pytest.mark.slow
def test_the_first_answer_of_a_conversation_does_not_wait_for_the_panels(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    """The address, the lists and the panels' data follow behind."""
    page = visit(shared_openai_server)
    fake_openai.script(Say("First it is."), Say("Second it is."))
    with panels_held_back(page):
        page.send("First")
        expect(page.message("First it is.")).to_be_visible()
    page.wait_for_answer()
    expect(page.tab).to_have_url(re.compile("/t/"))
    page.say("Second")
    assert [message.text for message in page.messages()] == ["First", "First it is.", "Second", "Second it is."]


@pytest.mark.slow
def test_a_click_before_the_panels_have_read_the_end_counts_with_what_is_seen(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    """It was refused as “changed elsewhere”: the page had named the version of its data, not the one on the screen."""
    page = visit(shared_openai_server)
    fake_openai.script(Say("First it is."), Say("Second it is."), Say("Again it is."))
    page.say("First")
    with panels_held_back(page):
        page.send("Second")
        expect(page.message("Second it is.")).to_be_visible()
        expect(page.stop_button).to_have_count(0)
        page.button_of("First it is.", "Answer again").click()
        expect(page.log).to_contain_text("Again it is.")
    page.expect_messages(2)
    assert [message.text for message in page.messages()] == ["First", "Again it is."]


@pytest.mark.slow
def test_what_is_sent_when_stop_has_gone_is_sent_although_the_panels_are_behind(
    talking: Page, fake_openai: FakeOpenAI
) -> None:
    """The stream has shown the end; a server that froze then kept the message in the queue without a word."""
    with panels_held_back(talking):
        talking.stop_button.click()
        expect(talking.stop_button).to_have_count(0)
        talking.composer.fill("Another one")
        talking.composer.press("Enter")
        talking.expect_messages(3)
        expect(talking.queued).to_have_count(0)
    expect(talking.composer).to_have_value("")
    fake_openai.release()


def test_what_waits_goes_back_into_the_field_when_the_answer_is_stopped(talking: Page, fake_openai: FakeOpenAI) -> None:
    talking.composer.fill("Another one")
    talking.composer.press("Enter")
    talking.composer.fill("and more")
    talking.stop_button.click()
    expect(talking.composer).to_have_value("Another one\n\nand more")
    talking.expect_messages(2)


@pytest.mark.slow
def test_what_waits_can_be_taken_back(talking: Page, fake_openai: FakeOpenAI) -> None:
    talking.composer.fill("Another one")
    talking.composer.press("Enter")
    talking.queued.get_by_role("button", name="Edit").click()
    expect(talking.composer).to_have_value("Another one")
    expect(talking.queued).to_have_count(0)
    fake_openai.release()
    _expect_poem(talking)


@pytest.mark.slow
def test_what_waits_and_what_is_typed_outlive_a_reload(talking: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("A second poem."))
    talking.composer.fill("Another one")
    talking.composer.press("Enter")
    talking.composer.fill("and more")
    talking.reload()
    expect(talking.queued).to_contain_text("Sent after this answer: Another one")
    expect(talking.composer).to_have_value("and more")
    fake_openai.release()
    talking.expect_messages(4)
    talking.wait_for_answer()
    expect(talking.composer).to_have_value("and more")
    talking.reload()
    expect(talking.composer).to_have_value("and more")
    expect(talking.queued).to_have_count(0)
    talking.expect_messages(4)


@pytest.mark.slow
def test_undo_waits_for_the_answer_to_be_stopped(talking: Page) -> None:
    undo = talking.tab.get_by_role("button", name="Undo last change")
    expect(undo).to_have_attribute("title", "Stop the running answer first")
    expect(undo).to_be_disabled()
    talking.stop_button.click()
    expect(undo).to_be_enabled()


@pytest.mark.slow
def test_what_waited_is_sent_once_when_the_page_comes_back_after_the_answer(talking: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("A second poem."))
    talking.composer.fill("Another one")
    talking.composer.press("Enter")
    address = talking.tab.url
    talking.tab.goto("about:blank")
    fake_openai.release()
    fake_openai.wait_for(lambda: bool(fake_openai.last_byte_times))
    talking.tab.goto(address)
    talking.expect_messages(4)
    talking.wait_for_answer()
    expect(talking.composer).to_have_value("")
    expect(talking.queued).to_have_count(0)


@pytest.mark.slow
def test_what_waits_is_sent_although_the_page_was_left_before_it_knew_its_conversation(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    with panels_held_back(page):
        _begin_to_talk(page, fake_openai)
        fake_openai.script(Say("A second poem."))
        page.composer.fill("Another one")
        page.composer.press("Enter")
        expect(page.queued).to_contain_text("Another one")
        address = page.tab.url
        page.tab.goto("about:blank")
    fake_openai.release()
    page.tab.goto(address)
    page.expect_messages(4)
    page.wait_for_answer()
    expect(page.composer).to_have_value("")


@pytest.mark.slow
def test_a_run_at_its_limit_asks_and_goes_on(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings, limits_agent_answers="2"))
    sums = [Call("calculator", {"expression": f"{number}+1"}) for number in range(3)]
    fake_openai.script(*sums, Say("All are done."))
    page.composer.fill("calculate")
    page.composer.press("Enter")
    status = page.tab.get_by_role("group", name="Status of the answer")
    expect(status).to_contain_text("The agent reached the limit of 2 answers. Go on?")
    expect(status.get_by_role("button")).to_have_text(["Continue", "Dismiss"])
    status.get_by_role("button", name="Continue").click()
    expect(page.log).to_contain_text("All are done.")
    expect(status).to_have_count(0)


@pytest.mark.slow
def test_open_details_take_the_width_of_the_error_box_and_its_icon_stays_at_the_top(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Fault("status", status=400, message="The request was refused for a reason. " * 12))
    page.send("hello")
    box = page.tab.get_by_role("alert", name="Status of the answer")
    box.get_by_text("Details").click()
    whole, icon, text = (each.bounding_box() for each in (box, box.locator("> .icon"), box.locator(".outcome-text")))
    assert whole
    assert icon
    assert text
    assert abs(icon["y"] - text["y"]) < 10
    assert text["width"] > whole["width"] - 80
    page.tab.set_viewport_size({"width": 390, "height": 844})
    box.get_by_role("button", name="Dismiss").click()
    expect(box).to_have_count(0)
    expect(page.composer).to_be_focused()


@pytest.mark.slow
def test_a_question_without_an_answer_is_answered_again_after_its_error_was_dismissed(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Fault("status", status=400), Say("Here I am."))
    page.send("hello")
    again = page.button_of("hello", "Answer again")
    expect(page.tab.get_by_role("button", name="Retry")).to_be_visible()
    expect(again).to_have_count(0)  # Retry is there
    with page.tab.expect_response("**/api/actions/transcript"):  # a reload would cut the request off
        page.tab.get_by_role("button", name="Dismiss").click()
    page.reload()
    again.click()
    page.wait_for_answer()
    assert page.answer() == "Here I am."
    expect(again).to_have_count(0)
    page.expect_messages(2)


@pytest.mark.slow
def test_a_long_text_is_shown_in_part_and_edited_whole(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("An answer. " * 5_000))
    text = "many words " * 5_000
    page.say(text)
    links = page.tab.get_by_test_id("show-all")
    expect(links).to_have_text(["Show all (5,000 more characters)", "Show all (5,000 more characters)"])
    with page.tab.expect_popup() as opened:
        links.first.click()
    expect(opened.value.locator("body")).to_contain_text(text.strip())
    opened.value.close()
    page.tab.get_by_role("button", name="Edit message").click()
    expect(page.editor.locator("textarea")).to_have_value(text)


def test_a_page_shows_the_server_that_it_reads(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    received: list[str] = []
    sent: list[str | bytes] = []

    def connect(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def deliver(frame: str | bytes) -> None:
            received.append(json.loads(frame).get("receipt"))
            socket.send(frame)

        def note(text: str | bytes) -> None:
            sent.append(text)
            server.send(text)

        server.on_message(deliver)
        socket.on_message(note)

    page.say("Hello")
    page.tab.route_web_socket(re.compile("/events"), connect)
    page.reload()
    page.say("Hello again")
    assert sent == [receipt for receipt in received if receipt]
    assert sent
