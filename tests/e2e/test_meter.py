"""How full the model's window is and what answers took and cost, as the page says it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import WIDE, Start, Visit
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PRICES = '[prices]\n"openai:fake-model" = {input = 1000.0, output = 0.0}\n'


def test_the_meter_follows_the_conversation_and_tells_what_it_took_and_cost(
    start: Start, visit: Visit, fake_openai: FakeOpenAI, openai_settings: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "server-0"
    folder.mkdir()
    (folder / "waymark.toml").write_text(PRICES)
    page = visit(start(**openai_settings, model_window="6000"))
    meter, panel = page.tab.get_by_test_id("meter"), page.tab.get_by_role("group", name="Context and usage")
    expect(meter).to_have_count(0)
    fake_openai.reply(Say("Hello."), Say("word " * 1_700), Say("Again."))
    page.say("hello")
    expect(page.tab.locator(".usage")).to_have_text(re.compile(r"^\d+ in · 1 out · \$0\.\d{3}"))
    page.tab.set_viewport_size(NARROW)
    assert page.tab.locator(".usage").evaluate("usage => usage.scrollWidth <= usage.clientWidth")  # whole, on a phone too
    page.tab.set_viewport_size(WIDE)
    expect(meter).to_have_attribute("data-level", "calm")
    expect(meter).to_have_text(re.compile(r"^Context: \d+ % of 4\.0k tokens$"))
    page.say("much")
    expect(meter).to_have_text(re.compile(r"^Context: \d+ %"))
    meter.click()
    expect(panel).to_contain_text("The model sees all 4 messages.")
    expect(panel).to_contain_text(re.compile(r"So far: .* tokens in, 1\.7k tokens out, \$\d"))
    expect_accessible(page, "the open meter")
    gone = page.tab.request.get(f"{page.server.origin}/api/threads/none/usage", headers=page.server.key_header)
    assert gone.status == 404
    page.tab.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(meter).to_be_focused()
    page.save("Full")
    expect(page.checkpoint("Full").locator(".place-bar")).to_have_attribute("title", re.compile(r"\dk tokens"))
    page.composer.fill("x" * 12_000)
    expect(meter).to_have_attribute("data-level", "danger")
    expect(meter).to_contain_text("about")
    notice = page.tab.locator(".composer-window")
    expect(notice).to_contain_text("will no longer see the first messages")
    page.composer.fill("x" * 40_000)
    expect(notice).to_contain_text("larger than the model's window of 4.0k tokens")
    page.composer.fill("short")
    expect(notice).to_have_count(0)
    page.say("x" * 12_000)
    meter.click()
    expect(panel).to_contain_text("The model no longer sees the first 4 of 6 messages. They stay in the conversation.")
    page.expect_messages(6)
