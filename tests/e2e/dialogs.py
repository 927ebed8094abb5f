"""The states of the page that a person opens: dialogs, lists and cards. Each is opened on a prepared conversation."""

from collections.abc import Callable, Mapping
from typing import Literal

from playwright.sync_api import FilePayload, expect

from tests.e2e.server import Server
from tests.e2e.test_conversations import choose, row
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

BRANCH = "Before restoring Begin"
PROMPT = "Translate {{text}} into {{language}}"


def prepare(page: Page, fake_openai: FakeOpenAI) -> None:
    """A conversation with a checkpoint, a branch, a tag and a saved prompt; one in the archive, and a deleted one."""
    for text, action in (("An old one", "Archive"), ("A wrong one", "Delete")):
        fake_openai.script(Say("A pond."))
        page.open()
        page.say(text)
        if action == "Archive":
            choose(page, text, action)
        else:
            page.tab.get_by_role("button", name=f"Delete {text}", exact=True).press("Enter")
            page.confirm("Delete")
        expect(row(page, text)).to_have_count(0)
    page.open()
    fake_openai.script(
        Say("The **coast** it is.\n\n| | price |\n|---|--:|\n| ferry | 26 |"),
        Say("The mountains, then."),
        Say(f"A lake. {'Its water is warm in August, and cold in May. ' * 20}"),
    )
    page.say("Where do we go?")
    page.save("Begin", "Before any decision")
    page.say("Rather up than down")
    page.restore("Begin", keep=True)
    page.say("Or to some water")
    choose(page, "Where do we go?", "Tags")
    page.dialog.get_by_role("combobox").fill("Travel")
    page.tab.keyboard.press("Enter")
    expect(row(page, "Where do we go?")).to_contain_text("Travel")
    page.confirm("Close")
    page.tab.locator(".toast .btn-close").click()
    run_command(page, "/prompts")
    page.dialog.locator(".prompts").wait_for()
    if not page.tab.get_by_test_id("prompt").count():
        _fill_prompt(page)
        page.dialog.get_by_role("button", name="Save").click()
        expect(page.tab.get_by_test_id("prompt")).to_have_count(1)
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)


def run_command(page: Page, command: str) -> None:
    page.composer.fill(command)
    page.composer.press("Enter")
    page.dialog.wait_for()


def _fill_prompt(page: Page) -> None:
    page.dialog.get_by_role("button", name="New prompt").click()
    form = page.dialog
    form.get_by_label("Name").fill("Translation")
    form.get_by_label("Text").fill(PROMPT)


def _open_prompt(page: Page) -> None:
    run_command(page, "/prompts")
    _fill_prompt(page)


def _open_variables(page: Page) -> None:
    run_command(page, "/prompts")
    page.dialog.get_by_role("button", name="Insert Translation").click()
    expect(page.tab.get_by_label("language", exact=True)).to_be_visible()


def _open_palette(page: Page) -> None:
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill("coast")
    expect(page.tab.get_by_role("group", name="Messages found")).to_be_visible()


def _open_keys(page: Page) -> None:
    page.composer.blur()
    page.tab.keyboard.press("?")
    page.dialog.wait_for()


def _open_models(page: Page) -> None:
    page.tab.get_by_test_id("model").click()
    expect(page.tab.get_by_role("combobox", name="Find a model")).to_be_visible()


def _open_slash_list(page: Page) -> None:
    page.composer.fill("/")
    expect(page.tab.get_by_role("option").first).to_be_visible()


def _open_comparison(page: Page) -> None:
    page.select(page.branch(BRANCH)).get_by_test_id("compare").click()
    expect(page.dialog.locator(".compare-length")).to_have_count(2)


def _open_find_bar(page: Page) -> None:
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("option", name="Find in this conversation").click()
    bar = page.tab.get_by_role("search")
    bar.get_by_role("textbox").fill("lake")
    expect(bar.get_by_role("status")).to_contain_text("1")


def _open_meter(page: Page) -> None:
    page.tab.get_by_test_id("meter").click()
    expect(page.tab.locator(".meter-panel")).to_be_visible()


