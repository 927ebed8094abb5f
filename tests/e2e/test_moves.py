"""The agent asks to go back: the card says what leaves, the note can be changed, and the move is undone."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = pytest.mark.e2e
GO = Call("goto", {"position": "msg_0", "message": "Let's talk about AI instead."}, text="This leads nowhere.")


@pytest.fixture
def asked(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A conversation of two exchanges and a checkpoint, in whose third the agent asks to go back to its beginning."""
    page = visit(shared_openai_server)
    fake_openai.script(Say("I can help."), Say("Black holes are dense."), GO, Say("AI is a field."))
    page.say("hello")
    page.say("black holes?")
    page.save("Space")
    page.send("go on")
    expect(page.approval).to_contain_text("The agent asks to go back to message 1:")
    return page


def decide(page: Page, name: str, then: str = "AI is a field.") -> None:
    """Decide, and wait for what the agent says after it."""
    page.approval.get_by_role("button", name=name, exact=True).click()
    expect(page.log.get_by_text(then).first).to_be_visible()


def texts(page: Page) -> list[str]:
    return [message.text for message in page.messages()]


def test_the_card_says_what_leaves_and_the_move_is_made_and_undone(asked: Page, fake_openai: FakeOpenAI) -> None:
    expect(asked.approval).to_contain_text("5 messages and 1 checkpoint will be removed from the conversation")
    expect(asked.approval).to_contain_text("hello")
    expect_accessible(asked, "a move that waits")
    before = texts(asked)
    decide(asked, "Allow")
    asked.wait_for_answer()
    asked.expect_messages(3)
    assert texts(asked) == ["hello", "Let's talk about AI instead.", "AI is a field."]
    expect(asked.tab.get_by_text("the agent went back to this point · 5 messages removed")).to_be_visible()
    asked.expect_checkpoints()
    saved = asked.tab.locator(".place-move .place-note")
    expect(saved.locator("[aria-hidden]")).to_have_text(re.compile(r"^−\d+$"))
    expect(saved.locator(".visually-hidden")).to_have_text(re.compile(r"^−\d+ tokens$"))  # for screen readers
    expect(saved).to_have_attribute("title", re.compile(r"^−5 messages · −\d+ tokens$"))  # counted as above
    expect(asked.tab.locator(".place-move .place-bar")).to_be_visible()
    expect(asked.notice).to_contain_text(re.compile(r"The agent went back to message 1 · .* · about \d+ tokens became \d+"))
    asked.tab.get_by_role("button", name="Show the full text").click()
    expect(asked.tab.get_by_role("dialog", name="5 messages removed")).to_contain_text("Black holes are dense.")
    asked.tab.get_by_role("button", name="Close", exact=True).click()
    asked.notice.get_by_role("button", name="Undo").click()
    asked.expect_messages(len(before))
    assert texts(asked) == before
    asked.expect_checkpoints(("Space", 4))


@pytest.mark.slow
def test_the_note_can_be_changed(asked: Page, fake_openai: FakeOpenAI) -> None:
    asked.approval.get_by_role("button", name="Change the note").click()
    asked.approval.get_by_role("textbox").fill("Only tea.")
    decide(asked, "Go back with this")
    asked.wait_for_answer()
    asked.expect_messages(3)
    assert texts(asked)[1] == "Only tea."
    assert "Let's talk about AI" not in str(fake_openai.requests[-1])


@pytest.mark.slow
def test_a_denied_move_changes_nothing(asked: Page) -> None:
    decide(asked, "Deny")
    asked.wait_for_answer()
    assert texts(asked)[:4] == ["hello", "I can help.", "black holes?", "Black holes are dense."]


@pytest.mark.slow
def test_always_here_asks_no_more(asked: Page, fake_openai: FakeOpenAI) -> None:
    decide(asked, "Always allow")
    asked.wait_for_answer()
    fake_openai.script(Call("goto", {"position": "msg_0", "message": "Back once more."}), Say("Here again."))
    asked.composer.fill("again")
    asked.composer.press("Enter")
    expect(asked.tab.get_by_text("Here again.")).to_be_visible()
    asked.wait_for_answer()
    expect(asked.approval).to_have_count(0)
    asked.expect_messages(3)
    assert texts(asked) == ["hello", "Back once more.", "Here again."]


@pytest.mark.slow
def test_the_demo_goes_back_when_it_is_told_to(start: Start, visit: Visit) -> None:
    page = visit(start())
    page.say("hello")
    page.send("Please start over")
    decide(page, "Allow", "I went back in time")
    page.wait_for_answer()
    assert "I went back in time" in page.answer()


@pytest.mark.slow
def test_the_place_of_a_move_is_restored_by_its_key(asked: Page, fake_openai: FakeOpenAI) -> None:
    decide(asked, "Allow")
    asked.wait_for_answer()
    asked.expect_messages(3)
    fake_openai.script(Say("It thinks."))
    asked.say("And then?")
    move = asked.tab.locator(".place-move")
    expect(move).to_contain_text("Agent went back")
    asked.select(move)
    asked.tab.keyboard.press("r")
    expect(asked.dialog).to_contain_text("Go back to “Agent went back” (2 messages)")
    asked.confirm("Restore")
    asked.expect_messages(2)
    expect(asked.composer).to_have_value("And then?")
