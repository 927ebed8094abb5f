"""Files, lists, sessions, models and graphs on a slow network, and on one that is away: once, and nothing lost or unsaid."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from tests.e2e import dialogs, networks, test_password, test_sessions
from tests.e2e.conftest import Start, Visit
from tests.e2e.networks import UNSAID, Network
from tests.e2e.test_slow_networks import expect_changes
from tests.e2e.test_user_graph_questions import ASKING
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.test_inputs import TALK, TRIP
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
name, page, other_tab, new_page = networks.name, networks.page, test_sessions.other_tab, test_password.new_page


def form(page: Page) -> Locator:
    return page.tab.get_by_role("form", name="Inputs of the graph")


def test_a_file_is_imported_once(page: Page, name: str, tmp_path: Path) -> None:
    file = page.export(tmp_path)
    page.say("Green?")  # so that the file becomes a copy
    network = Network(page, name)
    if network.is_away:
        network.leave()
        page.choose_import(file)
        expect(page.toast).to_contain_text("was not imported. The file cannot be read, or the server does not answer.")
        network.come_back()
        page.toast.get_by_role("button", name="close").click()
        expect(page.tab.get_by_text("was not imported")).to_have_count(0)
    page.choose_import(file)
    page.dialog.wait_for()
    network.press(page.dialog.get_by_role("button", name="As a new conversation"))
    page.expect_messages(2)
    expect(page.tab.locator(".modal")).to_have_count(0)
    expect(page.threads).to_have_count(2)


def test_several_conversations_are_deleted_and_come_back_once(page: Page, name: str) -> None:
    page.new_conversation()
    page.say("Green?")
    network = Network(page, name)
    page.tab.get_by_role("button", name="Select", exact=True).click()
    page.tab.keyboard.press("Control+a")
    page.tab.get_by_role("toolbar", name="Selected conversations").get_by_role("button", name="Delete").click()
    network.press(page.dialog.get_by_role("button", name="Delete", exact=True))
    expect(page.threads).to_have_count(0)
    page.toast.get_by_role("button", name="Undo").dblclick()
    expect(page.threads).to_have_count(2)
    page.tab.get_by_role("button", name="Done").click()
    page.threads.filter(has_text="Green?").click()
    expect_changes(page, "Undid deleting the conversation Green?", "Deleted the conversation Green?", "Wrote")


def _open_connecting(page: Page) -> None:
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("button", name="Connect a model…").click()


READING: dict[str, tuple[Callable[[Page], None], str]] = {  # how a dialog is opened, and what it shows
    "sessions": (lambda page: page.press_in_menu("Sessions"), '[data-testid="session"]'),
    "audit": (lambda page: page.press_in_menu("Audit log"), '[data-testid="audit-entry"]'),
    "usage": (lambda page: page.press_in_menu("Usage"), "tbody tr"),
    "prompts": (lambda page: dialogs.run_command(page, "/prompts"), '[data-testid="prompt"]'),
    "tags": (lambda page: dialogs.run_command(page, "/tags"), '[data-testid="tag"]'),
    "settings of the app": (lambda page: page.press_in_menu("App settings"), "textarea"),
    "models": (_open_connecting, ".connect-fields input"),
}


def test_dialogs_that_were_opened_without_a_network_are_read_when_it_is_back(page: Page, fake_openai: FakeOpenAI) -> None:
    page.open()
    dialogs.prepare(page, fake_openai)
    page.press_in_menu("Share…")  # for the audit log
    page.dialog.get_by_role("button", name="Make a link").click()
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(1)
    page.confirm("Close")
    network = Network(page, networks.AWAY)
    for open_dialog, shown in READING.values():
        open_dialog(page)  # its module is there afterwards
        expect(page.dialog.locator(shown)).not_to_have_count(0)
        page.tab.keyboard.press("Escape")
        expect(page.dialog).to_have_count(0)
        network.leave()
        open_dialog(page)
        problem = page.dialog.get_by_text(UNSAID)
        expect(problem).to_be_visible()
        expect(page.dialog.locator(shown)).to_have_count(0)
        network.come_back()
        expect(page.dialog.locator(shown)).not_to_have_count(0)
        expect(problem).not_to_be_visible()
        page.tab.keyboard.press("Escape")
        expect(page.dialog).to_have_count(0)


CHANGED: dict[str, tuple[str, str, str]] = {  # the dialog, its field, and what presses for a change
    "conversation": ("Conversation settings", "Instructions", "Save"),
    "app": ("App settings", "Default instructions", "Save"),
}


@pytest.mark.parametrize("changed", CHANGED)
def test_a_change_that_was_lost_is_said_until_it_is_sent_again(page: Page, changed: str) -> None:
    menu, label, button = CHANGED[changed]
    network = Network(page, networks.AWAY)
    page.press_in_menu(menu)
    field, problem = page.dialog.get_by_label(label, exact=True), page.dialog.get_by_role("alert")
    field.fill("Be brief.")
    network.leave()
    page.dialog.get_by_role("button", name=button, exact=True).click()
    expect(problem).to_contain_text("The server does not answer.")
    network.come_back()
    page.tab.wait_for_timeout(500)  # a reading would have come
    expect(problem).to_contain_text("The server does not answer.")
    field.fill("Be kind.")
    problem.get_by_role("button", name="Try again").click()
    expect(problem).to_have_count(0)
    page.reload()
    page.press_in_menu(menu)
    expect(field).to_have_value("Be kind.")


def test_the_plot_of_usage_comes_when_the_server_is_back(page: Page) -> None:
    page.expect_lost_server()
    page.server.stop()
    page.press_in_menu("Usage")
    expect(page.dialog.get_by_text(UNSAID)).to_be_visible()
    page.server.start()
    page.dialog.get_by_role("button", name="Try again").click()
    expect(page.dialog.locator("tbody tr")).to_have_count(3)
    expect(page.dialog.locator(".usage-plot .bars").first).to_be_visible()
    page.dialog.get_by_role("radio", name="Cost").check()
    expect(page.dialog.locator(".usage-plot .ytick").first).to_contain_text("$")


def test_people_are_read_and_counted_when_the_network_is_back(new_page: test_password.NewPage) -> None:
    ann, bob = new_page(), new_page()
    test_password.join(ann, ann.server.links[0], "Ann")
    test_password.join(bob, test_password.invite(ann, "Member"), "bob")
    network = Network(ann, networks.AWAY)
    lines = ann.dialog.get_by_test_id("person")
    network.leave()
    ann.press_in_menu("People")
    expect(ann.dialog.get_by_role("alert")).to_contain_text(UNSAID)
    network.come_back()
    expect(lines).to_have_count(2)
    expect(ann.dialog.get_by_role("alert")).to_have_count(0)
    network.press(ann.dialog.get_by_role("button", name="Make a link"))
    expect(ann.dialog.get_by_test_id("person-link")).to_have_count(1)
    expect(ann.dialog.get_by_label(re.compile("^Give this link"))).to_be_visible()
    network.leave()
    lines.filter(has_text="bob").get_by_role("button", name="Erase").click()
    expect(ann.dialog.get_by_role("alert")).to_contain_text(UNSAID)
    network.come_back()
    expect(ann.dialog).to_contain_text("nothing yet")
    ann.dialog.get_by_label("Write the name to confirm").fill("bob")
    network.press(ann.dialog.get_by_role("button", name="Erase for good"))
    expect(lines).to_have_count(1)
    expect(ann.dialog.get_by_role("alert")).to_have_count(0)


def test_other_sessions_are_ended_once(page: Page, other_tab: Tab, name: str) -> None:
    network = Network(page, name)
    network.leave()
    page.press_in_menu("Sessions")
    if network.is_away:
        expect(page.dialog.get_by_role("alert")).to_contain_text(UNSAID)
        network.come_back()
    lines = page.dialog.get_by_test_id("session")
    expect(lines).to_have_count(2)
    network.press(page.dialog.get_by_role("button", name="Sign all others out"))
    expect(lines).to_have_count(1)
    expect(page.dialog.get_by_role("alert")).to_have_count(0)
    test_sessions.expect_signed_out(other_tab)
    page.confirm("Close")
    page.say("Green?")


def test_a_model_is_connected_once(start: Start, visit: Visit, fake_openai: FakeOpenAI, name: str) -> None:
    page = visit(start(model=""))
    page.composer.fill("Red?")
    fake_openai.script(Say("ready"), Say("Red it is."))
    page.tab.get_by_test_id("connect").click()
    page.dialog.get_by_label("Provider").select_option("compatible")
    page.dialog.get_by_label("Address").fill(fake_openai.base_url)
    page.dialog.get_by_label("API key").fill("sk-very-secret-0123456789")
    page.dialog.get_by_label("Model").fill("some-model")
    Network(page, name).press(page.dialog.get_by_role("button", name="Connect", exact=True))
    expect(page.tab.locator(".composer-model")).to_have_text("some-model")
    assert len(fake_openai.requests) == 1
    expect(page.composer).to_have_value("Red?")
    page.composer.press("Enter")
    page.wait_for_answer()
    assert page.answer() == "Red it is."


def test_the_values_of_a_graph_are_read_when_the_network_is_back(
    start: Start, visit: Visit, name: str, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path)))
    page.say("hello")
    page.save("Greeted")
    page.say("more")
    network = Network(page, name)
    page.open_card_menu(page.checkpoint("Greeted")).get_by_test_id("state").dblclick()
    turns = page.dialog.get_by_test_id("channel").filter(has_text="turns").locator("summary")
    expect(turns).to_contain_text("1 → 2")
    network.leave()
    page.dialog.get_by_label("Difference to").select_option(label="(none)")
    if network.is_away:
        expect(page.dialog).to_contain_text("The server does not answer.")
        network.come_back()
    expect(turns).to_have_text("turns1")


def test_the_form_of_a_graph_is_run_once(start: Start, visit: Visit, name: str, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TRIP)))
    form(page).get_by_label("City").fill("Rome")
    network = Network(page, name)
    network.press(form(page).get_by_role("button", name="Run"))
    expect(page.message('"Rome 0"')).to_have_count(1)
    page.wait_for_answer()
    expect(page.queued).to_have_count(0)
    page.expect_messages(2)
    expect(page.composer).to_have_value("")
    form(page).get_by_label("City").fill("Oslo")
    network.press(form(page).get_by_role("button", name="Run"))
    expect(page.message('"Oslo 0"')).to_have_count(1)
    page.wait_for_answer()
    page.expect_messages(4)


def test_inputs_of_a_graph_go_with_their_message(start: Start, visit: Visit, name: str, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TALK)))
    summary = page.tab.locator(".graph-inputs summary")
    summary.click()
    page.tab.get_by_label("Days").fill("3")
    page.composer.fill("go")
    network = Network(page, name)
    network.leave()
    page.composer.press("Enter")
    if network.is_away:
        expect(page.tab.locator(".composer-problem")).to_contain_text(UNSAID)
        expect(summary).to_contain_text("1 input for the next message")
        network.come_back()
        page.tab.get_by_role("button", name="Try again").first.click()
    expect(page.message("go 3 []")).to_have_count(1)
    page.wait_for_answer()
    expect(summary).not_to_contain_text("for the next message")
    expect(page.composer).to_have_value("")
    page.expect_messages(2)


def test_a_question_of_a_graph_is_answered_once(start: Start, visit: Visit, name: str, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    page.send("inbox")
    asked = question(page)
    expect(asked).to_contain_text("Books a seat.")
    network = Network(page, name)
    network.press(asked.get_by_role("button", name="Approve"))
    expect(asked).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "[{'args': None, 'type': 'accept'}]"
    page.send("form")
    asked.get_by_label("Name").fill("Ada")
    asked.get_by_label("Row").fill("7")
    network.press(asked.get_by_role("button", name="Answer"))
    expect(asked).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "row 8 for Ada"
    page.expect_messages(4)


def test_a_deleted_conversation_is_brought_back_once(page: Page, name: str) -> None:
    page.tab.get_by_role("button", name="Delete Red?", exact=True).press("Enter")
    page.confirm("Delete")
    expect(page.threads).to_have_count(0)
    page.toast.get_by_role("button", name="close").click()
    page.tab.get_by_role("button", name="Deleted", exact=True).click()
    Network(page, name).press(page.tab.get_by_role("button", name="Bring back Red?"))
    page.expect_messages(2)
    expect(page.dialog).to_have_count(0)
    expect(page.threads).to_have_count(1)
    expect_changes(page, "Undid deleting the conversation Red?", "Deleted the conversation Red?")
