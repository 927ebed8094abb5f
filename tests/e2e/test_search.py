"""Finding anything: by keyboard alone, in any conversation, also what was left behind; and nothing found ever runs."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from checkpoints import Database, Store
from checkpoints.rows import search_index
from tests.checkpoints.conversations import new, talked
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_keys import palette
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PHONE: Any = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
HOSTILE = "<img src=x onerror=alert(1)><b>kingfisher</b><script>window.ran=1</script>[x](javascript:alert(2)) 🦜 \u202e"


@pytest.fixture(scope="module")
def filled_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose index is still to be made: a long conversation, one with a branch, and hostile texts."""
    folder = tmp_path_factory.mktemp("search")
    fill_database(folder / "data" / "waymark.db")
    server = Server(folder)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def fill_database(file: Path) -> None:
    database = Database.open_file(file)
    store = Store(database)
    long = store.create_thread(title="A long walk").id
    lines = [f"step {number}" for number in range(300)]
    lines[20] = "We saw an ocelot in the garden"
    store.append(long, new(*lines))
    left = talked(store, "Plan a trip", "Where to?", "A pangolin reserve", "Good.")
    store.restore(left, store.list_checkpoints(left)[0].id)
    store.rename_thread(left, "Trip")
    branched = talked(store, "Birds", "Which?")
    root = store.list_messages(branched)[-1].id
    main = store.get_thread(branched).branch_id
    store.fork(branched, root, name="Herons")
    store.append(branched, new(*(f"heron {number}" if number != 30 else "A lone bittern" for number in range(120))))
    store.fork(branched, root, name="All the herons that we saw on the long way home")
    store.append(branched, new("An egret, perhaps"))
    store.switch(branched, main)
    store.append(branched, new(*(f"gull {number}" for number in range(80))))
    store.append(store.create_thread(title="<i>Hostile</i>").id, new(HOSTILE, "no"))
    with database.begin_write() as connection:
        search_index.queue_everything(connection)
    database.close()


@pytest.fixture
def page(filled_server: Server, visit: Visit) -> Page:
    return visit(filled_server)


def search(page: Page, text: str, found: str) -> Locator:
    """Type into the palette, and return the line with what is to be found."""
    palette(page).fill(text)
    line = page.tab.get_by_role("option").filter(has_text=found)
    expect(line).to_have_count(1)
    return line


def test_a_message_of_another_conversation_is_opened_by_keyboard_alone(page: Page) -> None:
    line = search(page, '"an ocel', "We saw an ocelot in the garden")
    expect(line.locator("mark")).to_have_text("an ocelot")
    expect(page.tab.get_by_role("group", name="Messages found")).to_contain_text("A long walk")
    expect_accessible(page, "what was found")
    page.tab.keyboard.press("Enter")
    expect(page.tab.locator("article[data-place]")).to_contain_text("We saw an ocelot in the garden")
    expect(page.tab.locator("article[data-place]")).to_be_in_viewport()
    expect(page.tab.locator("#thread-title")).to_have_text("A long walk")
    expect(page.dialog).to_have_count(0)


def test_two_letters_of_a_word_say_that_a_third_is_missing(page: Page) -> None:
    box, hint = palette(page), page.tab.get_by_text("Type three letters to find words that begin with them.")
    box.fill("oc")
    expect(hint).to_be_visible()
    box.fill("oce")
    expect(page.tab.get_by_role("option").filter(has_text="We saw an ocelot in the garden")).to_have_count(1)
    expect(hint).to_have_count(0)
    box.fill("oce zzzz")
    expect(page.tab.get_by_text("No matches.")).to_be_visible()
    expect(hint).to_have_count(0)


def test_a_message_of_the_open_conversation_is_brought_into_view(page: Page) -> None:
    search(page, "ocelot", "We saw an ocelot in the garden").click()
    expect(page.tab.locator("article[data-place]")).to_be_in_viewport()
    search(page, "in:this step 299", "step 299")
    page.tab.keyboard.press("Enter")
    expect(page.tab.locator("article[data-place]")).to_contain_text("step 299")
    expect(page.tab.locator("article[data-place]")).to_be_in_viewport()


def test_what_was_left_behind_says_so_and_opens_where_it_left(page: Page) -> None:
    line = search(page, "pangolin", "A pangolin reserve")
    expect(line).to_contain_text("removed")
    page.tab.keyboard.press("Enter")
    expect(page.toast).to_contain_text("This message was removed.")
    expect(page.tab.locator("article[data-place]")).to_contain_text("Where to?")


def test_what_is_on_another_branch_is_opened_there_and_undo_comes_back(page: Page) -> None:
    line = search(page, "bittern", "A lone bittern")
    expect(line).to_contain_text("on branch “Herons”")
    page.tab.keyboard.press("Enter")
    expect(page.tab.locator("#thread-title")).to_have_text("Talk")
    expect(page.tab.locator("article[data-place]")).to_contain_text("A lone bittern")
    expect(page.tab.locator("article[data-place]")).to_be_in_viewport()
    expect(page.toast).to_contain_text("Switched to the branch “Herons”, which has this message.")
    page.toast.get_by_role("button", name="Undo").click()
    expect(page.tab.locator("#transcript")).to_contain_text("gull 79")


