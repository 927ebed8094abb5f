"""The frame of the page: its bar, side panes that fold and resize, ways without a mouse, and its font."""

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import WIDE, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
SMALL: Any = {"width": 1024, "height": 768}
FRAMES = """() => {
  window.frames_seen = [];
  const note = () => {
    const pane = document.querySelector(".pane-threads");
    if (pane) window.frames_seen.push(Math.round(pane.getBoundingClientRect().width));
    requestAnimationFrame(note);
  };
  note();
}"""
NEXT_FRAME = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"
SEES_FONT = """() => [...document.fonts]
  .filter(font => font.status === "loaded" && font.family === "Inter")
  .map(font => font.unicodeRange.slice(0, 6))"""
RING_OUTSIDE = """element => {
  const { outlineOffset, outlineWidth } = getComputedStyle(element);
  return parseFloat(outlineOffset) + parseFloat(outlineWidth);
}"""
CONTRAST = """element => {
  const [red, green, blue] = getComputedStyle(element).borderTopColor.match(/\\d+/g).map(part => part / 255);
  const linear = part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  return 1.05 / (0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue) + 0.05);
}"""


def threads_pane(page: Page) -> Locator:
    return page.tab.get_by_role("navigation", name="Conversations")


def history_pane(page: Page) -> Locator:
    return page.tab.get_by_role("complementary", name="History")


def measure(part: Locator) -> dict[str, float]:
    box = part.bounding_box()
    assert box
    return dict(box)


