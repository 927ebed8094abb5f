"""What the judge saved, beside what people saved, and going from place to place: seen, and nothing moves."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from checkpoints import Database, Runs, RunState, Store
from tests.checkpoints.conversations import new
from tests.e2e.conftest import Visit, _running
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SUM = "What is 6 * 7?"


@pytest.fixture(scope="module")
def judging_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("judging")
    talk_for_long(folder / "data" / "waymark.db")
    yield from _running(Server(folder, judge="on"))


def talk_for_long(file: Path) -> None:
    """A conversation of 600 messages, with a milestone near its beginning and a checkpoint near its end."""
    database = Database.open_file(file)
    store = Store(database)
    runs, thread_id = Runs(store), store.create_thread(title="A long talk").id
    lines = [text for number in range(300) for text in (f"Question {number}", f"Answer {number}.")]
    store.append(thread_id, new(*lines[:592]))
    store.save(thread_id, name="Mine")
    run = runs.begin_run(thread_id, new(*lines[592:])[0])
    runs.end_run(run, RunState.DONE, last_messages=new(*lines[592:])[1:])
    runs.save_milestone(run, store.list_messages(thread_id)[41].id, "Early <b>verdict</b>", "It is settled.")
    database.close()


@pytest.fixture
def page(judging_server: Server, visit: Visit) -> Page:
    return visit(judging_server)


def marked(page: Page) -> Locator:
    """The message that is shown as a place."""
    return page.tab.locator("[data-place]")


def look_of(message: Locator) -> tuple[str, bool]:
    """The background of a message, and whether it has a bar of its own at the left."""
    look = "e => { const { backgroundColor, boxShadow } = getComputedStyle(e); return [backgroundColor, boxShadow]; }"
    background, shadow = message.evaluate(look)
    return background, "-11.5px 0px 0px 0px" in shadow


def row(page: Page, name: str) -> Locator:
    return page.tab.locator(".place").get_by_role("button", name=name, exact=True)


def test_a_milestone_appears_after_a_turn_and_undo_takes_back_the_restore(page: Page) -> None:
    page.say("Hello")
    page.save("Mine")
    page.say(SUM)
    page.expect_checkpoints(("Mine", 2), (SUM, 6))
    milestone = page.checkpoint(SUM)
    expect(milestone).to_contain_text("Milestone")
    expect(milestone).to_have_class(re.compile("milestone"))
    expect(page.checkpoint("Mine")).not_to_have_class(re.compile("milestone"))
    page.tab.get_by_role("button", name="Judge", exact=True).click()
    page.expect_checkpoints((SUM, 6))
    page.tab.get_by_role("button", name="Judge", exact=True).click()
    page.restore("Mine")
    page.undo()
    page.expect_checkpoints(("Mine", 2), (SUM, 6))
    assert "Saved checkpoint " + SUM in page.log_lines()
    expect_accessible(page, "a milestone")


def test_the_judge_is_named_before_the_length_of_the_branch_that_ends_there(page: Page) -> None:
    page.say("Hello")
    page.say(SUM)
    expect(page.checkpoint(SUM)).to_be_visible()
    page.ask_to_branch(SUM)
    page.confirm("Branch")
    end = page.place(SUM)
    expect(end).to_contain_text("6 messages")
    page.tab.locator(".graph-area").evaluate("e => e.style.setProperty('--graph-width', '60px')")
    for text in ("Judge", "main"):
        assert end.get_by_text(text, exact=True).evaluate("e => e.scrollWidth <= e.clientWidth")


def test_the_keys_go_from_place_to_place_and_nothing_moves(page: Page) -> None:
    page.say("Hello")
    page.save("One")
    page.say("Hello again")
    page.save("Two")
    page.say("And again")
    expect(page.checkpoint("Two")).not_to_have_attribute("aria-current", "location")  # the history has read the answer
    page.tab.keyboard.press("Alt+ArrowUp")
    expect(page.checkpoint("Two").get_by_role("button")).to_be_focused()
    page.tab.keyboard.press("Alt+ArrowUp")
    expect(row(page, "One")).to_have_attribute("aria-pressed", "true")
    page.tab.keyboard.press("Alt+ArrowUp")  # there is none before
    expect(row(page, "One")).to_have_attribute("aria-pressed", "true")
    first = page.tab.locator('article[data-role="assistant"]').first
    expect(first).to_have_attribute("data-place", "")
    first.evaluate("e => Promise.all(e.getAnimations().map(each => each.finished))")
    assert look_of(first) == ("rgba(0, 0, 0, 0)", True)  # a bar stays, and the tint has gone
    page.tab.keyboard.press("Alt+ArrowDown")
    assert marked(page).evaluate("e => e.getAnimations().length") == 1
    assert look_of(marked(page)) != ("rgba(0, 0, 0, 0)", True)
    page.tab.emulate_media(reduced_motion="reduce")
    page.tab.keyboard.press("Alt+ArrowUp")
    expect(first).to_have_attribute("data-place", "")
    assert first.evaluate("e => e.getAnimations().length") == 0
    assert look_of(first) == ("rgba(0, 0, 0, 0)", True)
    page.expect_messages(6)
    assert page.tab.evaluate("document.querySelector('.topbar').getBoundingClientRect().top") == 0  # only the log scrolled
    page.tab.keyboard.press("Alt+ArrowDown")
    page.tab.keyboard.press("r")
    expect(page.dialog).to_contain_text("Go back to “Two” (4 messages)")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.tab.keyboard.press("Escape")
    expect(page.tab.locator(".modal")).to_have_count(0)
    page.composer.fill("typed")
    page.composer.press("Alt+ArrowUp")  # there it moves the caret
    expect(page.composer).to_be_focused()
    page.composer.fill("")
    page.tab.keyboard.press("Alt+ArrowDown")
    expect(marked(page)).to_have_count(0)
    page.expect_messages(6)


def test_a_place_far_from_the_end_is_fetched_with_what_stands_around_it(page: Page) -> None:
    page.threads.filter(has_text="A long talk").click()
    expect(page.message("Answer 299.")).to_be_visible()
    row(page, "Early <b>verdict</b>").click()
    expect(marked(page)).to_contain_text("Answer 20.")
    expect(marked(page)).to_be_in_viewport()
    expect(page.message("Answer 299.")).to_have_count(0)
    page.tab.get_by_role("button", name="Later messages").click()
    expect(page.message("Answer 50.")).to_have_count(1)
    expect(marked(page)).to_contain_text("Answer 20.")
    row(page, "Mine").click()
    expect(marked(page)).to_contain_text("Answer 295.")
    expect(marked(page)).to_be_in_viewport()
    row(page, "Early <b>verdict</b>").click()
    expect(marked(page)).to_contain_text("Answer 20.")
    page.composer.fill("And now?")  # what is new stands at the end, and that is where it is seen
    page.composer.press("Enter")
    expect(page.message("And now?").first).to_be_in_viewport()  # the demo repeats the question
    expect(page.message("Answer 20.")).to_have_count(0)


def test_on_a_phone_going_to_a_place_closes_the_sheet(judging_server: Server, visit: Visit) -> None:
    page = visit(judging_server, viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce")
    page.say("Hello")
    page.tab.get_by_role("button", name="History", exact=True).click()
    page.save("One")
    page.tab.get_by_role("button", name="History", exact=True).click()  # a save closes the sheet
    expect_accessible(page, "steps on a phone")
    page.press("One", "Show One")
    expect(page.tab.get_by_role("complementary", name="History")).not_to_be_in_viewport()
    expect(marked(page)).to_be_in_viewport()
