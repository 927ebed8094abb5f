"""One History with everything that a conversation can have: forks, a milestone, a summary, a move, an alternative, a pin."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import gallery
from tests.e2e.conftest import Start, Visit
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
BACK = Call(
    "goto",
    {"position": "msg_0", "message": "A seasonal model needs two years of data."},
    text="The seasonal model leads nowhere.",
)


def focus_of(page: Page) -> Locator:
    return page.tab.locator(".place:has(:focus)")


def test_everything_is_in_one_history_and_keys_lead_through_it(
    start: Start, tmp_path: Path, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    thread_id = gallery.write_past(tmp_path / "server-0" / "data" / "waymark.db")
    page = visit(start(**openai_settings), f"/t/{thread_id}")
    history = page.tab.get_by_role("complementary", name="History")
    fake_openai.script(
        Say("All of it."), gallery.SUMMARY, gallery.DETOUR, BACK, Say("The line, then."), Say("Another line.")
    )
    page.say("Sum up what we have")
    page.composer.fill("/compact")
    page.composer.press("Enter")
    page.confirm("Summarise")
    expect(page.notice).to_contain_text("summarised")
    page.save("Short")
    page.say("Try a seasonal model as well")
    page.send("Is that better?")
    page.approval.get_by_role("button", name="Allow", exact=True).click()
    expect(page.log).to_contain_text("The line, then.")
    page.wait_for_answer()
    page.button_of("The line, then.", "Answer again").click()
    page.alternatives("2 of 2").wait_for()
    page.wait_for_answer()
    page.choose_at(page.checkpoint("Short"), "Pin")
    expect(page.checkpoint("Short")).to_contain_text("Pinned")
    page.reload()
    for text in ("Formula agreed", "Daily rates work", "ecb-rates", "monthly-rates", "Summary of", "Short", "Alternative"):
        expect(history.get_by_text(text).first).to_be_visible()
    expect(history.locator(".place").filter(has_text="Agent went back")).to_contain_text("tokens")
    expect(page.checkpoint("Formula agreed")).to_contain_text("Judge")
    replaced = history.locator(".line-replaced .place-name")
    expect(replaced).to_have_text(["Invoices collected", "Formula agreed"])
    page.branch("ecb-rates").get_by_role("button").focus()
    page.tab.keyboard.press("ArrowLeft")
    expect(focus_of(page)).to_contain_text("Daily rates work")
    page.tab.keyboard.press("Home")
    expect(focus_of(page)).to_contain_text("Invoices collected")
    page.tab.keyboard.press("End")
    expect(page.tab.locator(".place").last.get_by_role("button")).to_be_focused()
    page.tab.get_by_role("button", name="Pinned", exact=True).click()
    expect(page.checkpoint("Short")).to_have_count(1)
    expect(page.checkpoint("Formula agreed")).to_have_count(0)
    for name, shown, hidden in (
        ("Judge", "Formula agreed", "Short"),
        ("Mine", "Short", "Formula agreed"),
        ("Agent", "Agent went back", "Short"),
    ):
        page.tab.get_by_role("button", name=name, exact=True).click()
        expect(history.locator(".place").filter(has_text=shown).first).to_be_visible()
        expect(history.locator(".place").filter(has_text=hidden)).to_have_count(0)
    page.tab.get_by_role("button", name="Agent", exact=True).click()  # once more shows all
    expect(page.checkpoint("Formula agreed")).to_have_count(1)
