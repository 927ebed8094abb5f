"""Lists, empty and long, by keyboard alone, with axe in each state: usage, audit log, sessions, people, prompts and tags."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser import PATIENCE_MS
from tests.e2e import office
from tests.e2e.conftest import WIDE
from tests.e2e.keyboard import Keyboard
from tests.e2e.server import TIPS, Server
from tests.e2e.test_accessibility import NARROW
from tests.e2e.test_accessible_states import look_at
from tests.e2e.test_keyboard_alone import button
from tests.e2e.test_keyboard_people import menu, sign_in
from tests.e2e.test_prompts import prompts
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
READ_CUT = """dialog => [...dialog.querySelectorAll("*")].filter((each) =>
  each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === "hidden"
    && !each.closest(".quiet, .visually-hidden, svg, [title]")).map((each) => each.textContent)"""
IS_SEEN = """element => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [y + 3, y + height - 3].every((edge) => element.contains(document.elementFromPoint(x + width / 2, edge)));
}"""
IS_RIGHT_TO_LEFT = "element => element.matches(':dir(rtl)')"


class Enter(Protocol):
    """Opens the page of a person, in a browser of their own."""

    def __call__(self, name: str, **options: Any) -> Page: ...


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on which eight people have worked."""
    folder = tmp_path_factory.mktemp("office")
    office.fill(folder / "data" / "waymark.db")
    (folder / "waymark.toml").write_text(office.PRICES)
    server = Server(folder, auth="password")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture
def enter(server: Server, browser: Browser) -> Iterator[Enter]:
    with ExitStack() as stack:

        def enter(name: str, **options: Any) -> Page:
            context = stack.enter_context(browser.new_context(viewport=WIDE, **options))
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
            page = Page(context.new_page(), server)
            page.tab.goto(server.origin)
            sign_in(page, name)
            page.wait_until_ready()
            return page

        yield enter


def look_at_whole(page: Page, state: str) -> None:
    """Look at a state with axe. In its dialog no name is cut off, wide or narrow."""
    look_at(page, state)
    for size in (NARROW, WIDE):
        page.tab.set_viewport_size(size)  # type: ignore[arg-type]
        assert page.dialog.evaluate(READ_CUT) == [], f"{state} at {size['width']} px"


def open_by_command(page: Page, command: str) -> Keyboard:
    keys = Keyboard(page)
    keys.write(command)
    page.dialog.wait_for()
    return keys


def scroll_by_keys(page: Page, part: Locator) -> None:
    """Scroll a part that is wider than its place by the keyboard."""
    Keyboard(page).press(part, "ArrowRight")
    page.tab.wait_for_function("part => part.scrollLeft > 0", arg=part.element_handle())


