"""120 texts that try to run or load something, as titles, tags, names, prompts and messages: in every list and dialog."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from checkpoints import Database, Store
from checkpoints.saved_prompts import SavedPrompts
from tests.components.test_html_export import HOSTILE, write_hostile
from tests.e2e.conftest import Start, Visit
from tests.e2e.dialogs import close, run_command
from tests.e2e.waymark import Page
from tests.hostile_texts import RUN

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
FIND_ACTIVE = """() => [...document.querySelectorAll("body > :not(script) *")].filter((each) =>
  [...each.attributes].some(({ name }) => name.startsWith("on"))
  || (["SCRIPT", "IFRAME", "OBJECT", "EMBED", "STYLE", "BASE", "META"].includes(each.tagName) && !each.closest("footer"))
  || /^\\s*(javascript|data):/i.test(each.getAttribute("href") ?? "")
  || (each.tagName === "IMG" && !["", "blob:", "data:", location.protocol].includes(each.src && new URL(each.src).protocol))
).map((each) => each.outerHTML.slice(0, 300))"""


def write_everywhere(file: Path) -> str:
    """Store the texts in every field, and return the id of the conversation with all of them in its messages."""
    database = Database.open_file(file)
    store = Store(database)
    thread_id = write_hostile(store, HOSTILE)
    prompts = SavedPrompts(store)
    for number, text in enumerate(HOSTILE):
        titled = store.create_thread(title=text).id
        store.tag_thread(titled, add=[text])
        prompts.save_prompt(f"prompt-{number}", text[:120], f"{text} {{{{{text}}}}}")
    while store.index_portion():
        pass
    database.close()
    return thread_id


def expect_nothing_active(page: Page, state: str) -> None:
    assert page.tab.evaluate(FIND_ACTIVE) == [], state


def test_120_hostile_texts_in_every_field_run_and_load_nothing(start: Start, tmp_path: Path, visit: Visit) -> None:
    assert len(HOSTILE) >= 120
    (tmp_path / "server-0" / "data").mkdir(parents=True, mode=0o700)
    thread_id = write_everywhere(tmp_path / "server-0" / "data" / "waymark.db")
    page = visit(start(), f"/t/{thread_id}")
    ran: list[str] = []
    page.tab.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    expect_nothing_active(page, "the conversation, History and titles with tags")
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill(RUN)
    expect(page.tab.get_by_role("region", name="In messages").locator("mark").first).to_be_visible()
    expect_nothing_active(page, "hits in the list")
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill(RUN)
    expect(page.tab.get_by_role("group", name="Messages found").locator("mark").first).to_be_visible()
    expect_nothing_active(page, "the palette")
    close(page)
    for command in ("/tag", "/again", "/prompts"):
        run_command(page, command)
        expect(page.dialog.get_by_text(HOSTILE[0][:20]).first).to_be_attached()
        expect_nothing_active(page, command)
        close(page)
    page.composer.fill("/prompt ")
    expect(page.tab.get_by_role("option").first).to_be_visible()
    expect_nothing_active(page, "prompts at the field")
    close(page)
    page.press_in_menu("History of changes")
    expect(page.dialog.get_by_test_id("change").first).to_be_visible()
    expect_nothing_active(page, "changes")
    close(page)
    page.select(page.tab.get_by_test_id("checkpoint").first).get_by_test_id("compare").click()
    expect(page.dialog.get_by_role("combobox").first).to_be_visible()
    expect_nothing_active(page, "a comparison")
    close(page)
    page.select(page.branches.last)
    expect_nothing_active(page, "the card of a branch")
    assert ran == []