def _open_connecting(page: Page) -> None:
    _open_models(page)
    page.tab.get_by_role("button", name="Connect a model…").click()
    expect(page.dialog.get_by_label("API key")).to_be_visible()


def _show_archive(page: Page) -> None:
    button = page.tab.get_by_role("button", name="Archived", exact=True)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")


def _open_plot(page: Page) -> None:
    page.tab.get_by_text("Tokens over the conversation").click()
    expect(page.tab.locator(".history-tokens svg").first).to_be_visible()


def _select_conversations(page: Page) -> None:
    page.tab.get_by_role("button", name="Select", exact=True).click()
    page.tab.keyboard.press("Control+a")


def _open_message_menu(page: Page) -> None:
    page.button_of("Or to some water", "More").click()
    expect(page.tab.get_by_role("menuitem").first).to_be_visible()


def _find_nothing(page: Page) -> None:
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill("no such thing")
    expect(page.dialog).to_contain_text("No matches.")


def _list_places(page: Page) -> None:
    for _ in range(2):
        page.composer.press("Escape")
    expect(page.tab.get_by_role("option").first).to_be_visible()


def _rename_checkpoint(page: Page) -> None:
    page.choose_at(page.checkpoint("Begin"), "Rename")
    expect(page.tab.get_by_role("form", name="Rename checkpoint")).to_be_visible()


def _delete_conversation(page: Page) -> None:
    page.tab.get_by_role("button", name="Delete Where do we go?", exact=True).press("Enter")
    page.dialog.wait_for()


def _delete_others(page: Page) -> None:
    page.choose_at(page.branch("main"), "Delete all others")
    page.dialog.wait_for()


def _search_list(page: Page) -> None:
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill("coast")
    expect(page.tab.get_by_role("region", name="In messages")).to_contain_text("coast")


def _fill(page: Page, role: Literal["searchbox", "combobox"], name: str, expected: str) -> None:
    """Look for what nobody has written, and wait for the words that say so."""
    page.tab.get_by_role(role, name=name).fill("zzz")
    expect(page.tab.locator("body")).to_contain_text(expected)


def _find_no_model(page: Page) -> None:
    _open_models(page)
    _fill(page, "combobox", "Find a model", "No matches.")


def _find_no_message(page: Page) -> None:
    _open_find_bar(page)
    bar = page.tab.get_by_role("search")
    bar.get_by_role("textbox").fill("no such word")
    expect(bar.get_by_role("status")).to_contain_text("Nothing found")


def _add_tag(page: Page) -> None:
    run_command(page, "/tag")
    page.dialog.get_by_role("combobox").fill("A new one")


def _rename_tag(page: Page) -> None:
    page.tab.get_by_role("button", name="Tags", exact=True).click()
    page.dialog.get_by_label("Name of the tag").first.fill("Travels")


def _rename_branch(page: Page) -> None:
    page.choose_at(page.branch(BRANCH), "Rename")
    expect(page.tab.get_by_label("Name of the branch")).to_be_focused()


def _make_link(page: Page) -> None:
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").click()
    expect(page.dialog.get_by_test_id("share-link")).to_be_visible()


def _open_settings(page: Page, name: str, field: str) -> None:
    page.press_in_menu(name)
    expect(page.dialog.get_by_label(field, exact=True)).to_be_visible()


def _open_parameters(page: Page) -> None:
    page.press_in_menu("Conversation settings")
    page.dialog.locator("summary").first.click()
    expect(page.dialog.get_by_label("Temperature")).to_be_visible()


def _refuse_file(page: Page) -> None:
    with page.tab.expect_file_chooser() as chooser:
        page.press_in_menu("Import")
    wrong: FilePayload = {"name": "x.json", "mimeType": "application/json", "buffer": b"no JSON"}
    chooser.value.set_files(wrong)
    expect(page.toast.locator("#toast-text")).to_contain_text("x.json")


