"""axe-core looks at the page in its states: wide and narrow, and in each of them light, dark and in forced colours."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e import answers
from tests.e2e.conftest import WIDE, Start, Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Fault, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
AXE = (files("axe_core_python") / "axe.min.js").read_text()
# The message field has several lines and a list of completions: no other element may have a role that HTML does not allow.
RUN = """async ({impacts, rules}) => (await axe.run(document, {resultTypes: ["violations"],
    ...(rules.length ? {runOnly: {type: "rule", values: rules}} : {})})).violations
  .filter(rule => impacts.includes(rule.impact) || rule.id === "region")
  .map(rule => rule.id !== "aria-allowed-role" ? rule : {...rule, nodes: rule.nodes.filter(
    node => !document.querySelector(node.target[0]).matches("textarea[data-testid=composer]"))})
  .filter(rule => rule.nodes.length)
  .map(rule => `${rule.id}: ${rule.nodes.map(node => node.html.slice(0, 160) + " | " + node.failureSummary).join("; ")}`)"""
NARROW = {"width": 390, "height": 844}
SCHEMES: Mapping[str, Any] = {  # dark is not the first: a page begins light
    "light": {"color_scheme": "light", "forced_colors": "none"},
    "dark": {"color_scheme": "dark", "forced_colors": "none"},
    "forced": {"color_scheme": "light", "forced_colors": "active"},
}
SIZES = [pytest.param(WIDE, id="wide"), pytest.param(NARROW, id="narrow")]
CODE = "Here:\n\n```python\nprint('hello')  # a comment\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted [link](https://x.invalid)"
OF_COLOURS = ("color-contrast", "link-in-text-block")  # a scheme changes nothing that the other rules read
ANY_IMPACT = ("minor", "moderate", "serious", "critical")
READ_COLOUR = """name => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = name;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}"""
FAINT = {
    "light": ":root[data-bs-theme='light'] #chat h2 { color: #ccc }",
    "dark": ":root[data-bs-theme='dark'] #chat h2 { color: #333 }",
    "forced": "@media (forced-colors: active) { #chat h2 { forced-color-adjust: none; color: #ccc; background: #fff } }",
}
MOVING = """() => [...document.querySelectorAll("*")].filter((each) =>
  ["", "::before", "::after"].some((part) => {
    const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(each, part);
    const times = transitionDuration.split(",").map(parseFloat);
    return animationName !== "none" || scrollBehavior === "smooth" || times.some((seconds) => seconds > 0);
  })).map((each) => each.outerHTML.slice(0, 100))"""
AT_REST = """() => Promise.all(document.getAnimations()
  .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
  .map((each) => each.finished.catch(() => null)))"""


def expect_accessible(
    page: Page, state: str, impacts: Sequence[str] = ("serious", "critical"), rules: Sequence[str] = ()
) -> None:
    assert find_violations(page, impacts, rules) == [], state


def expect_accessible_in_all_schemes(page: Page, state: str, impacts: Sequence[str] = ("serious", "critical")) -> None:
    """Look at one state in each scheme, in the first of them by all rules, and leave the page light."""
    is_themed = page.tab.locator("html[data-bs-theme]").count() > 0  # all but the pages that have no script
    for scheme, media in SCHEMES.items():
        page.tab.emulate_media(**media)
        if is_themed:
            expect(page.tab.locator("html")).to_have_attribute("data-bs-theme", media["color_scheme"])
        expect_accessible(page, f"{state}, {scheme}", impacts, () if scheme == "light" else OF_COLOURS)
    page.tab.emulate_media(**SCHEMES["light"])


def find_violations(page: Page, impacts: Sequence[str], rules: Sequence[str] = ()) -> list[str]:
    page.tab.emulate_media(reduced_motion="reduce")  # a notice that fades away while axe reads is paler than it was
    page.tab.evaluate(AT_REST)  # what is still on its way into the page is paler than it will be
    # Not as a script tag: the policy of the page forbids that, as it should.
    if not page.tab.evaluate("'axe' in window"):
        page.tab.evaluate(AXE)
    found: list[str] = page.tab.evaluate(RUN, {"impacts": impacts, "rules": rules})
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_text_that_is_faint_in_one_scheme_is_found_there(scheme: str, shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    expect(page.tab.locator("#chat h2").first).to_be_visible()
    expect_accessible_in_all_schemes(page, "as it is")
    page.tab.evaluate(
        "rule => { const sheet = new CSSStyleSheet(); sheet.replaceSync(rule); document.adoptedStyleSheets.push(sheet); }",
        FAINT[scheme],
    )
    with pytest.raises(AssertionError, match=f"with a faint text, {scheme}"):
        expect_accessible_in_all_schemes(page, "with a faint text")


def test_nothing_moves_where_reduced_motion_is_asked_for(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("one two three four five six seven eight"))
    fake_openai.hold(after_tokens=3)
    page.composer.fill("Count")
    page.composer.press("Enter")
    expect(page.tab.get_by_test_id("stop")).to_be_visible()
    page.tab.keyboard.press("Control+k")
    expect(page.dialog).to_be_visible()
    assert page.tab.evaluate(MOVING)
    page.tab.emulate_media(reduced_motion="reduce")
    assert page.tab.evaluate(MOVING) == []
    assert page.tab.evaluate("document.getAnimations().length") == 0
    fake_openai.release()
    page.wait_for_answer()


@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious(size: Any, shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(shared_openai_server, viewport=size, reduced_motion="reduce")
    expect_accessible_in_all_schemes(page, "empty")

    page.say("What is 12 * (3 + 4)?")
    page.tab.locator("details.tool summary").click()
    fake_openai.script(Say(CODE))
    page.say("Show me some code")
    open_history(page, size)
    page.save("The sum", "with a tool")
    expect_accessible_in_all_schemes(page, "history")
    page.tab.keyboard.press("Escape")
    expect_accessible_in_all_schemes(page, "conversation")

    fake_openai.script(Fault("status", status=401))
    page.send("And now?")
    expect(page.tab.get_by_role("alert")).to_be_visible()
    expect_accessible_in_all_schemes(page, "error")

    open_history(page, size)
    page.tab.keyboard.press("Control+s")
    expect(page.tab.get_by_role("form", name="Save checkpoint")).to_be_visible()
    expect_accessible_in_all_schemes(page, "saving")
    page.tab.keyboard.press("Escape")
    page.ask_to_restore("The sum")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    expect_accessible_in_all_schemes(page, "dialog")
    page.confirm("Restore")
    page.tab.keyboard.press("Escape")
    expect(page.notice).to_be_visible()
    expect_accessible_in_all_schemes(page, "restored")


@pytest.mark.parametrize("size", SIZES)
def test_answers_of_all_kinds_are_accessible_in_all_schemes(
    size: Any, start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings), reduced_motion="reduce")
    page.tab.set_viewport_size(size)
    for name, open_state in answers.STATES.items():
        page.open()
        open_state(page, fake_openai)
        expect_accessible_in_all_schemes(page, name, ANY_IMPACT)
        fake_openai.release()
        expect(page.stop_button).to_have_count(0)
        fake_openai.script()


def open_history(page: Page, size: Any) -> None:
    if size is NARROW:
        page.tab.get_by_role("button", name="History", exact=True).click()
        expect(page.tab.get_by_role("complementary", name="History")).to_be_in_viewport()


def test_marks_bubbles_and_what_is_chosen_are_seen_in_forced_colours(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, forced_colors="active")
    page.say("Hello")
    page.save("One")
    page.say("Hello again")
    text, button, chosen = (page.tab.evaluate(READ_COLOUR, name) for name in ("CanvasText", "ButtonText", "Highlight"))
    expect(page.tab.locator(".mark-checkpoint")).to_have_css("fill", text)
    expect(page.tab.locator(".mark .icon").first).to_have_css("fill", button)
    expect(page.tab.locator(".graph-current").first).to_have_css("stroke", chosen)
    expect(page.tab.locator(".message-user > .prose").first).to_have_css("border-top-style", "solid")
    page.press_in_menu("Conversation settings")
    expect(page.dialog.get_by_label("Ask first")).to_be_checked()
    expect(page.dialog.get_by_label("Ask first")).to_have_css("appearance", "auto")  # the browser draws it
