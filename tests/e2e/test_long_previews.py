"""Previews of files to import by keyboard alone, with axe in each state: long, with warnings, of several, known already."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from playwright.sync_api import expect

from checkpoints import MessageStatus, NewMessage, Store
from checkpoints.interchange import transfer
from checkpoints.values import serde
from tests.checkpoints.conversations import new
from tests.e2e.conftest import Visit
from tests.e2e.keyboard import Keyboard
from tests.e2e.server import Server
from tests.e2e.test_keyboard_alone import button
from tests.e2e.test_keyboard_people import menu
from tests.e2e.test_long_lists import look_at_whole
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
LONG = "Review_of_a_contract_for_the_purchasing_department_with_every_clause_that_differs_from_our_own_terms"
NEW = "As a new conversation"


def write_long(store: Store) -> str:
    """A conversation of many messages and checkpoints, of which an import leaves out or changes several things."""
    thread = store.create_thread(title=LONG).id
    store.append(thread, [NewMessage(serde.to_body(SystemMessage("Be brief."))), *new(LONG, f"{LONG}: as it is.")])
    for number in range(22):
        store.append(thread, new(f"Question {number}", "An answer. " * 40))
        store.save(thread, name=f"{LONG} {number}", description="Before any decision")
    cut_off = NewMessage(serde.to_body(AIMessage("It was")), status=MessageStatus.PARTIAL)
    store.append(thread, [NewMessage(serde.to_body(HumanMessage("And then?"))), cut_off])
    store.change_settings(thread, {"graph": "their_department.agents.purchasing:graph", "instructions": "Be brief."})
    return transfer.export(store, thread)


def choose_file(page: Page, path: Path) -> Keyboard:
    """Import a file by the bar's menu."""
    keys = Keyboard(page)
    with page.tab.expect_file_chooser() as chooser:
        keys.choose_in_bar("Import")
    chooser.value.set_files(path)
    page.dialog.wait_for()
    expect(page.dialog.locator(":focus")).to_have_count(1)
    return keys


def test_a_long_file_with_warnings_is_previewed_imported_and_known_the_second_time(
    memory_store: Store, server: Server, visit: Visit, tmp_path: Path
) -> None:
    file, page = tmp_path / f"{LONG}.json", visit(server)
    file.write_text(write_long(memory_store))
    keys = choose_file(page, file)
    expect(page.dialog).to_contain_text("and 2 more")
    for sentence in ("1 system message", "was cut off", "is not offered here", "settings in it are not taken over"):
        expect(page.dialog.get_by_text(sentence)).to_be_in_viewport(ratio=1)
    look_at_whole(page, "a long file with warnings")
    keys.close_dialog(menu(page))
    keys = choose_file(page, file)
    keys.press(button(page.dialog, NEW))
    expect(page.dialog).to_have_count(0)
    page.tab.wait_for_url("**/t/*")
    keys.expect_focus()
    keys = choose_file(page, file)
    expect(page.dialog.get_by_text("was already imported")).to_be_in_viewport(ratio=1)
    look_at_whole(page, "a file that was imported")
    keys.close_dialog(menu(page))


def test_many_conversations_of_one_file_are_previewed(server: Server, visit: Visit, tmp_path: Path) -> None:
    file, page = tmp_path / "chats.json", visit(server)
    chat = {"history": {"currentId": "a", "messages": {"a": {"id": "a", "parentId": None, "role": "user", "content": "Hi"}}}}
    file.write_text(json.dumps([{"chat": {"title": f"{number} {LONG}", **chat}} for number in range(25)]))
    keys = choose_file(page, file)
    expect(page.dialog).to_contain_text("and 5 more")
    look_at_whole(page, "a file of many conversations")
    keys.close_dialog(menu(page))
