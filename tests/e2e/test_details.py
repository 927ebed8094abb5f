"""Details that no longer story passes: commands with names, many models, what is copied and seen, and small windows."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import gallery
from tests.e2e.conftest import Start, Visit
from tests.e2e.dialogs import run_command
from tests.e2e.server import Server
from tests.e2e.test_candidates import candidate, choose_models
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PRICES = '[prices]\n"openai:fake-model" = {input = 1000.0, output = 0.0}\n'
ARABIC = "\u0645\u0631\u062d\u0628\u0627"  # "hello"
IS_RIGHT_TO_LEFT = "element => element.matches(':dir(rtl)')"
CONTRAST = """element => {
  const read = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [red, green, blue] = read(colour).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const edge = light(getComputedStyle(element).borderTopColor);
  let behind = element.parentElement;
  while (read(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const ground = light(getComputedStyle(behind).backgroundColor);
  return (Math.max(edge, ground) + 0.05) / (Math.min(edge, ground) + 0.05);
}"""


@pytest.fixture
def page(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    page = visit(shared_openai_server)
    fake_openai.script(Say("Red it is.\n\n```python\nprint('red')\n```"), Say("Green it is."))
    page.say("Red?")
    return page


def test_a_command_takes_a_name(page: Page) -> None:
    run_command(page, "/branch By the sea")
    expect(page.dialog.get_by_label("Name")).to_have_value("By the sea")
    page.confirm("Branch")
    expect(page.branch("By the sea")).to_have_count(1)
    run_command(page, "/export")
    expect(page.dialog.get_by_label("Format")).to_be_visible()
    page.confirm("Cancel")
    page.composer.fill("/model other-model")
    page.composer.press("Enter")
    expect(page.tab.get_by_test_id("model")).to_have_text("Model: other-model")
    expect(page.composer).to_have_value("")


def test_code_is_copied_as_it_was_written(page: Page) -> None:
    page.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.tab.get_by_role("button", name="Copy code").click()
    assert page.tab.evaluate("navigator.clipboard.readText()") == "print('red')"


@pytest.mark.parametrize(
    ("arguments", "preview", "result"),
    [
        ({"expression": "6 *\n 7"}, "6 * 7", "42"),
        ({"expression": '"6" * 7'}, '"6" * 7', ""),  # an error has no short result
        ({"expression": "1 + " * 6_000 + "1"}, "1 + " * 29 + "1 +…", ""),  # cut off in the page
        ({"expression": "6 * 7", "other": "x"}, '"expression": "6 * 7", "other": "x"', "42"),
    ],
)
def test_a_row_of_a_tool_says_what_was_asked_and_what_came(
    arguments: dict[str, str], preview: str, result: str, page: Page, fake_openai: FakeOpenAI
) -> None:
    fake_openai.script(Call("calculator", arguments), Say("There."))
    page.say("Calculate")
    summary = page.tab.locator("details.tool > summary").last
    expect(summary.locator(".tool-preview")).to_have_text(preview)
    expect(summary.locator(".tool-result")).to_have_text(result)


def test_models_of_one_name_keep_their_providers(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings | {"models_offered": "openai-responses:fake-model"}))
    choose_models(page, "openai-responses:fake-model")  # in the list, too
    fake_openai.script(Say("Red it is."), Say("Red it is."))
    page.send("Red?")
    names = ["openai:fake-model", "openai-responses:fake-model"]
    expect(page.tab.locator(".candidate-head h2")).to_have_text(names)
    expect(page.stop_button).to_have_count(0)
    page.tab.wait_for_url("**/t/*")  # a change of address closes dialogs
    page.press_in_menu("Conversation settings")
    expect(page.dialog.get_by_label("Model", exact=True).locator("option")).to_contain_text(
        [f"{names[0]} (default)", names[1]]
    )
    page.confirm("Cancel")


def test_many_models_are_grouped_and_those_chosen_last_are_first(
    start: Start, openai_settings: dict[str, str], visit: Visit
) -> None:
    offered = {"models_offered": ",".join(gallery.MODELS), **gallery.KEYS}
    page = visit(start(**openai_settings | offered))
    for name in ("claude-haiku-4-5", "gpt-5.4-nano"):
        page.tab.get_by_test_id("model").click()
        page.tab.get_by_role("combobox", name="Find a model").fill(name)
        page.tab.get_by_role("combobox", name="Find a model").press("Enter")
        expect(page.tab.get_by_test_id("model")).to_contain_text(name)
    page.tab.get_by_test_id("model").click()
    groups = page.tab.get_by_role("listbox", name="Models").get_by_role("group")
    headings = [each.get_attribute("aria-label") for each in groups.all()]
    assert headings[0] == "Chosen last"
    assert {str(each).lower() for each in headings[1:]} >= {"openai-compatible server", "anthropic"}
    expect(groups.first.get_by_role("option")).to_have_count(2)
    page.tab.get_by_role("combobox", name="Find a model").press("ArrowDown")
    page.tab.get_by_role("combobox", name="Find a model").press("Enter")
    expect(page.tab.get_by_test_id("model")).to_contain_text("claude-haiku-4-5")


def test_the_card_of_a_place_says_what_was_spent_up_to_it(
    start: Start, tmp_path: Path, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    (tmp_path / "server-0").mkdir()
    (tmp_path / "server-0" / "waymark.toml").write_text(PRICES)
    page = visit(start(**openai_settings))
    fake_openai.script(Say("Red."), Say("Green."))
    page.say("Red?")
    page.save("First")
    page.say("Green?")
    page.save("Second")
    costs = []
    for name in ("First", "Second"):
        page.select(page.checkpoint(name))
        line = page.tab.get_by_test_id("place-usage")
        expect(line).to_have_text(re.compile(r"So far .* \$\d\.\d+"))
        costs.append(float(str(line.text_content()).rpartition("$")[2]))
        expect(page.tab.locator(".place-card")).to_contain_text(name)
    assert 0 < costs[0] < costs[1]


def test_where_one_is_there_is_nothing_to_restore(page: Page) -> None:
    page.save("Here")
    card = page.select(page.checkpoint("Here"))
    expect(card).to_contain_text("you are here")
    expect(card.get_by_role("button", name="Restore")).to_have_count(0)
    page.say("Green?")
    expect(card.get_by_role("button", name="Restore")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_boxes_that_are_not_checked_are_seen(scheme: str, page: Page) -> None:
    """WCAG 1.4.11: 3 to 1 against what is beside them."""
    page.tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    expect(page.tab.locator("html")).to_have_attribute("data-bs-theme", scheme)
    page.save("Begin")
    page.say("Green?")
    for name in ("restore", "branch", "export"):
        if name == "restore":
            page.ask_to_restore("Begin")
        elif name == "branch":
            page.ask_to_branch("Red?")
        else:
            page.ask_to_export()
        boxes = page.dialog.locator("input[type=checkbox]:not(:checked), input[type=radio]:not(:checked)")
        expect(boxes.first).to_be_visible()
        assert all(box.evaluate(CONTRAST) >= 3 for box in boxes.all() if box.is_visible())
        page.confirm("Cancel")


def test_what_was_cleared_is_named_when_its_file_is_imported(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    page.say("Hello")
    page.save("Begin")
    file = page.export(tmp_path)
    page.press_in_menu("Clear conversation")
    page.confirm("Clear")
    page.expect_messages(0)
    page.choose_import(file)
    expect(page.dialog).to_contain_text("2 of its 2 messages")
    expect(page.dialog).to_contain_text("which shows none now")
    page.confirm("Merge into this conversation")
    page.expect_messages(2)
    page.expect_checkpoints(("Begin", 2))


def fits(page: Page, part: Locator) -> None:
    """Nothing of the page is beside its window, and the part can be reached."""
    assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    part.scroll_into_view_if_needed()
    expect(part).to_be_in_viewport()
    box = part.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.tab.evaluate("innerWidth")


@pytest.mark.parametrize("is_low", [True, False], ids=["400 %", "root font 200 %"])
def test_history_and_the_dialogs_fit_when_everything_is_large(is_low: bool, page: Page, fake_openai: FakeOpenAI) -> None:
    page.save("Begin", "Before the decision")
    page.say("Green?")
    page.restore("Begin", keep=True)
    fake_openai.script(Say("Blue it is."))
    page.say("Blue?")
    if is_low:
        page.tab.set_viewport_size({"width": 320, "height": 256})
    else:
        page.tab.set_viewport_size({"width": 1280, "height": 720})
        session = page.tab.context.new_cdp_session(page.tab)
        session.send("Page.enable")
        session.send("Page.setFontSizes", {"fontSizes": {"standard": 32}})
    page.reload()
    history = page.tab.get_by_role("button", name="History", exact=True)
    if history.get_attribute("aria-expanded") == "false":
        history.click()
    fits(page, page.save_button)
    page.select(page.checkpoint("Begin"))
    expect(page.tab.get_by_test_id("restore")).to_be_in_viewport(ratio=1)
    page.choose_at(page.branch("Before restoring Begin"), "Quote in this branch")
    for name in ("Draft with the model", "Add note"):
        fits(page, page.dialog.get_by_role("button", name=name))
    page.confirm("Cancel")
    page.tab.locator(".pane-history .sheet-close").click()
    page.composer.fill("/restore Begin")
    page.composer.press("Enter")
    fits(page, page.dialog.get_by_role("button", name="Restore", exact=True))
    page.confirm("Cancel")
    for item, button in (
        *(("Export", "Export"), ("Conversation settings", "Save"), ("Share…", "Make a link"), ("Run again…", "Start")),
    ):
        page.press_in_menu(item)
        fits(page, page.dialog.get_by_role("button", name=button, exact=True))
        page.tab.keyboard.press("Escape")
        expect(page.dialog).to_have_count(0)
    run_command(page, "/prompts")
    page.dialog.get_by_role("button", name="New prompt").click()
    fits(page, page.dialog.get_by_role("button", name="Save", exact=True))
    page.tab.keyboard.press("Escape")
    page.confirm("Close")
    run_command(page, "/tag")
    fits(page, page.dialog.get_by_role("button", name="Add", exact=True))
    page.confirm("Close")
    choose_models(page, "demo")
    fake_openai.script(Say("Forty-two, " * 40))
    page.send("How much?")
    expect(page.stop_button).to_have_count(0)
    for number in (1, 2):
        fits(page, candidate(page, number).locator(".candidate-choice"))


def test_what_is_written_from_right_to_left_is_aligned_so_in_every_field(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say(ARABIC), Say("Green it is."))
    page.say(ARABIC)
    page.save_button.click()
    expect_right_to_left(page, "Name", "Description")
    page.tab.get_by_role("form", name="Save checkpoint").get_by_role("button", name="Save").click()
    page.say("Green?")
    page.restore(ARABIC, keep=True)
    page.composer.fill(ARABIC)
    assert page.composer.evaluate(IS_RIGHT_TO_LEFT)
    page.choose_at(page.branch(f"Before restoring {ARABIC}"), "Quote in this branch")
    expect_right_to_left(page, "Conclusion")
    page.confirm("Cancel")
    page.press_in_menu("Run again…")
    expect_right_to_left(page, "Instructions")
    page.confirm("Cancel")
    run_command(page, "/tag")
    expect_right_to_left(page, "Find or add a tag")
    page.confirm("Close")
    run_command(page, "/prompts")
    page.dialog.get_by_role("button", name="New prompt").click()
    expect_right_to_left(page, "Name", "Text")
    page.dialog.get_by_role("button", name="Save").click()
    assert page.tab.get_by_test_id("prompt").first.locator("p").first.evaluate(IS_RIGHT_TO_LEFT)


def expect_right_to_left(page: Page, *labels: str) -> None:
    for label in labels:
        field = page.tab.locator("form, dialog, [role=dialog]").get_by_label(label).last
        field.fill(ARABIC)
        assert field.evaluate(IS_RIGHT_TO_LEFT), label
