"""A message changed, an answer asked for again: the conversation goes another way, and every way can be gone back."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import SIZES, expect_accessible_in_all_schemes
from tests.e2e.test_user_graph_questions import RECORD_SPOKEN
from tests.e2e.waymark import Message, Page
from tests.fakes.answers import POSITION
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
SUM = "What is 12 * (3 + 4)?"


@pytest.fixture
def talked(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """Six messages: three that the user wrote, each with its answer."""
    page = visit(shared_openai_server)
    for word in ("Red", "Green", "Blue"):
        fake_openai.script(Say(f"{word} it is."))
        page.say(word)
    return page


def _texts(page: Page) -> list[str]:
    return [message.text for message in page.messages()]


def _asked(fake_openai: FakeOpenAI) -> list[str]:
    """What the model was told last that the user said."""
    return _said(fake_openai, "user")


def _said(fake_openai: FakeOpenAI, role: str) -> list[str]:
    """What of it was said in a role, without the numbers before it."""
    asked = fake_openai.requests[-1]["messages"]
    return [POSITION.sub("", message["content"]) for message in asked if message["role"] == role]


def _edited(page: Page, fake_openai: FakeOpenAI) -> list[Message]:
    """An early message is another one now; what was there before."""
    before = page.messages()
    fake_openai.script(Say("Yellow it is."))
    page.edit("Green", "Yellow")
    expect(page.log).to_contain_text("Yellow it is.")
    page.wait_for_answer()
    page.expect_messages(4)
    return before


@pytest.mark.slow
def test_an_edited_message_and_what_followed_the_old_one_are_both_within_reach(
    talked: Page, fake_openai: FakeOpenAI
) -> None:
    before = _edited(talked, fake_openai)
    assert _texts(talked) == ["Red", "Red it is.", "Yellow", "Yellow it is."]
    assert _asked(fake_openai) == ["Red", "Yellow"]
    after = talked.messages()

    talked.alternatives("2 of 2").get_by_role("button", name="Previous alternative").click()
    talked.expect_messages(6)
    assert talked.messages() == before
    expect(talked.alternatives("1 of 2").get_by_role("button", name="Previous alternative")).to_be_disabled()
    talked.reload()
    talked.expect_messages(6)
    assert talked.messages() == before

    talked.alternatives("1 of 2").get_by_role("button", name="Next alternative").click()
    talked.expect_messages(4)
    assert talked.messages() == after
    talked.reload()
    assert talked.messages() == after


@pytest.mark.slow
def test_undo_brings_back_what_an_edit_set_aside(talked: Page, fake_openai: FakeOpenAI) -> None:
    before = _edited(talked, fake_openai)
    talked.reload()
    expect(talked.notice).to_contain_text("The messages that followed were removed")
    talked.undo()
    talked.expect_messages(6)
    assert talked.messages() == before
    expect(talked.tab.get_by_role("group", name="Alternative")).to_have_count(0)


@pytest.mark.slow
def test_changing_only_the_text_keeps_what_follows_for_the_reader_and_for_the_model(
    talked: Page, fake_openai: FakeOpenAI
) -> None:
    before = _texts(talked)
    talked.edit("Green", "Yellow", button="Only change the text")
    expect(talked.message("Yellow")).to_be_visible()
    talked.alternatives("2 of 2").wait_for()
    assert _texts(talked) == [*before[:2], "Yellow", *before[3:]]
    assert len(fake_openai.requests) == 3

    talked.say("Black")
    assert _asked(fake_openai) == ["Red", "Yellow", "Blue", "Black"]
    assert _said(fake_openai, "assistant") == before[1::2]


@pytest.mark.slow
def test_any_answer_can_be_asked_for_again(talked: Page, fake_openai: FakeOpenAI) -> None:
    before = talked.messages()
    for attempt in (2, 3):
        fake_openai.script(Say(f"Attempt {attempt}."))
        talked.button_of("Green it is." if attempt == 2 else "Attempt 2.", "Answer again").click()
        expect(talked.log).to_contain_text(f"Attempt {attempt}.")
        talked.wait_for_answer()
        talked.alternatives(f"{attempt} of {attempt}").wait_for()
        assert _asked(fake_openai) == ["Red", "Green"]
        assert _texts(talked) == ["Red", "Red it is.", "Green", f"Attempt {attempt}."]

    others = talked.tab.locator(".history .place-alternative")
    expect(others.locator(".place-name")).to_have_text(["“Green it is.”", "“Attempt 2.”"])
    expect(others.locator(".place-note")).to_have_text(["Alternative", "Alternative"])
    talked.alternatives("3 of 3").get_by_role("button", name="Previous alternative").click()
    talked.alternatives("2 of 3").get_by_role("button", name="Previous alternative").click()
    talked.alternatives("1 of 3").wait_for()
    assert talked.messages() == before


@pytest.mark.slow
def test_tool_calls_keep_their_results_whatever_is_changed_around_them(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.say(SUM)
    page.say("Thank you")
    page.edit(SUM, "What is 2 + 2?", button="Only change the text")
    page.alternatives("2 of 2").wait_for()
    page.say("And now?")
    page.button_of("the tools say", "Answer again").click()
    page.expect_messages(4)
    page.wait_for_answer()
    assert [message.role for message in page.messages()] == ["user", "assistant", "tool", "assistant"]
    page.edit("What is 2 + 2?", "What is 3 + 3?")
    page.alternatives("3 of 3").wait_for()
    page.wait_for_answer()
    page.say("Good")
    assert fake_openai.violations == []


@pytest.mark.slow
def test_an_edit_waits_for_the_answer_and_loses_nothing(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.hold(after_tokens=1)
    fake_openai.script(Say("One two three."), Say("Yellow it is."))
    talked.send("Count")
    expect(talked.live).to_contain_text("One")
    talked.edit("Green", "Yellow")
    expect(talked.editor.get_by_role("alert")).to_contain_text("An answer is being written")
    expect(talked.editor.get_by_role("textbox")).to_have_value("Yellow")

    fake_openai.release()
    expect(talked.stop_button).to_have_count(0)
    expect(talked.editor.get_by_role("textbox")).to_have_value("Yellow")
    talked.editor.get_by_role("button", name="Send").click()
    expect(talked.log).to_contain_text("Yellow it is.")
    expect(talked.editor).to_have_count(0)


@pytest.mark.slow
def test_an_edit_of_what_was_changed_elsewhere_is_refused_with_its_text_kept(talked: Page, visit: Visit) -> None:
    talked.tab.route_web_socket(re.compile("/events$"), lambda socket: socket.close(code=1013))
    talked.reload()
    other = visit(talked.server, talked.tab.url.removeprefix(talked.server.origin), beside=talked)
    other.edit("Blue", "Black", button="Only change the text")
    other.alternatives("2 of 2").wait_for()

    talked.edit("Green", "Yellow")
    expect(talked.editor.get_by_role("alert")).to_contain_text("changed elsewhere")
    expect(talked.editor.get_by_role("textbox")).to_have_value("Yellow")
    expect(talked.message("Black")).to_be_visible()
    talked.editor.get_by_role("button", name="Only change the text").click()
    expect(talked.message("Yellow")).to_be_visible()
    expect(talked.message("Black")).to_be_visible()


@pytest.mark.slow
def test_a_message_can_be_changed_by_keyboard_alone(talked: Page, fake_openai: FakeOpenAI) -> None:
    press, edit = talked.tab.keyboard.press, talked.button_of("Green", "Edit message")
    edit.focus()
    press("Enter")
    expect(talked.editor.get_by_role("textbox")).to_be_focused()
    talked.tab.keyboard.type(" or blue")
    press("Escape")
    expect(edit).to_be_focused()
    assert _texts(talked)[2] == "Green"

    fake_openai.script(Say("Greener it is."))
    press("Enter")
    expect(talked.editor.get_by_role("textbox")).to_have_value("Green or blue")  # kept
    press("Control+a")
    talked.tab.keyboard.type("Greener")
    press("Control+Enter")
    expect(talked.log).to_contain_text("Greener it is.")
    expect(talked.button_of("Greener", "Edit message")).to_be_focused()
    press("Shift+Tab")  # Copy
    for _ in range(4):
        press("Tab")  # Edit, Branch from here, More, Previous alternative
    press("Enter")
    talked.expect_messages(6)
    expect(talked.alternatives("1 of 2").get_by_role("button", name="Previous alternative")).to_be_focused()


@pytest.mark.slow
def test_a_screen_reader_is_told_of_an_alternative_once_it_is_shown(talked: Page, fake_openai: FakeOpenAI) -> None:
    _edited(talked, fake_openai)
    talked.alternatives("2 of 2").get_by_role("button", name="Previous alternative").click()
    talked.expect_messages(6)
    expect(talked.spoken).to_have_text("Alternative 1 of 2")
    talked.alternatives("1 of 2").get_by_role("button", name="Next alternative").click()
    talked.expect_messages(4)
    expect(talked.spoken).to_have_text("Alternative 2 of 2")
    fake_openai.script(Say("one two three"))
    fake_openai.hold(after_tokens=1)
    talked.send("Count, please")
    expect(talked.live).to_contain_text("one")
    talked.alternatives("2 of 2").get_by_role("button", name="Previous alternative").click()
    expect(talked.tab.get_by_text("An answer is being written in this conversation.").first).to_be_visible()
    expect(talked.spoken).to_have_text("Answering…")
    fake_openai.release()
    talked.wait_for_answer()


@pytest.mark.slow
def test_a_screen_reader_is_told_of_an_undo_and_a_redo_and_no_longer_of_the_answer(talked: Page) -> None:
    expect(talked.spoken).to_have_text("Answer finished")
    undo, redo = (talked.tab.get_by_role("button", name=name) for name in ("Undo last change", "Redo"))
    talked.tab.evaluate(RECORD_SPOKEN)
    for button, count, told in (
        (undo, 4, "The last change was undone"),
        (undo, 2, "The last change was undone"),
        (redo, 4, "The change was made again"),
    ):
        button.click()
        talked.expect_messages(count)
        expect(talked.spoken).to_have_text(told)
    undone, again = "The last change was undone", "The change was made again"
    assert [each for each in talked.tab.evaluate("window.spoken") if each] == [undone, undone, again]


@pytest.mark.slow
def test_what_is_read_stays_where_it_is_when_another_alternative_is_chosen(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("\n\n".join(f"Line {number}" for number in range(60))))
    talked.edit("Green", "Long")
    expect(talked.log).to_contain_text("Line 59")
    talked.wait_for_answer()
    arrows = talked.tab.get_by_role("group", name="Alternative")
    arrows.get_by_role("button", name="Previous alternative").click()
    talked.expect_messages(6)
    talked.reload()  # what is shown is the end of the conversation, which would be followed
    talked.expect_messages(6)
    place = arrows.bounding_box()
    arrows.get_by_role("button", name="Next alternative").click()
    expect(talked.log).to_contain_text("Line 59")
    expect(talked.tab.get_by_role("button", name="Jump to latest")).to_be_visible()
    assert arrows.bounding_box() == place


@pytest.mark.slow
def test_what_is_changed_in_place_stays_in_view(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("\n\n".join(f"Line {number}" for number in range(60))))
    talked.say("More")
    expect(talked.message("Red").first).not_to_be_in_viewport()
    talked.edit("Green", "Yellow", button="Only change the text")
    expect(talked.notice).to_contain_text("The message was changed, 5 later messages kept")
    expect(talked.message("Yellow").first).to_be_in_viewport()
    talked.send("Black")
    expect(talked.message("Black").first).to_be_in_viewport()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious_in_the_field_and_the_arrows(
    size: Any, shared_openai_server: Server, visit: Visit
) -> None:
    page = visit(shared_openai_server, viewport=size, reduced_motion="reduce")
    page.say("Hello")
    page.edit("Hello", "Hello you", button="Only change the text")
    page.alternatives("2 of 2").wait_for()
    expect_accessible_in_all_schemes(page, "alternatives")
    page.press_at("Hello", "Edit message")
    expect_accessible_in_all_schemes(page, "editing")


@pytest.mark.slow
def test_the_window_is_called_as_the_conversation_is(talked: Page) -> None:
    expect(talked.tab).to_have_title("Red · Waymark")
    talked.new_conversation()
    expect(talked.tab).to_have_title("Waymark")
