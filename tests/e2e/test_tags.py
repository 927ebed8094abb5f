"""Tags of conversations: given by typing, filtered by, found, renamed and removed, each undoably; always text."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.test_conversations import choose, row
from tests.e2e.waymark import Page
from tests.hostile_texts import TAGS

pytestmark = pytest.mark.e2e


def field(page: Page) -> Locator:
    return page.tab.get_by_role("combobox", name="Find or add a tag")


def type_tag(page: Page, text: str) -> None:
    """Type into the field of the dialog, and press Enter."""
    expect(field(page)).to_be_focused()
    page.tab.keyboard.type(text)
    page.tab.keyboard.press("Enter")
    expect(field(page)).to_have_value("")


def choice(page: Page, name: str) -> Locator:
    return page.dialog.get_by_role("group", name="Tags").get_by_role("button", name=name, exact=True)


def close_tags(page: Page) -> None:
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)


def undo(page: Page) -> None:
    page.toast.get_by_role("button", name="Undo").click()


@pytest.mark.slow
def test_conversations_are_tagged_filtered_and_found_by_keyboard(server: Server, visit: Visit) -> None:
    page = visit(server)
    for text in ("Bread", "Taxes", "Cake"):
        page.new_conversation()
        page.say(text)
    choose(page, "Bread", "Tags")
    type_tag(page, "Kitchen")
    type_tag(page, "to do")
    expect(choice(page, "to do")).to_have_attribute("aria-pressed", "true")
    expect_accessible(page, "the tags of a conversation")
    close_tags(page)
    expect(row(page, "Bread")).to_contain_text("Kitchen+1")
    expect(page.toast).to_contain_text("Added the tag to do")
    page.composer.fill("/tag")
    page.composer.press("Enter")
    expect(page.dialog).to_contain_text("Tags of “Cake”")
    choice(page, "Kitchen").press("Enter")
    expect(choice(page, "Kitchen")).to_have_attribute("aria-pressed", "true")
    expect(choice(page, "Kitchen")).to_be_focused()
    close_tags(page)
    expect(row(page, "Cake")).to_contain_text("Kitchen")
    page.composer.fill("/tagged kit")
    page.composer.press("Enter")
    chip = page.tab.get_by_role("button", name="Tag Kitchen: show all conversations")
    expect(page.threads).to_contain_text(["Cake", "Bread"])
    expect(page.threads).to_have_count(2)
    expect(page.threads.locator(".thread-tag")).to_have_text(["to do"])  # the chip says the tag that all of them have
    expect(row(page, "Cake").locator(".thread-tags")).to_have_count(0)
    expect_accessible(page, "a filtered list")
    chip.press("Enter")
    expect(page.threads).to_have_count(3)
    search = page.tab.get_by_role("searchbox", name="Search conversations and messages")
    search.fill('tag:"to do"')
    expect(page.threads).to_have_count(1)
    expect(page.tab.get_by_role("region", name="In messages")).to_contain_text("Bread")
    search.fill("")
    expect(page.threads).to_have_count(3)
    choose(page, "Bread", "Tags")
    choice(page, "Kitchen").click()  # the second time takes it away
    expect(choice(page, "Kitchen")).to_have_attribute("aria-pressed", "false")
    close_tags(page)
    expect(row(page, "Bread").locator(".thread-tag")).to_have_text("to do")
    undo(page)
    expect(row(page, "Bread")).to_contain_text("+1")


IS_CUT = "element => element.scrollWidth > element.clientWidth"


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, NARROW])
def test_a_tag_gives_way_before_the_title_of_its_conversation(size: dict[str, int], server: Server, visit: Visit) -> None:
    page = visit(server, viewport={"width": 1440, "height": 900})
    page.say("Bread for us")
    page.composer.fill(f"/tag {'W' * 50}")
    page.composer.press("Enter")
    tag = page.tab.locator(".thread-tag")
    expect(tag).to_be_visible()
    page.tab.set_viewport_size(size)  # type: ignore[arg-type]
    if size == NARROW:
        page.tab.get_by_role("button", name="Conversations").first.click()
    assert tag.evaluate(IS_CUT)
    assert not page.tab.locator(".thread-title").evaluate(IS_CUT)
    page.threads.dblclick()
    page.tab.get_by_label("Title of the conversation").fill("Bread for all of us, and for those who come after us")
    page.tab.keyboard.press("Enter")
    expect(page.tab.locator(".thread-title")).to_contain_text("after us")
    title, given_way = page.tab.locator(".thread-title").bounding_box(), tag.bounding_box()
    assert title is not None
    assert given_way is not None
    assert title["width"] > 4 * given_way["width"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, NARROW])
def test_several_are_tagged_and_a_tag_is_renamed_and_removed_with_undo(
    size: dict[str, int], server: Server, visit: Visit
) -> None:
    page = visit(server, viewport={"width": 1440, "height": 900})
    for text in ("Bread", "Taxes", "Cake"):
        page.new_conversation()
        page.say(text)
    page.tab.set_viewport_size(size)  # type: ignore[arg-type]
    if size == NARROW:
        page.tab.get_by_role("button", name="Conversations").first.click()
    page.tab.get_by_role("button", name="Select", exact=True).click()
    page.tab.keyboard.press("Control+a")
    bar = page.tab.get_by_role("toolbar", name="Selected conversations")
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="Tags").click()
    type_tag(page, TAGS[0][:40])
    close_tags(page)
    expect(page.toast).to_contain_text("Changed the tags of 3 conversations")
    expect(page.tab.locator(".thread-tag")).to_have_text([TAGS[0][:40].replace('"', "'")] * 3)
    page.tab.get_by_role("button", name="Done").click()
    page.toast.get_by_role("button", name="close").click()  # it covers the foot of a narrow page
    page.tab.get_by_role("button", name="Tags", exact=True).click()
    expect(page.tab.get_by_test_id("tag")).to_contain_text("3 conversations")
    name = page.tab.get_by_label("Name of the tag")
    name.fill("Wood")
    page.tab.keyboard.press("Escape")  # it was not meant
    expect(page.dialog).to_have_count(0)
    page.tab.get_by_role("button", name="Tags", exact=True).click()
    expect(name).to_have_value(TAGS[0][:40].replace('"', "'"))
    name.fill("Food")
    page.tab.keyboard.press("Enter")
    expect(page.dialog).to_contain_text("is now “Food”")
    expect(page.tab.locator(".thread-tag")).to_have_text(["Food"] * 3)
    expect_accessible(page, "all tags")
    page.tab.keyboard.press("Escape")  # the dialog keeps the way back
    expect(page.dialog).to_have_count(0)
    page.tab.get_by_role("button", name="Tags", exact=True).click()
    expect(page.dialog).to_contain_text("is now “Food”")
    page.dialog.get_by_role("button", name="Remove").click()
    expect(page.dialog).to_contain_text("“Food” was removed.")
    expect(page.tab.locator(".thread-tag")).to_have_count(0)
    page.dialog.get_by_role("button", name="Undo").click()
    expect(page.tab.locator(".thread-tag")).to_have_count(3)
    page.dialog.get_by_role("button", name="Show Food").click()
    expect(page.tab.get_by_role("button", name="Tag Food: show all conversations")).to_be_visible()
    expect(page.threads).to_have_count(3)