def test_a_checkpoint_is_found_by_its_name(page: Page) -> None:
    search(page, "role:checkpoint where", "after Where to?")
    expect(page.tab.get_by_role("group", name="Checkpoints found")).to_contain_text("Trip")
    page.tab.keyboard.press("Enter")
    expect(page.tab.locator("article[data-place]")).to_contain_text("Where to?")


def test_a_search_is_narrowed_by_author_time_and_contents(page: Page) -> None:
    for narrowed in ("role:user ocelot", "ocelot after:2020-01-01", "in:this ocelot -tiger"):
        if narrowed.startswith("in:"):
            page.threads.filter(has_text="A long walk").click()
            expect(page.log).to_contain_text("step 299")
        search(page, narrowed, "We saw an ocelot in the garden")
        page.tab.keyboard.press("Escape")
        expect(page.dialog).to_have_count(0)
    for narrowed in ("role:assistant ocelot", "ocelot has:code", "ocelot before:2020-01-01", "ocelot tag:none"):
        palette(page).fill(narrowed)
        expect(page.dialog).to_contain_text("No matches.")
        page.tab.keyboard.press("Escape")
        expect(page.dialog).to_have_count(0)


def test_nothing_in_a_query_or_a_snippet_runs(page: Page) -> None:
    line = search(page, "kingfisher", "kingfisher")
    expect(line).to_contain_text("<img src=x onerror=alert(1)><b>kingfisher</b><script>window.ran=1</script>")
    expect(line.locator("mark")).to_have_text("kingfisher")
    assert page.tab.locator(".palette-hit :is(img, script, b, a)").count() == 0
    for text in ("</script> missing", '" OR 1=1 --', "'; DROP TABLE message; --", "zz & | ! <->", "in:<b>x</b> y"):
        page.tab.get_by_role("combobox").fill(text)
        expect(page.dialog).to_contain_text("No matches.")
    assert page.tab.evaluate("window.ran") is None


def test_what_is_found_can_be_read_on_a_phone_in_the_dark(filled_server: Server, visit: Visit) -> None:
    page = visit(filled_server, color_scheme="dark", **PHONE)
    line = search(page, "ocelot", "We saw an ocelot in the garden")
    expect_accessible(page, "what was found on a phone in the dark")
    box = line.bounding_box()
    assert box is not None
    assert (box["x"] >= 0, box["x"] + box["width"] <= 390) == (True, True)
    line.tap()
    expect(page.tab.locator("article[data-place]")).to_be_in_viewport()


def test_the_field_at_the_list_finds_titles_and_messages(page: Page) -> None:
    field = page.tab.get_by_role("searchbox", name="Search conversations and messages")
    field.fill("walk")
    expect(page.tab.get_by_test_id("thread")).to_have_text([re.compile("A long walk")])
    expect(page.tab.locator(".threads")).to_contain_text("No message matches.")
    field.fill("ocelot")
    expect(page.tab.get_by_test_id("thread")).to_have_count(0)
    hit = (
        page.tab.get_by_role("region", name="List of conversations")
        .get_by_role("button")
        .filter(has_text="We saw an ocelot")
    )
    expect(hit.locator("mark")).to_have_text("ocelot")
    expect_accessible(page, "what the field at the list found")
    hit.press("Enter")
    expect(page.tab.locator("article[data-place]")).to_be_in_viewport()
    field.press("Escape")
    expect(field).to_have_value("")
    expect(page.tab.get_by_test_id("thread")).to_have_count(4)


def test_the_branch_of_what_was_found_fits_where_it_is_listed(page: Page) -> None:
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill("egret")
    row = page.tab.get_by_role("region", name="In messages").get_by_role("button")
    expect_within(row.locator(".hit-facts", has_text="way home”"), row)
    row = search(page, "egret", "An egret, perhaps")
    expect_within(row.locator(".hit-facts", has_text="way home”"), row)
    expect_within(row.locator(".hit-title"), row)


def test_a_match_in_the_list_is_as_wide_as_a_phone_lets_it_be(filled_server: Server, visit: Visit) -> None:
    page = visit(filled_server, **PHONE)
    page.tab.get_by_role("button", name="Conversations", exact=True).click()
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill("ocelot")
    row = page.tab.get_by_role("region", name="In messages").get_by_role("button")
    expect(row).to_be_visible()
    left, right = row.evaluate(
        "e => { const { paddingLeft, paddingRight } = getComputedStyle(e); return [paddingLeft, paddingRight]; }"
    )
    assert left == right  # no room is kept for buttons, which a match has not


def expect_within(part: Locator, whole: Locator) -> None:
    """Expect an element that has a width, and ends before its line does."""
    expect(part).to_be_visible()
    boxes = [each.bounding_box() for each in (part, whole)]
    inner, outer = (box or pytest.fail("it has no box") for box in boxes)
    assert inner["width"] > 20
    assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]