OPENERS: Mapping[str, Callable[[Page], None]] = {
    "tags": lambda page: run_command(page, "/tag"),
    "all tags": lambda page: page.tab.get_by_role("button", name="Tags", exact=True).click(),
    "run again": lambda page: run_command(page, "/again"),
    "prompts": lambda page: run_command(page, "/prompts"),
    "a prompt": _open_prompt,
    "variables": _open_variables,
    "comparison": _open_comparison,
    "bring home": lambda page: page.choose_at(page.branch(BRANCH), "Quote in this branch"),
    "branch": lambda page: page.press("Begin", "Branch from Begin"),
    "export": lambda page: page.press_in_menu("Export"),
    "changes": lambda page: page.press_in_menu("Change log"),
    "settings": lambda page: _open_settings(page, "Conversation settings", "Model"),
    "settings of the app": lambda page: _open_settings(page, "App settings", "Default instructions"),
    "links": lambda page: page.press_in_menu("Share…"),
    "the audit log": lambda page: page.press_in_menu("Audit log"),
    "sessions": lambda page: page.press_in_menu("Sessions"),
    "menu": lambda page: expect(page.open_menu()).to_be_visible(),
    "keys": _open_keys,
    "palette": _open_palette,
    "models": _open_models,
    "slash commands": _open_slash_list,
    "a message's menu": _open_message_menu,
    "a place": lambda page: expect(page.select(page.checkpoint("Begin"))).to_be_visible(),
    "tokens": _open_plot,
    "found in the list": _search_list,
    "selected conversations": _select_conversations,
    "finding": _open_find_bar,
    "the meter": _open_meter,
    "connecting a model": _open_connecting,
    "archived conversations": _show_archive,
    "deleted conversations": lambda page: page.tab.get_by_role("button", name="Deleted", exact=True).click(),
    "usage": lambda page: page.press_in_menu("Usage"),
    "summarising": lambda page: run_command(page, "/compact"),
    "saving": lambda page: page.save_button.click(),
    "restoring": lambda page: run_command(page, "/restore Begin"),
    "clearing": lambda page: page.press_in_menu("Clear conversation"),
    "nothing found": _find_nothing,
    "places to go back to": _list_places,
    "a branch": lambda page: expect(page.select(page.branch(BRANCH))).to_be_visible(),
    "renaming a checkpoint": _rename_checkpoint,
    "deleting a checkpoint": lambda page: page.press("Begin", "Delete Begin"),
    "deleting a branch": lambda page: page.press(BRANCH, f"Delete branch {BRANCH}"),
    "deleting all other branches": _delete_others,
    "deleting a conversation": _delete_conversation,
    "no conversation found": lambda page: _fill(
        page, "searchbox", "Search conversations and messages", "No message matches."
    ),
    "no model found": _find_no_model,
    "no message found": _find_no_message,
    "a new tag": _add_tag,
    "another name of a tag": _rename_tag,
    "renaming a branch": _rename_branch,
    "a link that was made": _make_link,
    "parameters of a model": _open_parameters,
    "a file that is refused": _refuse_file,
}
SHEETS = {  # where there is little room, these are in a sheet
    **dict.fromkeys(("a place", "a branch", "renaming a checkpoint", "tokens", "saving"), "History"),
    "no conversation found": "Conversations",
    **dict.fromkeys(("found in the list", "selected conversations", "archived conversations"), "Conversations"),
}


def close(page: Page) -> None:
    """Go back to the conversation, whatever is open."""
    page.tab.goto("about:blank")
    page.tab.go_back()
    page.wait_until_ready()
    page.composer.fill("")


def ask_to_go_back(page: Page, fake_openai: FakeOpenAI) -> None:
    """A move of the agent that waits for a decision."""
    fake_openai.script(Call("goto", {"position": "msg_0", "message": "To the coast after all."}, text="Back once more."))
    page.send("Are you sure?")
    expect(page.approval).to_be_visible()


def open_import(page: Page, server: Server) -> None:
    """The preview of a file to import."""
    page.choose_import(page.export(server.folder))
    page.dialog.wait_for()