def test_the_usage_of_people_is_read_by_person_and_period(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys = Keyboard(page)
    keys.choose_in_bar("Usage")
    lines = page.dialog.get_by_test_id("person-usage")
    expect(lines).to_have_count(len(office.OTHERS) + 1)
    expect(lines.filter(has_text=office.LONG_NAME)).to_contain_text("514M")
    expect(lines.filter(has_text="d.okonkwo")).to_contain_text("62M")
    look_at_whole(page, "the usage of many people")
    expect(lines.first.locator("td").first).to_have_css("background-color", "rgba(0, 0, 0, 0)")  # the dialog's own
    page.tab.set_viewport_size(NARROW)  # type: ignore[arg-type]
    assert page.dialog.locator("thead").evaluate("head => head.clientHeight < 60")  # its words are whole
    table = page.dialog.get_by_role("region", name="Usage")
    expect(table).to_have_css("background-image", re.compile("gradient.*gradient"))  # the edge says that it goes on
    scroll_by_keys(page, table)
    expect(lines.first.get_by_role("rowheader")).to_be_in_viewport(ratio=1)
    page.tab.set_viewport_size(WIDE)
    keys.go(page.dialog.get_by_role("radio", name="30 days"))
    keys.key("ArrowLeft")
    keys.key("ArrowLeft")
    expect(page.dialog.get_by_role("radio", name="Today")).to_be_checked()
    look_at_whole(page, "a day on which nobody asked")
    keys.close_dialog(menu(page))


def test_a_person_reads_the_own_usage(enter: Enter) -> None:
    for name, state in ((office.MEMBER, "no usage"), (office.LONG_NAME, "the own usage")):
        page = enter(name)
        keys = Keyboard(page)
        keys.choose_in_bar("Usage")
        expect(page.dialog).to_contain_text("Days are UTC")
        look_at_whole(page, state)
        page.tab.set_viewport_size(NARROW)  # type: ignore[arg-type]
        assert page.dialog.locator(".usage-table").evaluate_all("all => all.every((e) => e.scrollWidth <= e.clientWidth)")
        page.tab.set_viewport_size(WIDE)
        keys.close_dialog(menu(page))


def test_the_audit_log_is_read_to_its_end_and_filtered(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys, entries = Keyboard(page), page.dialog.get_by_test_id("audit-entry")
    keys.choose_in_bar("Audit log")
    expect(entries).to_have_count(100)
    look_at_whole(page, "a portion of the audit log")
    assert not entries.filter(has_text=office.HEBREW).first.locator("p").first.evaluate(IS_RIGHT_TO_LEFT)
    keys.press(button(page.dialog, "Show more"))
    expect(button(page.dialog, "Show more")).to_have_count(0)
    expect(page.dialog.locator(":focus")).to_have_count(1)
    look_at_whole(page, "the whole audit log")
    kind = page.dialog.get_by_label("Kind")
    keys.go(kind)
    keys.type("Links m")
    expect(page.dialog).to_contain_text("No entries.")
    expect(kind).to_be_focused()
    look_at_whole(page, "an audit log without such an entry")
    keys.close_dialog(menu(page))


def test_sessions_of_several_browsers_are_seen_and_ended(enter: Enter) -> None:
    page = enter("Carol Ng")
    for _ in range(2):
        enter("Carol Ng", user_agent=FIREFOX)
    keys, lines = Keyboard(page), page.dialog.get_by_test_id("session")
    keys.choose_in_bar("Sessions")
    expect(lines).to_have_count(3)
    look_at_whole(page, "three sessions")
    keys.press(page.dialog.get_by_role("button", name="End Firefox on Windows").first)
    expect(lines).to_have_count(2)
    expect(page.dialog.locator(":focus")).to_have_count(1)
    keys.press(button(page.dialog, "Sign all others out"))
    expect(lines).to_have_count(1)
    expect(page.dialog.locator(":focus")).to_have_count(1)
    look_at_whole(page, "one session")
    keys.close_dialog(menu(page))


def test_many_people_have_their_buttons_in_one_line(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys, lines = Keyboard(page), page.dialog.get_by_test_id("person")
    keys.choose_in_bar("People")
    expect(lines).to_have_count(len(office.OTHERS) + 2)
    look_at_whole(page, "many people")
    page.tab.set_viewport_size(NARROW)  # type: ignore[arg-type]
    expect(lines.filter(has_text=office.HEBREW).locator("p").first).to_have_css("text-align", "left")  # as what is below it
    tops = {box["y"] for each in lines.first.locator("select, button").all() if (box := each.bounding_box())}
    assert len(tops) == 1
    page.tab.set_viewport_size(WIDE)
    keys.close_dialog(menu(page))


def test_a_library_of_prompts_begins_empty_and_grows(enter: Enter) -> None:
    page = enter("Carol Ng")
    keys = open_by_command(page, "/prompts")
    expect(page.dialog).to_contain_text("No prompts yet.")
    expect(button(page.dialog, "New prompt")).to_be_focused()
    look_at_whole(page, "an empty library of prompts")
    keys.close_dialog(page.composer)


def test_a_long_library_shows_what_was_deleted(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys = open_by_command(page, "/prompts")
    expect(prompts(page)).to_have_count(len(office.PROMPTS))
    look_at_whole(page, "a long library of prompts")
    keys.press(button(page.dialog, f"Delete {office.LONG_PROMPT}"))
    undo = button(page.dialog, "Undo")
    expect(undo).to_be_in_viewport(ratio=1)
    look_at_whole(page, "a prompt that was deleted")
    expect_focus_seen(page)
    page.tab.route("**/_dash-update-component*", lambda route: route.fulfill(status=503, body="Not now.\n"))
    keys.press(undo)
    expect(page.dialog.get_by_role("alert")).to_be_in_viewport(ratio=1)
    look_at_whole(page, "a prompt that could not be brought back")
    expect_focus_seen(page)
    page.tab.unroute_all()
    keys.press(undo)
    expect(prompts(page)).to_have_count(len(office.PROMPTS))
    keys.close_dialog(page.composer)


def expect_focus_seen(page: Page) -> None:
    """Go once through the dialog, to its end and back: what stays in view never lies over what has the focus."""
    for key in ("Tab", "Shift+Tab"):
        for _ in range(page.dialog.get_by_role("button").count()):
            page.tab.keyboard.press(key)
            focused = page.dialog.locator("button:focus")
            assert focused.count() == 0 or focused.evaluate(IS_SEEN), focused.text_content()


def test_many_tags_are_shown_renamed_and_removed(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys, tags, opener = Keyboard(page), page.dialog.get_by_test_id("tag"), button(page, "Tags")
    keys.press(opener)
    expect(tags).to_have_count(len(office.MANY_TAGS))
    look_at_whole(page, "many tags")
    name = tags.filter(has=button(page, "Show to do")).get_by_label("Name of the tag")
    keys.replace(name, "Travel")  # there is such a tag
    keys.key("Enter")
    expect(page.dialog.get_by_role("alert")).to_contain_text("There is a tag “Travel” already.")
    expect(name).to_have_value("to do")
    look_at_whole(page, "a tag that is not renamed")
    keys.replace(name, "done")
    keys.key("Enter")
    renamed = tags.filter(has=button(page, "Show done")).get_by_label("Name of the tag")
    expect(renamed).to_be_focused()
    expect(page.dialog.get_by_role("alert")).to_be_hidden()
    keys.press(button(page.dialog, "Remove done"))
    expect(page.dialog).to_contain_text("“done” was removed.")
    undo = button(page.dialog, "Undo")
    expect(undo).to_be_in_viewport(ratio=1)
    look_at_whole(page, "a tag that was removed")
    expect_focus_seen(page)
    keys.press(undo)
    expect(tags).to_have_count(len(office.MANY_TAGS))
    keys.close_dialog(opener)


def test_a_list_is_filtered_by_a_tag_and_again_shows_all(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys, chip = Keyboard(page), page.tab.get_by_role("button", name="Tag Q3 2026: show all conversations")
    keys.press(button(page, "Tags"))
    keys.press(button(page.dialog, "Show Q3 2026"))
    expect(page.threads).to_have_count(1)
    keys.expect_focus()
    page.tab.set_viewport_size(NARROW)  # type: ignore[arg-type]
    button(page, "Conversations").click()
    expect(chip).to_be_in_viewport()
    look_at(page, "a list that is filtered by a tag")
    page.tab.set_viewport_size(WIDE)
    keys.press(chip)
    expect(page.threads).to_have_count(4)
    keys.expect_focus()


def test_a_conversation_of_twenty_tags_takes_no_more(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys = Keyboard(page)
    keys.press(page.threads.filter(has_text=office.TITLE[:12]))
    expect(page.log).to_contain_text(office.TITLE)
    keys = open_by_command(page, "/tag")
    expect(page.dialog.locator("[aria-pressed=true]")).to_have_count(len(office.MANY_TAGS))
    keys.type("one more")
    keys.key("Enter")
    expect(page.dialog.get_by_role("alert")).to_contain_text("at most 20 tags")
    look_at_whole(page, "a conversation of too many tags")
    keys.close_dialog(page.composer)


def test_a_long_history_of_changes_is_read(enter: Enter) -> None:
    page = enter(office.ADMIN)
    keys = Keyboard(page)
    keys.press(page.threads.filter(has_text=office.TITLE[:12]))
    expect(page.log).to_contain_text(office.TITLE)
    keys.choose_in_bar("Change log")
    expect(page.dialog.get_by_test_id("change").first).to_be_visible()
    look_at_whole(page, "a long history of changes")
    keys.close_dialog(menu(page))
