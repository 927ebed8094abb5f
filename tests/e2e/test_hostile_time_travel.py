"""120 texts that try to run or load something, in what time travel and titles bring: thoughts, notes, removed parts."""

import re

import pytest
from playwright.sync_api import expect

from tests.components.transfers.test_html_export import HOSTILE
from tests.e2e.conftest import Start, Visit
from tests.e2e.test_hostile_names import expect_nothing_active, watch_dialogs
from tests.e2e.test_notices import NOTIFICATIONS, SHOWN, switch_on
from tests.fakes.openai import FakeOpenAI, Say
from tests.hostile_texts import RUN

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
WORDS = "\n\n".join(HOSTILE)


def test_120_hostile_texts_in_thoughts_notes_and_what_was_removed_run_and_load_nothing(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    assert len(HOSTILE) >= 120
    page = visit(start(**openai_settings))
    ran = watch_dialogs(page)
    fake_openai.manner = "deepseek"
    fake_openai.script(Say("Red it is.", thought=WORDS), Say(WORDS), Say("Blue it is."))
    page.say("Red?")
    fake_openai.manner = "openai"
    page.tab.get_by_test_id("reasoning").locator("summary").click()
    expect(page.tab.locator(".reasoning-text").first).to_contain_text(RUN)
    expect_nothing_active(page, "reasoning")
    page.save("Begin")
    page.say("Green?")
    page.restore("Begin")
    removed = page.tab.get_by_test_id("removed")
    expect(removed).to_contain_text(RUN)
    expect_nothing_active(page, "the removed part")
    page.notice.get_by_role("button", name="Keep as branch").click()
    expect(page.branches).to_have_count(2)
    page.choose_at(page.branch("Before restoring Begin"), "Quote in this branch")
    page.dialog.get_by_label("Conclusion").fill(WORDS[:4_000])
    expect_nothing_active(page, "the dialog of a note")
    page.confirm("Add note")
    expect(page.tab.locator('[data-testid="message"][data-role="note"]')).to_contain_text(RUN)
    expect_nothing_active(page, "a note")
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill("find in this")
    page.tab.get_by_role("option", name="Find in this conversation").click()
    bar = page.tab.get_by_role("search")
    bar.get_by_role("textbox").fill(RUN)
    expect(bar.get_by_role("status")).to_contain_text(" of ")
    expect_nothing_active(page, "marks of what was found")
    assert ran == []


def test_120_hostile_titles_by_the_model_run_and_load_nothing(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings, titles="on"))
    page.tab.add_init_script(NOTIFICATIONS)
    page.reload()
    ran = watch_dialogs(page)
    switch_on(page)
    for text in (HOSTILE[0], WORDS):
        page.open()
        fake_openai.script(Say("Red it is."), Say(text))
        page.say("Red?")
        expect(page.threads.filter(has_text="Red?")).to_have_count(0)
        expect_nothing_active(page, "a title by the model")
        fake_openai.script(Say("Green it is."))
        fake_openai.hold(after_tokens=1)
        page.send("Green?")
        expect(page.live).to_contain_text("Green")
        page.tab.evaluate("turn('hidden')")
        fake_openai.release()
        expect(page.tab).to_have_title(re.compile(r"^\(1\) "))
        assert "alert" in str(page.tab.evaluate(SHOWN))  # as text: a notification has nothing else
        page.tab.evaluate("turn('visible')")
    assert ran == []
