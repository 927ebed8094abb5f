"""axe-core looks at what a person seldom sees: tips, an outage, people, the forms and values of a graph, long results."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.agent.guests.test_inputs import TRIP
from tests.e2e import test_password
from tests.e2e.conftest import WIDE, Start, Visit
from tests.e2e.test_accessibility import ANY_IMPACT, NARROW, expect_accessible_in_all_schemes
from tests.e2e.test_guest_questions import ASKING
from tests.e2e.test_guests import question, write_graph
from tests.e2e.test_password import NewPage, invite, join, line_of
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
new_page = test_password.new_page  # the fixture


def look_at(page: Page, state: str) -> None:
    """Look at one state, wide and narrow, in each scheme."""
    sizes: tuple[Any, ...] = (NARROW, WIDE)
    for size in sizes:
        page.tab.set_viewport_size(size)
        expect_accessible_in_all_schemes(page, f"{state} at {size['width']} px", ANY_IMPACT)


def test_tips_and_an_outage(start: Start, visit: Visit) -> None:
    server = start()
    page = visit(server, is_newcomer=True)
    look_at(page, "the first run")
    page.say("Hello")
    look_at(page, "three tips")
    page.expect_lost_server()
    server.stop()
    expect(page.tab.get_by_test_id("trouble")).to_be_visible()
    look_at(page, "an outage")
    page.composer.fill("Are you there?")
    page.composer.press("Enter")
    expect(page.tab.locator(".composer-problem")).to_be_visible()
    look_at(page, "a message in an outage")


def test_people_and_those_in_a_conversation(new_page: NewPage) -> None:
    ann, bob = new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    join(bob, invite(ann, "Member"), "bob")
    ann.say("Hello")
    ann.press_in_menu("Share…")
    ann.dialog.get_by_label("Name", exact=True).fill("bob")
    ann.dialog.get_by_role("button", name="Let in").click()
    expect(ann.dialog.get_by_test_id("member")).to_have_count(1)
    ann.dialog.get_by_role("button", name="Make a link").click()
    expect(ann.dialog.get_by_test_id("share-link")).to_have_count(1)
    look_at(ann, "sharing with people and by a link")
    ann.confirm("Close")
    ann.press_in_menu("People")
    ann.dialog.get_by_role("button", name="Make a link").click()
    expect(ann.dialog.get_by_test_id("person-link")).to_have_count(1)
    look_at(ann, "people")
    line_of(ann, "bob").get_by_role("button", name="Erase").click()
    expect(ann.dialog).to_contain_text("nothing yet")
    look_at(ann, "the erasure of a person")
    for _ in range(2):  # back to the people, and to the conversation
        ann.dialog.get_by_role("button", name="Close", exact=True).click()
    expect(ann.dialog).to_have_count(0)
    ann.press_in_menu("Password")
    ann.dialog.wait_for()
    look_at(ann, "the change of a password")


def test_questions_and_values_of_a_graph(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    for text in ("form", "calls", "two"):
        page.open()
        page.send(text)
        expect(question(page).first).to_be_visible()
        look_at(page, f"the question {text!r}")
    page.open()
    page.say("hello")
    page.save("Greeted")
    page.say("again")
    page.open_card_menu(page.checkpoint("Greeted")).get_by_test_id("state").click()
    page.dialog.get_by_test_id("channel").first.locator("summary").click()
    look_at(page, "values of a graph")


def test_the_form_of_a_graph(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TRIP)))
    expect(page.tab.get_by_role("form", name="Inputs of the graph")).to_be_visible()
    look_at(page, "the inputs of a graph")


def test_a_long_call_that_a_tool_refuses(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings))
    expression = "+".join(["1"] * 3000)
    fake_openai.script(Call("calculator", {"expression": expression}, text="Let me see."), Say("Many."))
    page.say("How many?")
    page.tab.locator("details.tool summary").click()
    expect(page.tab.locator("details.tool")).to_contain_text("At most 200 characters.")
    look_at(page, "a long tool call")
