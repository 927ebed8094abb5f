"""Export from one server, import into another, through the page."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Route, expect

from checkpoints import Database, Store
from checkpoints.interchange import transfer
from components.transfers.html_export import export_html
from tests.checkpoints.conversations import talked
from tests.components.transfers.test_html_export import HOSTILE, expect_harmless, write_hostile
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW
from tests.e2e.test_accessible_states import look_at
from tests.e2e.waymark import Page
from tests.rounds import sample

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
IMPORT = "As a new conversation"
MERGE = "Merge into this conversation"
MEBIBYTE = 1024 * 1024
ROOM_FOR_NUMBERS = """list => {
  const { font, paddingLeft } = getComputedStyle(list);
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.font = font;
  return parseFloat(paddingLeft) - canvas.measureText("1000. ").width;
}"""


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
    document = json.loads(path.read_text(encoding="utf-8"))
    return [*document["messages"], [(c["id"], c["name"], c["message_id"]) for c in document["checkpoints"]]]


def test_a_conversation_moves_to_another_server(shared_server: Server, server: Server, visit: Visit, tmp_path: Path) -> None:
    here, there = visit(shared_server), visit(server)
    _fill(here)
    file = here.export(tmp_path)
    assert file.name == "What-is-the-weather-like-today.waymark.json"

    there.choose_import(file)
    expect(there.dialog).to_contain_text("What is the weather like today? · 6 messages · 2 checkpoints · 1 branch")
    expect(there.dialog).to_contain_text("You What is 12 * (3 + 4)?")
    expect(there.dialog).to_contain_text("The sum")
    assert there.thread_titles() == []
    there.confirm(IMPORT)

    there.tab.wait_for_url(re.compile("/t/"))
    there.expect_messages(6)
    assert there.messages() == here.messages()
    here.expect_checkpoints(("Today", 2), ("The sum", 6))
    there.expect_checkpoints(("Today", 2), ("The sum", 6))
    expect(there.select(there.checkpoint("Today"))).to_contain_text("before the sums")
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
    expect(there.dialog).to_contain_text("This file was already imported as")
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


def test_a_file_is_merged_into_the_open_conversation_once(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    page.say("Hello")
    file = page.export(tmp_path)
    page.say("What is 6 * 7?")
    longer = page.export(tmp_path / "longer")
    page.new_conversation()
    page.choose_import(file)
    expect(page.dialog.get_by_role("button", name="Merge into this conversation")).to_be_hidden()
    page.confirm(IMPORT)
    page.tab.wait_for_url(re.compile("/t/"))
    page.expect_messages(2)

    page.choose_import(longer)
    expect(page.dialog).to_contain_text("2 of its 6 messages are already in this conversation.")
    page.confirm(MERGE)
    expect(page.notice).to_contain_text("4 messages, 1 branch added")
    expect(page.toast.locator(".toast.show")).to_have_count(0)
    expect(page.branches).to_have_count(2)
    page.expect_messages(2)  # the conversation stands where it stood
    expect(page.threads).to_have_count(2)

    page.choose_import(longer)
    page.confirm(MERGE)
    expect(page.toast).to_contain_text("This conversation already contains the whole file.")
    expect(page.toast).not_to_contain_text("Waymark")
    expect(page.branches).to_have_count(2)


def test_a_merge_can_be_undone_from_its_banner(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    page.say("Hello")
    file = tmp_path / "talk.json"
    file.write_text(_valid())
    page.choose_import(file)
    page.confirm(MERGE)
    expect(page.branches).to_have_count(2)
    page.undo()
    expect(page.branches).to_have_count(0)  # one alone is not listed


@pytest.mark.parametrize(("kind", "ending"), [("Markdown", ".md"), ("JSONL (OpenAI format)", ".jsonl")])
def test_an_export_is_what_the_dialog_asks_for(
    kind: str, ending: str, shared_server: Server, visit: Visit, tmp_path: Path
) -> None:
    page = visit(shared_server)
    page.say("What is 12 * (3 + 4)? I am Jane")
    dialog = page.ask_to_export()
    dialog.get_by_label("Format").select_option(kind)
    dialog.get_by_label("Leave out tool results").check()
    dialog.get_by_label("Words to redact").fill("jan*\n12")
    file = page.export(tmp_path)
    text = file.read_text()
    assert file.name.endswith(ending)
    assert "What is [redacted] * (3 + 4)? I am [redacted]" in text
    assert "Jane" not in text + file.name
    assert "calculator" in text


def test_the_export_dialog_fits_a_phone_and_says_on_request_what_is_not_found(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, viewport=NARROW, has_touch=True, is_mobile=True)
    page.say("Hello")
    dialog = page.ask_to_export()
    limits = dialog.get_by_text("Not found: words that a space")
    expect(limits).to_be_hidden()
    expect(dialog.get_by_role("button", name="Export", exact=True)).to_be_in_viewport(ratio=1)
    dialog.get_by_text("Limits of this search").tap()
    expect(limits).to_be_visible()


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("?format=pdf", 400, "There is no such format."),
        ("?redact=two+words*", 400, "A pattern with * is one word, without spaces."),
    ],
)
def test_an_export_that_cannot_be_is_refused_in_a_sentence(
    query: str, status: int, sentence: str, shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    page.say("Hello")
    thread_id = page.tab.url.rpartition("/")[2]
    address = f"{shared_server.origin}/api/threads/{thread_id}/export{query}"
    answer = page.tab.request.get(address, headers=shared_server.key_header)
    assert (answer.status, answer.text()) == (status, sentence)


def test_a_refused_export_is_a_word_in_the_corner_and_what_to_redact_stands_in_no_address(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.expected.append("400")  # the browser's own words about the refusal
    address, asked = page.tab.url, []
    page.tab.on("request", lambda request: asked.append(request.url))
    page.ask_to_export().get_by_label("Words to redact").fill("two words*")
    page.confirm("Export")
    expect(page.toast).to_contain_text("Nothing was exported. A pattern with * is one word, without spaces.")
    assert page.tab.url == address
    assert [url for url in asked if "words" in url] == []


def test_an_export_that_no_import_takes_is_saved_after_a_question(
    shared_server: Server, visit: Visit, tmp_path: Path
) -> None:
    page = visit(shared_server)
    page.say("Hello")

    def warn(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, headers={**answer.headers, "waymark-warning": quote("It has 10 % too much: “é”.")})

    page.tab.route("**/export", warn)
    page.ask_to_export().get_by_role("button", name="Export", exact=True).click()
    warning = page.tab.get_by_role("dialog", name="This export cannot be imported again")
    expect(warning).to_contain_text("It has 10 % too much: “é”.")
    look_at(page, "an export that no import takes")
    with page.tab.expect_download() as started:
        warning.get_by_role("button", name="Save anyway").click()
    started.value.save_as(tmp_path / "talk.json")
    assert json.loads((tmp_path / "talk.json").read_text())["thread"]["title"] == "Hello"
    expect(warning).to_have_count(0)


def test_a_redacted_export_is_imported_beside_the_original(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    page.say("What is 12 * (3 + 4)?")
    page.ask_to_export().get_by_label("Leave out tool results").check()
    file = page.export(tmp_path)
    assert file.name.endswith(".waymark.json")
    page.choose_import(file)
    page.confirm(IMPORT)
    expect(page.threads).to_have_count(2)
    expect(page.tab.locator("pre").get_by_text("[redacted]")).to_have_count(1)


def test_a_refusal_goes_when_another_file_is_chosen(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    file = tmp_path / "talk.json"
    file.write_text("{}")
    page.choose_import(file)
    expect(page.toast).to_contain_text("was not imported")
    file.write_text(_valid())
    page.choose_import(file)
    page.dialog.wait_for()
    expect(page.toast.locator(".toast")).to_have_count(0)
    page.confirm("Cancel")


def test_a_long_conversation_is_previewed_with_its_real_numbers(server: Server, visit: Visit, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(_valid(*(f"line {number}" for number in range(1, 1_001))))
    page = visit(server)
    page.say("Hello")
    page.choose_import(file)
    lines = page.dialog.locator(".preview li[value]")
    expect(lines).to_have_count(6)
    numbers = lines.evaluate_all("lines => lines.map(line => [line.value, line.innerText])")
    assert numbers == [[n, f"{'You' if n % 2 else 'Agent'} line {n}"] for n in (1, 2, 3, 998, 999, 1_000)]
    assert page.dialog.locator(".preview").evaluate(ROOM_FOR_NUMBERS) >= 0
    buttons = page.dialog.locator(".modal-footer button")
    expect(buttons).to_have_count(3)
    assert len(set(buttons.evaluate_all("buttons => buttons.map(each => each.getBoundingClientRect().y)"))) == 1
    page.confirm("Cancel")


def test_chats_of_open_webui_become_conversations(server: Server, visit: Visit, tmp_path: Path) -> None:
    message = {"id": "a", "parentId": None, "childrenIds": [], "role": "user", "content": "hello there"}
    chats = [{"title": title, "history": {"currentId": "a", "messages": {"a": message}}} for title in ("One", "Two")]
    file = tmp_path / "chats.json"
    file.write_text(json.dumps(chats))
    page = visit(server)
    page.choose_import(file)
    expect(page.dialog).to_contain_text("2 conversations:")
    page.confirm("As new conversations")
    page.expect_messages(1)
    assert sorted(page.thread_titles()) == ["One", "Two"]


def _valid(*lines: str) -> str:
    database = Database.in_memory()
    store = Store(database)
    text = transfer.export(store, talked(store, *(lines or ("a question", "an answer"))))
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
    "a missing field": (lambda: _changed("messages", 1, "parent_id", to=None), r"messages\[1\]\.parent_id is missing"),
    "an id used twice": (_id_used_twice, r"messages\[2\]\.id is the id of another"),
    "an edited message": (lambda: _changed("messages", 1, "message", "data", "content", to="x"), r"messages\[1\]\.hash"),
    "NaN": (lambda: _changed("thread", "settings", to={"temperature": float("nan")}), "NaN"),
    "depth 900": (lambda: _changed("thread", "settings", to=_deep(900)), "deeper than 100"),
    "depth 1,000 of nothing": (lambda: "[" * 1000 + "]" * 1000, "deeper than 100"),
    "10 MB and a little": (lambda: " " * 10_500_000, "larger than 10 MB"),
    "11 MB": (lambda: " " * (11 * MEBIBYTE), "larger than 10 MB"),
}


@pytest.mark.parametrize("wrong", sample(INVALID, 3))
def test_an_invalid_file_changes_nothing_and_says_why(
    wrong: str, shared_server: Server, visit: Visit, tmp_path: Path
) -> None:
    made, reason = INVALID[wrong]
    file = tmp_path / "talk.json"
    file.write_text(made())
    page = visit(shared_server)
    nothing_yet = page.tab.get_by_text("Your conversations will appear here")
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
    with page.tab.expect_file_chooser() as chooser:
        page.tab.get_by_role("button", name="Conversation menu").press("Enter")
        page.tab.get_by_role("button", name="Import", exact=True).press("Enter")
    chooser.value.set_files(file)
    page.confirm("Cancel")


def test_an_export_as_html_opens_by_itself_and_nothing_in_it_runs_or_loads(
    shared_server: Server, visit: Visit, tmp_path: Path, browser: Browser
) -> None:
    page = visit(shared_server)
    page.say("What is 12 * (3 + 4)?")
    hostile = "<img src=x onerror=alert(1)><script>window.ran=1</script>"
    page.save(hostile, hostile)
    page.say(f"{hostile} ![x](https://elsewhere.example/x.png)")
    page.ask_to_export().get_by_label("Format").select_option(label="HTML, to read anywhere")
    file = page.export(tmp_path)
    assert file.name.endswith(".html")

    with browser.new_context(color_scheme="dark") as context:
        tab, requests = context.new_page(), list[str]()
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("console", lambda message: requests.append(message.text))
        tab.goto(file.as_uri())
        expect(tab.get_by_role("heading", level=1)).to_have_text("What is 12 * (3 + 4)?")
        expect(tab.locator("article")).to_have_count(5)
        expect(tab.locator(".checkpoint strong")).to_have_text(hostile)
        tab.locator("summary", has_text="Tool: calculator").click()
        expect(tab.locator("details[open] pre").last).to_contain_text("84")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 23)"
        assert tab.evaluate("window.ran") is None
        assert tab.locator("script, img, article [onerror]").count() == 0
        assert requests == [file.as_uri()]


def test_everything_moves_to_another_server_as_one_archive(start: Start, visit: Visit, tmp_path: Path) -> None:
    here, there = visit(start()), visit(start())
    titles = ["What is 2 * 3?", "<img src=x onerror=alert(1)>"]
    for title in titles:
        here.new_conversation()
        here.say(title)
    here.tab.locator(".threads").get_by_role("button", name="Select", exact=True).wait_for()
    with here.tab.expect_download() as started:
        here.tab.get_by_role("button", name="Export all").click()
    file = tmp_path / started.value.suggested_filename
    started.value.save_as(file)
    assert file.name == "conversations.zip"

    for said in ("2 conversations imported.", "0 conversations imported, 2 here already."):
        there.choose_import(file)
        expect(there.dialog).to_contain_text("2 conversations:")
        expect(there.dialog.get_by_role("button", name=MERGE)).to_be_hidden()
        there.confirm("As new conversations")
        expect(there.threads).to_have_count(2)
        expect(there.toast).to_contain_text(said)
        expect(there.notice).to_have_count(0)  # one notice is enough, and it undoes all of them
        assert sorted(there.thread_titles()) == sorted(here.thread_titles())
    there.tab.wait_for_url(re.compile("/t/"))
    assert there.tab.locator("img").count() == 0


def test_several_imported_conversations_are_undone_together(server: Server, visit: Visit, tmp_path: Path) -> None:
    page, file = visit(server), tmp_path / "chats.json"
    chat = {"history": {"currentId": "a", "messages": {"a": {"id": "a", "parentId": None, "role": "user", "content": "Hi"}}}}
    file.write_text(json.dumps([{"chat": {"title": title, **chat}} for title in ("One", "Two", "Three")]))
    page.choose_import(file)
    page.confirm("As new conversations")
    expect(page.threads).to_have_count(3)
    page.toast.get_by_role("button", name="Undo").click()
    expect(page.threads).to_have_count(0)


def test_120_hostile_texts_in_an_export_as_html_run_and_load_nothing(
    memory_store: Store, tmp_path: Path, browser: Browser
) -> None:
    assert len(HOSTILE) >= 120
    document = export_html(memory_store, write_hostile(memory_store, HOSTILE))
    expect_harmless(document)
    file = tmp_path / "hostile.html"
    file.write_text(document)
    with browser.new_context() as context:
        tab, complaints = context.new_page(), list[str]()
        tab.on("request", lambda request: complaints.append(request.url))
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        tab.goto(file.as_uri())
        tab.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        expect(tab.locator("main > article")).to_have_count(3 * len(HOSTILE))
        expect(tab.locator(".checkpoint")).to_have_count(len(HOSTILE))
        assert [each for each in complaints if not each.startswith("data:image/png;")] == [file.as_uri()]