@pytest.mark.slow
def test_a_pane_folds_by_key_and_button_and_stays_folded_without_a_flash(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    button = page.tab.get_by_role("button", name="Conversations", exact=True)
    expect(button).to_have_attribute("aria-expanded", "true")
    page.tab.keyboard.press("Control+b")
    expect(threads_pane(page)).to_be_hidden()
    expect(button).to_have_attribute("aria-expanded", "false")
    page.tab.add_init_script(f"({FRAMES})()")
    page.reload()
    assert set(page.tab.evaluate("window.frames_seen")) == {0}
    page.tab.keyboard.press("Control+Alt+b")
    expect(history_pane(page)).to_be_hidden()
    page.say("Hello")
    page.tab.keyboard.press("Control+s")  # the form is in History
    expect(page.tab.get_by_role("form", name="Save checkpoint").get_by_label("Name")).to_be_focused()
    page.tab.keyboard.press("Escape")
    button.click()
    expect(threads_pane(page)).to_be_visible()


@pytest.mark.slow
def test_an_edge_is_dragged_and_moved_by_keys_and_its_place_is_kept(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    edge = page.tab.get_by_role("separator", name="Width of History")
    before, box = measure(history_pane(page))["width"], measure(edge)
    page.tab.mouse.move(box["x"] + box["width"] / 2, 400)
    page.tab.mouse.down()
    page.tab.mouse.move(box["x"] + box["width"] / 2 - 64, 400, steps=3)
    page.tab.mouse.up()
    page.reload()
    assert measure(history_pane(page))["width"] == before + 64
    edge.focus()
    page.tab.keyboard.press("ArrowRight")
    expect(edge).to_have_attribute("aria-valuenow", str(round(before + 48)))
    page.reload()
    assert measure(history_pane(page))["width"] == before + 48
    edge.focus()
    page.tab.keyboard.press("Home")
    expect(edge).to_have_attribute("aria-valuenow", str(edge.get_attribute("aria-valuemin")))
    page.tab.keyboard.press("Enter")
    expect(history_pane(page)).to_be_hidden()


@pytest.mark.slow
def test_in_a_small_window_history_begins_folded_and_the_chat_has_room(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, viewport=SMALL)
    expect(history_pane(page)).to_be_hidden()
    assert measure(page.tab.get_by_role("main"))["width"] > 700
    page.tab.get_by_role("button", name="History", exact=True).click()
    expect(history_pane(page)).to_be_visible()
    assert measure(page.tab.get_by_role("main"))["width"] > 400
    expect_accessible(page, "both panes in a small window")


@pytest.mark.slow
def test_at_400_percent_and_with_a_large_font_the_conversation_can_be_read(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, viewport={"width": 320, "height": 256})
    page.say("Hello")
    assert measure(page.log)["height"] > 110
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 320
    session = page.tab.context.new_cdp_session(page.tab)
    session.send("Page.setFontSizes", {"fontSizes": {"standard": 32}})
    page.tab.set_viewport_size({"width": 1280, "height": 900})
    expect(threads_pane(page)).not_to_be_in_viewport()  # 40 em: a sheet
    assert measure(page.log)["width"] > 1200


@pytest.mark.slow
def test_on_a_phone_with_a_font_of_twice_the_size_all_buttons_are_in_view(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, viewport=NARROW, has_touch=True, is_mobile=True)
    page.say("Hello")
    page.tab.context.new_cdp_session(page.tab).send("Page.setFontSizes", {"fontSizes": {"standard": 32}})
    history = page.tab.get_by_role("button", name="History", exact=True)
    names = ("Conversations", "Search everything", "Undo last change", "Conversation menu", "Attach files")
    buttons = [page.tab.get_by_role("button", name=name, exact=True) for name in names]
    for button in (*buttons, history, page.tab.get_by_test_id("model"), page.tab.get_by_test_id("send")):
        expect(button).to_be_in_viewport(ratio=1)
    assert page.tab.locator(".composer-model").evaluate("e => e.scrollWidth <= e.clientWidth")
    history.tap()
    for button in (page.save_button, history_pane(page).locator(".sheet-close")):
        expect(button).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_f6_goes_from_part_to_part_and_back_to_where_one_was(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    press, focused = page.tab.keyboard.press, page.tab.locator(":focus")
    attach = page.tab.get_by_role("button", name="Attach files")
    attach.focus()
    seen = []
    for _ in range(4):
        press("F6")
        seen.append(focused.evaluate("element => element.closest('.pane, .topbar').className.split(' ').pop()"))
    assert seen == ["pane-history", "topbar", "pane-threads", "pane-chat"]
    expect(attach).to_be_focused()
    press("Shift+F6")
    press("Control+b")  # the pane is folded with the focus in it
    expect(page.tab.get_by_role("button", name="Conversations", exact=True)).to_be_focused()
    press("F6")
    expect(attach).to_be_focused()


@pytest.mark.slow
def test_links_skip_to_the_message_field_and_to_history(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    link = page.tab.get_by_role("link", name="Skip to the message field")
    expect(link).not_to_be_in_viewport()
    link.focus()
    expect(link).to_be_in_viewport()
    page.tab.keyboard.press("Enter")
    expect(page.composer).to_be_focused()
    page.tab.keyboard.press("Control+Alt+b")
    page.tab.get_by_role("link", name="Skip to History").focus()
    page.tab.keyboard.press("Enter")
    expect(history_pane(page).locator(":focus")).to_have_count(1)
    assert page.tab.url == f"{shared_server.origin}/"


@pytest.mark.slow
def test_the_menu_says_everything_in_words_and_goes_by_keys(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    menu = page.open_menu()
    names = [
        "Conversation settings",
        "Change log",
        "Export",
        "Share…",
        "Summarise…",
        "Run again…",
        "Clear conversation",
    ]
    expect(menu.get_by_role("group", name="This conversation").get_by_role("button")).to_have_text(names)
    app_names = ["Import", "Usage", "App settings", "Sessions", "Audit log", "Keys"]
    expect(menu.get_by_role("group", name="Waymark").get_by_role("button")).to_have_text(app_names)
    expect_accessible(page, "the menu")
    page.tab.keyboard.press("ArrowUp")
    expect(menu.get_by_role("button", name="Keys")).to_be_focused()
    page.tab.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(page.tab.get_by_role("button", name="Conversation menu")).to_be_focused()
    page.press_in_menu("Keys")
    expect(page.dialog).to_contain_text("go to the next part of the page")
    page.confirm("Close")
    page.tab.get_by_role("button", name="Search everything").click()
    expect(page.tab.get_by_role("combobox")).to_be_focused()


@pytest.mark.slow
def test_the_bar_names_the_branch_and_its_length(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    chip = page.tab.locator(".branch-chip")
    page.say("Hello")
    expect(chip).to_have_text("main · 2 messages")
    page.press_in_menu("Clear conversation")
    page.confirm("Clear")
    page.expect_messages(0)
    expect(chip).to_be_hidden()


@pytest.mark.slow
def test_a_long_title_shrinks_before_the_branch(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    title, chip = page.tab.locator("#thread-title"), page.tab.locator(".branch-chip")
    page.threads.first.press("F2")
    page.tab.keyboard.type("A title that does not end " * 7)
    page.tab.keyboard.press("Enter")
    expect(title).to_contain_text("does not end")
    is_whole = "e => e.scrollWidth <= e.clientWidth && e.clientWidth > 0"
    for size in (WIDE, {"width": 1024, "height": 768}, NARROW):
        page.tab.set_viewport_size(size)
        expect(chip).to_have_text("main · 2 messages")
        expect(chip).to_be_visible()
        assert (title.evaluate(is_whole), chip.evaluate(is_whole)) == (False, True), size
        bar = page.tab.locator(".topbar")
        assert bar.evaluate("e => e.scrollHeight <= e.clientHeight && e.scrollWidth <= e.clientWidth"), size


@pytest.mark.slow
def test_long_names_leave_room_in_the_bar_for_each_other_and_the_search(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("A question of some length")
    title, search = page.tab.locator("#thread-title"), page.tab.locator(".find > span")
    page.save("Here")
    page.press("Here", "Branch from Here")
    page.dialog.get_by_label("Name").fill("A branch with a name that does not end " * 3)
    page.confirm("Branch")
    expect(page.tab.locator(".branch-chip")).to_contain_text("A branch with")
    is_whole = "e => e.scrollWidth <= e.clientWidth"
    assert (title.evaluate(is_whole), search.evaluate(is_whole)) == (True, True)
    page.threads.first.press("F2")
    page.tab.keyboard.type("سؤال طويل " * 30)
    page.tab.keyboard.press("Enter")
    expect(title).to_contain_text("سؤال طويل")
    assert search.evaluate(is_whole) is True
    expect(title).to_have_css("direction", "rtl")  # the ellipsis is at the end of the text


def test_an_address_without_a_conversation_says_so(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, "/t/gone")
    expect(page.tab.get_by_role("heading", name="Conversation not found")).to_be_visible()
    expect(page.log).to_contain_text("This conversation is not here.")
    page.new_conversation()
    expect(page.tab.get_by_role("heading", name="New conversation")).to_be_visible()
    expect(page.log).to_contain_text("Where shall we start?")


@pytest.mark.slow
def test_a_turn_has_one_foot_and_no_line_is_kept_for_what_is_hidden(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("What is 6 * 7?")
    page.save("The product")  # its mark is between the step and the answer
    page.say("Thank you")
    page.tab.mouse.move(0, 0)
    answer = page.message("Let me calculate that.")
    assert answer.locator(".message-foot").evaluate("foot => getComputedStyle(foot).opacity") == "0"
    question = page.message("Thank you").first
    prose = question.locator(".prose")
    assert measure(question)["height"] == measure(prose)["height"]
    copy = answer.get_by_role("button", name="Copy message")
    answer.hover()
    expect(answer.locator(".message-foot")).to_have_css("opacity", "1")
    expect(copy).to_have_text("Copy")
    copy.focus()
    page.tab.keyboard.press("Tab")
    ring = page.tab.locator(".message-foot :focus-visible")
    assert ring.evaluate(RING_OUTSIDE) <= 0  # a message cuts off what reaches over its edge


@pytest.mark.slow
def test_by_touch_a_question_has_its_actions_in_its_menu(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.say("Hello")
    page.button_of("Hello", "More").first.tap()
    expect(page.tab.get_by_role("menuitem")).to_contain_text(["Copy message", "Edit message", "Branch from here"])
    page.tab.get_by_role("menuitem", name="Edit message").tap()
    expect(page.editor).to_be_visible()


@pytest.mark.slow
def test_the_font_is_served_and_its_second_half_only_where_it_is_needed(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.tab.evaluate("document.fonts.ready")
    assert page.tab.evaluate(SEES_FONT) == ["U+0-FF"]
    page.composer.fill("Łódź")
    page.tab.evaluate(NEXT_FRAME + ".then(() => document.fonts.ready)")
    assert len(page.tab.evaluate(SEES_FONT)) == 2
    manifest = page.tab.request.get(page.tab.locator("link[rel=manifest]").evaluate("link => link.href"))
    assert manifest.json()["name"] == "Waymark"


@pytest.mark.slow
def test_a_checkbox_can_be_seen(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, color_scheme="light")
    page.say("Hello")
    page.save("One")
    page.say("Hello again")
    box = page.ask_to_restore("One").get_by_role("checkbox")
    assert box.evaluate(CONTRAST) >= 3
