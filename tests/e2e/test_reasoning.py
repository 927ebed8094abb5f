"""Reasoning is a folded card above its answer: while it streams, afterwards, and in what is exported."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
THOUGHT = "The user wants a short greeting."


@pytest.mark.slow
def test_reasoning_is_shown_folded_and_stays_with_its_answer(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    page = visit(shared_openai_server)
    fake_openai.manner = "deepseek"
    try:
        fake_openai.hold(after_tokens=3)
        fake_openai.script(Say("Good day to you", thought=THOUGHT), Say("Once more"))
        page.send("Greet me")
        card = page.live.get_by_test_id("reasoning")
        expect(card).to_be_visible()
        expect(card.locator("summary")).to_have_text("Thinking…")
        expect(card.locator(".reasoning-text")).to_be_hidden()
        card.locator("summary").press("Enter")
        expect(card.locator(".reasoning-text")).to_be_visible()
        expect(card.locator(".reasoning-text")).to_have_text("The user wants ")
        fake_openai.release()
        page.wait_for_answer()
        page.save("Greeted")
        page.say("And again")
        page.restore("Greeted")
        page.reload()
        kept = page.message("Good day to you").get_by_test_id("reasoning")
        expect(kept).to_have_count(1)
        expect(kept.locator(".reasoning-text")).to_be_hidden()
        kept.locator("summary").press("Enter")
        expect(kept.locator(".reasoning-text")).to_have_text(THOUGHT)
        exported = json.loads(page.export(tmp_path).read_text())
        assert THOUGHT in json.dumps(exported["messages"])
        page.ask_to_export().get_by_label("Format").select_option("Markdown")
        assert THOUGHT in page.export(tmp_path).read_text()
    finally:
        fake_openai.manner = "openai"
