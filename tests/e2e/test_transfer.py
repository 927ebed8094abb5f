"""Export from one server, import into another, through the page."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from checkpoints import Database, Store, transfer
from tests.checkpoints.conversations import talked
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
IMPORT = "As a new conversation"
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


def test_a_conversation_moves_to_another_server(shared_server: Server, server: Server, visit: Visit, tmp_path: Path) -> None:
    here, there = visit(shared_server), visit(server)
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
    here.expect_checkpoints(("Today", 2), ("The sum", 6))
    there.expect_checkpoints(("Today", 2), ("The sum", 6))
    expect(there.checkpoint("Today")).to_contain_text("before the sums")
    assert there.thread_titles() == ["What is the weather like today?"]
    assert _chain(there.export(tmp_path / "again")) == _chain(file)
    there.restore("Today")
    there.expect_messages(2)


def test_the_same_file_again_opens_the_same_conversation(
    shared_server: Server, server: Server, visit: Visit, tmp_path: Path
) -> None:
    here, there = visit(shared_server), visit(server)
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
    page.expect_checkpoints(("Today", 2), ("The sum", 6))


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


def _deep(levels: int) -> Any:
    nested: Any = "deep"
    for _ in range(levels):
        nested = {"a": nested}
    return nested


def _changed(*path: str | int, to: Any) -> str:
    """The file with one thing in it changed; None takes it out."""
    document = json.loads(_valid())
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    if to is None:
        del place[path[-1]]
    return json.dumps(document)


def _id_used_twice() -> str:
    document = json.loads(_valid())
    document["messages"].append(document["messages"][0])
    return json.dumps(document)


INVALID: dict[str, tuple[Callable[[], str], str]] = {
    "not JSON": (lambda: "Hello!", "not JSON"),
    "empty": (lambda: "", "not JSON"),
    "another shape": (lambda: '["a", "list"]', "not a Waymark export"),
    "another format": (lambda: '{"format": "other/1"}', "format"),
    "a missing field": (lambda: _changed("messages", 1, "parent_id", to=None), r"messages\[1\]\.parent_id: is missing"),
    "an id used twice": (_id_used_twice, r"messages\[2\]\.id: is the id of another"),
    "an edited message": (lambda: _changed("messages", 1, "message", "data", "content", to="x"), r"messages\[1\]\.hash"),
    "NaN": (lambda: _changed("thread", "settings", to={"temperature": float("nan")}), "NaN"),
    "depth 900": (lambda: _changed("thread", "settings", to=_deep(900)), "deeper than 100"),
    "depth 1,000 of nothing": (lambda: "[" * 1000 + "]" * 1000, "deeper than 100"),
    "10 MB and a little": (lambda: " " * 10_500_000, "larger than 10 MB"),
    "11 MB": (lambda: " " * (11 * MEBIBYTE), "larger than 10 MB"),
}


@pytest.mark.parametrize("wrong", INVALID)
def test_an_invalid_file_changes_nothing_and_says_why(
    wrong: str, shared_server: Server, visit: Visit, tmp_path: Path
) -> None:
    made, reason = INVALID[wrong]
    file = tmp_path / "talk.json"
    file.write_text(made())
    page = visit(shared_server)
    nothing_yet = page.tab.get_by_text("Your conversations will stand here")
    expect(page.threads.or_(nothing_yet).first).to_be_visible()  # the list has come
    before = page.threads.count()

    page.choose_import(file)

    expect(page.toast).to_contain_text("talk.json was not imported.")
    said = page.toast.locator("#toast-text").inner_text()
    assert re.search(reason, said)
    assert re.fullmatch(r"talk\.json was not imported\. [^\n]{10,150}\.", said)
    assert page.tab.url == f"{shared_server.origin}/"
    expect(page.dialog).to_have_count(0)
    assert page.threads.count() == before


def test_a_file_can_be_chosen_with_the_keyboard(shared_server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(shared_server)
    file = tmp_path / "talk.json"
    file.write_text(_valid())
    page.wait_for_upload()
    with page.tab.expect_file_chooser() as chooser:
        page.tab.get_by_role("button", name="Import", exact=True).press("Enter")
    chooser.value.set_files(file)
    page.confirm("Cancel")
