"""Export from one server, import into another, through the page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from checkpoints import Database, Store, transfer
from tests.checkpoints.conversations import talked
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
IMPORT = "Import as a new conversation"
MEBIBYTE = 1024 * 1024


def _fill(page: Page) -> None:
    page.say("What is the weather like today?")
    page.save("Today", "before the sums")
    page.say("What is 12 * (3 + 4)?")
    page.save("The sum")


def _import(page: Page, path: Path) -> None:
    page.choose_import(path)
    page.confirm(IMPORT)
    page.tab.wait_for_url(re.compile("/t/"))


def _chain(path: Path) -> list[Any]:
    """What an export says of each message, in order: id, parent, hash and everything in it."""
    document = json.loads(path.read_text())
    return [*document["messages"], [(c["id"], c["name"], c["message_id"]) for c in document["checkpoints"]]]


def test_a_conversation_moves_to_another_server(start: Start, visit: Visit, tmp_path: Path) -> None:
    here, there = visit(start()), visit(start())
    _fill(here)
    file = here.export(tmp_path)
    assert file.name == "What is the weather like today-.waymark.json"

    there.choose_import(file)
    expect(there.dialog).to_contain_text("What is the weather like today? · 6 messages · 2 checkpoints · 1 branch")
    expect(there.dialog).to_contain_text("What is 12 * (3 + 4)?")
    expect(there.dialog).to_contain_text("The sum")
    assert there.thread_titles() == []
    there.confirm(IMPORT)

    there.tab.wait_for_url(re.compile("/t/"))
    there.expect_messages(6)
    assert there.messages() == here.messages()
    assert there.checkpoints() == here.checkpoints() == [("Today", 2), ("The sum", 6)]
    expect(there.checkpoint("Today")).to_contain_text("before the sums")
    assert there.thread_titles() == here.thread_titles()
    assert _chain(there.export(tmp_path / "again")) == _chain(file)
    there.restore("Today")
    there.expect_messages(2)


def test_the_same_file_again_opens_the_same_conversation(start: Start, visit: Visit, tmp_path: Path) -> None:
    here, there = visit(start()), visit(start())
    _fill(here)
    file = here.export(tmp_path)
    _import(there, file)
    there.expect_messages(6)
    address = there.tab.url

    there.new_conversation()
    there.choose_import(file)
    expect(there.dialog).to_contain_text("This file is here already")
    there.confirm(IMPORT)
    there.tab.wait_for_url(address)
    there.expect_messages(6)
    expect(there.threads).to_have_count(1)


def test_a_file_that_names_what_is_here_already_becomes_a_copy(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    _fill(page)
    original = page.tab.url
    file = page.export(tmp_path)
    page.say("And what is 6 * 7?")
    everything = page.messages()

    page.choose_import(file)
    page.confirm(IMPORT)
    expect(page.threads).to_have_count(2)
    page.expect_messages(6)
    assert page.tab.url != original
    page.tab.goto(original)
    page.expect_messages(10)
    assert page.messages() == everything
    assert page.checkpoints() == [("Today", 2), ("The sum", 6)]


def test_cancel_imports_nothing(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    file = tmp_path / "talk.json"
    file.write_text(_valid())
    page.choose_import(file)
    page.confirm("Cancel")
    expect(page.threads).to_have_count(0)
    page.choose_import(file)
    page.dialog.wait_for()
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    _import(page, file)  # and the same file can be chosen again
    page.expect_messages(2)


def _valid() -> str:
    database = Database.in_memory()
    store = Store(database)
    text = transfer.export(store, talked(store, "a question", "an answer"))
    database.close()
    return text


def _changed(change: str) -> str:
    """A file with one thing wrong."""
    document = json.loads(_valid())
    match change:
        case "missing":
            del document["messages"][1]["parent_id"]
        case "id used twice":
            document["messages"][1]["id"] = document["messages"][0]["id"]
        case "edited":
            document["messages"][1]["message"]["data"]["content"] = "something else"
        case "number":
            document["thread"]["settings"] = {"temperature": float("nan")}
        case "depth":
            nested: Any = "deep"
            for _ in range(900):
                nested = {"a": nested}
            document["thread"]["settings"] = nested
    return json.dumps(document)


INVALID = {
    "not JSON": ("Hello!", "not JSON"),
    "empty": ("", "not JSON"),
    "another shape": ('["a", "list"]', "not a Waymark export"),
    "another format": ('{"format": "other/1"}', "format"),
    "a missing field": (_changed("missing"), r"messages\[1\]\.parent_id: is missing"),
    "an id used twice": (_changed("id used twice"), r"messages\[1\]\.id: is the id of another message"),
    "an edited message": (_changed("edited"), r"messages\[1\]\.hash"),
    "NaN": (_changed("number"), "NaN"),
    "depth 900": (_changed("depth"), "deeper than 100"),
    "depth 1,000 of nothing": ("[" * 1000 + "]" * 1000, "deeper than 100"),
    "10 MB and a little": (" " * 10_500_000, "larger than 10 MB"),
    "11 MB": (" " * (11 * MEBIBYTE), "larger than 10 MB"),
}


@pytest.mark.parametrize("wrong", INVALID)
def test_an_invalid_file_changes_nothing_and_says_why(
    wrong: str, shared_server: Server, visit: Visit, tmp_path: Path
) -> None:
    text, reason = INVALID[wrong]
    file = tmp_path / "talk.json"
    file.write_text(text)
    page = visit(shared_server)
    before = page.threads.count()

    page.choose_import(file)

    expect(page.toast).to_contain_text("talk.json was not imported.")
    said = page.toast.locator("#toast-text").inner_text()
    assert re.search(reason, said)
    assert re.fullmatch(r"talk\.json was not imported\. [^\n]{10,150}\.", said)
    assert page.tab.url == f"{shared_server.origin}/"
    expect(page.dialog).to_have_count(0)
    page.reload()
    assert page.threads.count() == before
