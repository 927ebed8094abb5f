"""axe-core looks at the page in its different states, light and dark, wide and narrow."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import WIDE, Start, Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Fault, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
AXE = (files("axe_core_python") / "axe.min.js").read_text()
# A field of several lines may have a list of completions.
RUN = """async (impacts) => (await axe.run(document, {
    resultTypes: ["violations"], rules: {"aria-allowed-role": {enabled: false}},
  })).violations
  .filter(rule => impacts.includes(rule.impact) || rule.id === "region")
  .map(rule => `${rule.id}: ${rule.nodes.map(node => node.html.slice(0, 160) + " | " + node.failureSummary).join("; ")}`)"""
NARROW = {"width": 390, "height": 844}
SCREENS = [  # each theme and each size every time, all pairs in the long run
    pytest.param("light", WIDE, id="light-wide"),
    pytest.param("dark", NARROW, id="dark-narrow"),
    pytest.param("light", NARROW, id="light-narrow", marks=pytest.mark.long),
    pytest.param("dark", WIDE, id="dark-wide", marks=pytest.mark.long),
    pytest.param("forced", WIDE, id="forced-wide", marks=pytest.mark.long),
]
CODE = "Here:\n\n```python\nprint('hello')  # a comment\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted [link](https://x.invalid)"
COLOURS: list[Any] = [
    pytest.param({"color_scheme": "dark"}, id="dark"),
    pytest.param({"forced_colors": "active"}, id="forced"),
    pytest.param({}, id="light", marks=pytest.mark.long),
]
ANY_IMPACT = ("minor", "moderate", "serious", "critical")
READ_COLOUR = """name => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = name;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}"""
AT_REST = """() => Promise.all(document.getAnimations()
  .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
  .map((each) => each.finished.catch(() => null)))"""


def expect_accessible(page: Page, state: str, impacts: Sequence[str] = ("serious", "critical")) -> None:
    page.tab.emulate_media(reduced_motion="reduce")  # a notice that fades away while axe reads is paler than it was
    page.tab.evaluate(AT_REST)  # what is still on its way into the page is paler than it will be
    # Not as a script tag: the policy of the page forbids that, as it should.
    page.tab.evaluate(AXE)
    found: list[Any] = page.tab.evaluate(RUN, list(impacts))
    assert found == [], state


def choose_colours(theme: str) -> dict[str, Any]:
    """Return the browser's options for a theme of SCREENS."""
    return {"forced_colors": "active"} if theme == "forced" else {"color_scheme": theme}


@pytest.mark.parametrize(("theme", "size"), SCREENS)
def test_axe_finds_nothing_serious(
    theme: str, size: Any, shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server, viewport=size, reduced_motion="reduce", **choose_colours(theme))
    expect_accessible(page, "empty")

    page.say("What is 12 * (3 + 4)?")
    page.tab.locator("details.tool summary").click()
    fake_openai.script(Say(CODE))
    page.say("Show me some code")
    _history(page, size)
    page.save("The sum", "with a tool")
    expect_accessible(page, "history")
    page.tab.keyboard.press("Escape")
    expect_accessible(page, "conversation")

    fake_openai.script(Fault("status", status=401))
    page.send("And now?")
    expect(page.tab.get_by_role("alert")).to_be_visible()
    expect_accessible(page, "error")

    _history(page, size)
    page.tab.keyboard.press("Control+s")
    expect(page.tab.get_by_role("form", name="Save checkpoint")).to_be_visible()
    expect_accessible(page, "saving")
    page.tab.keyboard.press("Escape")
    page.ask_to_restore("The sum")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    expect_accessible(page, "dialog")
    page.confirm("Restore")
    page.tab.keyboard.press("Escape")
    expect(page.notice).to_be_visible()
    expect_accessible(page, "restored")


def _history(page: Page, size: Any) -> None:
    if size is NARROW:
        page.tab.get_by_role("button", name="History", exact=True).click()
        expect(page.tab.get_by_role("complementary", name="History")).to_be_in_viewport()


@pytest.mark.parametrize("colours", COLOURS)
def test_axe_finds_nothing_in_dialogs_lists_and_cards(
    colours: dict[str, Any], start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    from tests.e2e import dialogs  # its modules import this one

    server = start(**openai_settings)
    page = visit(server, reduced_motion="reduce", **colours)
    dialogs.prepare(page, fake_openai)
    for name, open_state in dialogs.OPENERS.items():
        open_state(page)
        expect_accessible(page, name, ANY_IMPACT)
        dialogs.close(page)
    dialogs.open_import(page, server)
    expect_accessible(page, "import", ANY_IMPACT)
    dialogs.close(page)
    dialogs.ask_to_go_back(page, fake_openai)
    expect_accessible(page, "approval", ANY_IMPACT)


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
    expect(page.dialog.get_by_label("Ask me")).to_be_checked()
    expect(page.dialog.get_by_label("Ask me")).to_have_css("appearance", "auto")  # the browser draws it
