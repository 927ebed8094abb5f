"""A conversation is summarised from the composer and from a message; the full text stays one click away."""

import re

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.e2e.conftest import Visit
from tests.e2e.panel_requests import SENDING, panels_held_back
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Fault, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
LONG = "The harbour of Ystad froze over that year, and nobody crossed it. " * 20


@pytest.fixture
def talked(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    page = visit(shared_openai_server)
    fake_openai.script(Say(LONG), Say(f"Anna is 41. {LONG}"))
    page.say("What about the harbour?")
    page.say("And Anna?")
    return page


def command(page: Page, text: str) -> None:
    page.composer.fill(text)
    page.composer.press("Enter")


def summarise(page: Page, text: str = "/compact") -> None:
    command(page, text)
    expect(page.dialog).to_contain_text("One summary will replace 4 messages.")
    page.confirm("Summarise")


def test_a_command_summarises_the_conversation_and_undo_brings_it_back(talked: Page, fake_openai: FakeOpenAI) -> None:
    before = talked.messages()
    fake_openai.script(Say("Anna is 41 and lives in **Ystad**."))
    summarise(talked, "/compact the names")
    expect(talked.notice).to_contain_text("4 messages summarised · about")
    expect(talked.composer).to_have_value("")
    row = talked.tab.locator(".place-move")
    expect(row.get_by_role("button", name="Summary of 4 messages", exact=True)).to_have_attribute(
        "title", "Summary of 4 messages"
    )
    card = talked.tab.locator("details.summary")
    expect(card.locator("summary")).to_contain_text("4 messages summarised")
    card.locator("summary").click()
    expect(card.locator("strong")).to_have_text("Ystad")
    card.get_by_role("button", name="Show the full text").click()
    expect(talked.dialog).to_contain_text("What about the harbour?")
    expect_accessible(talked, "the full text of a summary")
    talked.dialog.get_by_role("button", name="Branch from there").click()
    expect(talked.dialog).to_contain_text("From message 4")
    talked.confirm("Cancel")
    talked.undo()
    talked.expect_messages(4)
    assert talked.messages() == before


def test_nothing_happens_before_the_tokens_are_shown_and_confirmed(talked: Page, fake_openai: FakeOpenAI) -> None:
    requests = len(fake_openai.requests)
    command(talked, "/compact")
    expect(talked.dialog).to_contain_text(re.compile(r"About [\d,]+ tokens now, [\d,]+ afterwards\."))
    expect_accessible(talked, "the preview of a summary")
    talked.confirm("Cancel")
    talked.expect_messages(4)
    assert len(fake_openai.requests) == requests


def test_the_plot_of_tokens_shows_what_a_summary_saved(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("A frozen harbour, and Anna."), Say("41, as I said."))
    plot = talked.tab.get_by_role("img", name="The conversation uses about")
    talked.tab.get_by_text("Tokens over the conversation").click()
    expect(plot).to_have_accessible_name(re.compile(r"tokens after 4 messages\.$"))
    summarise(talked)
    expect(talked.notice).to_contain_text("4 messages summarised")
    talked.say("How old is she?")
    talked.save("Below another mark")
    talked.save("Short")
    expect(plot).to_have_accessible_name(re.compile(r"after 3 messages\. At message 1, about .* were reduced to \d+\."))
    expect_accessible(talked, "the plot of tokens")
    expect(talked.tab.locator(".growth-axis")).to_contain_text("(peak)")
    expect(talked.tab.locator(".growth-saving")).to_have_text(re.compile(r"^−\d+ tokens?$"))
    tokens = talked.checkpoint("Short").locator(".place-bar").get_attribute("title")
    expect(talked.tab.locator(".growth figcaption")).to_contain_text(f"message 3: {tokens} now")
    talked.tab.get_by_test_id("meter").click()
    expect(talked.tab.locator(".meter-panel")).to_contain_text(f"{str(tokens).split()[0]} of ")  # all three are the same
    talked.tab.keyboard.press("Escape")
    talked.tab.locator(".growth-mark").click()
    expect(talked.checkpoint("Short")).to_have_class(re.compile("selected"))
    expect(talked.tab.get_by_test_id("place-usage")).to_have_text(re.compile(r"So far [\d,.k]+ tokens in, \d+ tokens out"))


def test_a_message_offers_to_summarise_up_to_it(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("The harbour froze."))
    talked.button_of("What about the harbour?", "More").click()
    menu = talked.tab.get_by_role("menu", name="More")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    for _ in range(4):
        talked.tab.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Summarise up to here")).to_be_focused()
    talked.tab.keyboard.press("Enter")
    expect(talked.dialog).to_contain_text("One summary will replace 2 messages.")
    talked.confirm("Summarise")
    expect(talked.notice).to_contain_text("2 messages summarised")
    assert [message.text for message in talked.messages()][1] == "And Anna?"
    expect(menu).to_have_count(0)


def test_a_summary_that_is_stopped_says_so_and_what_was_typed_comes_back(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Fault("hang"))
    summarise(talked)
    expect(talked.stop_button).to_be_visible()
    command(talked, "What is next?")
    expect(talked.queued).to_contain_text("What is next?")
    talked.stop_button.click()
    expect(talked.log.get_by_text("Summarising was stopped. Nothing was changed.")).to_be_visible()
    expect(talked.composer).to_have_value("What is next?")
    expect(talked.tab.get_by_role("button", name="Retry")).to_have_count(0)
    talked.expect_messages(4)


@pytest.mark.parametrize("summarises", [True, False], ids=["a summary", "an answer"])
def test_what_was_queued_comes_back_after_stop_although_the_panels_know_only_the_answer_before(
    talked: Page, fake_openai: FakeOpenAI, summarises: bool
) -> None:
    def delay_stop(route: Route) -> None:
        if "stop" in (route.request.post_data or ""):
            stopped.append((route, route.fetch()))
        else:
            route.continue_()

    stopped = list[tuple[Route, APIResponse]]()
    fake_openai.script(Fault("hang"), Say("Nothing."))
    with panels_held_back(talked):
        if summarises:
            summarise(talked)
        else:
            command(talked, "And now?")
        expect(talked.stop_button).to_be_visible()
        command(talked, "What is next?")
        expect(talked.queued).to_contain_text("What is next?")
        talked.tab.route(SENDING, delay_stop)
        talked.stop_button.click()
        expect(talked.queued).to_have_count(0)
        expect(talked.composer).to_have_value("What is next?")
    while not stopped:  # the server's reply may be on its way
        talked.tab.wait_for_timeout(10)
    for route, reply in stopped:
        route.fulfill(response=reply)
    talked.tab.unroute(SENDING)
    talked.expect_messages(4 if summarises else 5)


def test_only_the_command_is_one(talked: Page, fake_openai: FakeOpenAI) -> None:
    talked.say("//compact")
    assert "//compact" in [message.text for message in talked.messages()]
    talked.new_conversation()
    talked.composer.fill("/com")
    expect(talked.tab.get_by_role("option")).to_contain_text("Summarise the conversation")
    command(talked, "/compact")
    expect(talked.tab.get_by_text("There is nothing to summarise yet.")).to_be_visible()


def test_the_menu_of_a_message_far_up_can_be_pressed(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say(LONG), Say("Anna asked for it."))
    talked.say("Go on")
    talked.button_of("What about the harbour?", "More").click()
    talked.tab.get_by_role("menuitem", name="Summarise from here").click()  # refused where something lies above it
    talked.confirm("Summarise")
    expect(talked.log).to_contain_text("Anna asked for it.")


def test_the_place_of_a_summary_is_restored_by_its_key(talked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Anna is 41."), Say("Nobody."))
    summarise(talked)
    expect(talked.notice).to_contain_text("4 messages summarised")
    left = len(talked.messages())
    talked.say("Who else?")
    talked.select(talked.tab.locator(".place-move"))
    talked.tab.keyboard.press("r")
    expect(talked.dialog).to_contain_text("Go back to “Summary”")
    expect(talked.dialog).to_contain_text("2 messages will be removed from the conversation.")
    talked.confirm("Restore")
    talked.expect_messages(left)
    expect(talked.tab.locator("details.summary")).to_be_visible()
