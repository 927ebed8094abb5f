"""Messages and changes of the conversation on a slow network, and on one that is away: once, and nothing lost or unsaid."""

from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Locator, Route, expect

from tests.e2e import networks
from tests.e2e.conftest import Visit
from tests.e2e.networks import UNSAID, Network
from tests.e2e.server import Server
from tests.e2e.test_attachments import NOTES, attach, chips
from tests.e2e.test_slow_networks import expect_changes
from tests.e2e.waymark import SHOWN, Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
name, page = networks.name, networks.page


def expect_asked(page: Page, *texts: str) -> None:
    """These questions, and an answer to the last one."""
    expect(page.tab.locator(f'{SHOWN}[data-role="user"]')).to_have_count(len(texts))
    page.wait_for_answer()
    expect(page.queued).to_have_count(0)
    assert [each.text for each in page.messages() if each.role == "user"] == list(texts)


def try_again(page: Page) -> Locator:
    """The button beside the sentence about what was not sent or stopped."""
    return page.tab.locator(".composer-problem").get_by_role("button", name="Try again")


def send(page: Page, network: Network, text: str) -> None:
    """Press Enter twice; or in vain, and, after the network is back, try again."""
    page.composer.fill(text)
    network.leave()
    page.composer.press("Enter")
    if network.is_away:
        expect(page.tab.locator(".composer-problem")).to_contain_text(UNSAID)
        network.come_back()
        try_again(page).click()
    else:
        page.composer.press("Enter")


def test_a_message_is_sent_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    send(page, Network(page, name), "Green?")
    expect_asked(page, "Red?", "Green?")
    expect(page.composer).to_have_value("")
    assert len(fake_openai.requests) == 2


def test_a_file_goes_once_with_its_message(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    network = Network(page, name)
    network.leave()
    attach(page, NOTES)  # the browser reads it
    network.come_back()
    expect(chips(page)).to_have_count(1)
    send(page, network, "Green?")
    expect_asked(page, "Red?", "Green?")
    expect(chips(page)).to_have_count(0)
    assert str(fake_openai.requests[-1]).count("the plan") == 1
    assert len(fake_openai.requests) == 2


def test_an_answer_is_stopped_once_and_what_came_of_it_stays(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    network = Network(page, name)
    fake_openai.hold(after_tokens=1)
    page.send("Green?")
    expect(page.live).to_contain_text("Green")
    if network.is_away:
        network.leave()
        page.stop_button.click()
        expect(page.tab.locator(".composer-problem")).to_contain_text("Not stopped yet")
        expect(page.toast.get_by_text("be sent twice")).to_have_count(0)  # one word is enough
        network.come_back()
        try_again(page).click()
    else:
        page.stop_button.dblclick()
    expect(page.stop_button).to_have_count(0)
    expect(page.log).to_contain_text("You stopped this answer.")
    fake_openai.release()
    assert page.answer() == "Green"
    expect(page.composer).to_have_value("")


def test_a_message_that_waits_is_sent_now_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Green it is."), Say("Blue it is."))
    fake_openai.hold(after_tokens=1)
    page.send("Green?")
    expect(page.live).to_contain_text("Green")
    page.composer.fill("Blue?")
    page.composer.press("Enter")
    expect(page.queued).to_contain_text("Blue?")
    Network(page, name).press(page.queued.get_by_role("button", name="Send now"), try_again(page))
    fake_openai.release()
    expect(page.log).to_contain_text("Blue it is.")
    expect_asked(page, "Red?", "Green?", "Blue?")
    assert len(fake_openai.requests) == 3


def test_a_checkpoint_is_renamed_and_deleted_once(page: Page, name: str) -> None:
    page.save("First")
    network = Network(page, name)
    page.choose_at(page.checkpoint("First"), "Rename")
    form = page.tab.get_by_role("form", name="Rename checkpoint")
    form.get_by_label("Name").fill("Second")
    if network.is_away:
        network.leave()
        form.get_by_role("button", name="Save").click()
        expect(page.toast).to_contain_text(UNSAID)
        network.come_back()
        page.toast.get_by_role("button", name="Try again").click()
    else:
        form.get_by_role("button", name="Save").dblclick()
        expect(page.dialog).to_have_count(0)
    page.expect_checkpoints(("Second", 2))
    page.tab.get_by_role("button", name="Delete Second").click()
    network.press(page.dialog.get_by_role("button", name="Delete", exact=True))
    expect(page.tab.get_by_test_id("checkpoint")).to_have_count(0)
    expect_changes(page, "Deleted the checkpoint Second", "Renamed", "Saved checkpoint First")


@pytest.fixture
def branched(page: Page) -> Page:
    """On the branch main, with another branch beside it."""
    page.say("Green?")
    page.ask_to_branch("Red it is.").get_by_label("Name").fill("Other")
    page.confirm("Branch")
    page.expect_messages(2)
    return page


def test_a_branch_is_switched_to_and_another_deleted_once(branched: Page, name: str) -> None:
    network = Network(branched, name)
    network.press(branched.select(branched.branch("main")).get_by_test_id("switch"))
    branched.expect_messages(4)
    branched.select(branched.branch("Other")).get_by_test_id("delete").click()
    expect(branched.toast.get_by_text("changed elsewhere")).to_have_count(0)  # by the second of two clicks
    network.press(branched.dialog.get_by_role("button", name="Delete", exact=True))
    expect(branched.branches).to_have_count(0)  # one alone is not listed
    expect_changes(branched, "Deleted the branch Other", "Switched to")


def test_another_alternative_is_chosen_once(page: Page, name: str) -> None:
    page.button_of("Red it is.", "Answer again").click()
    page.alternatives("2 of 2").wait_for()
    page.wait_for_answer()
    group = page.alternatives("2 of 2")
    Network(page, name).press(group.get_by_role("button", name="Previous alternative"))
    expect(page.alternatives("1 of 2")).to_be_visible()
    assert page.answer() == "Red it is."
    page.reload()
    assert page.answer() == "Red it is."


def test_what_a_restore_removed_becomes_one_branch(page: Page, name: str) -> None:
    page.save("Begin")
    page.say("Green?")
    page.restore("Begin")
    Network(page, name).press(page.notice.get_by_role("button", name="Keep as branch"))
    expect(page.branches).to_have_count(2)
    page.expect_messages(2)
    page.reload()
    expect(page.branches).to_have_count(2)


def test_a_change_is_redone_once(page: Page, name: str) -> None:
    page.say("Green?")
    page.tab.get_by_role("button", name="Undo last change").click()
    page.expect_messages(2)
    Network(page, name).press(page.tab.get_by_role("button", name="Redo", exact=True))
    page.expect_messages(4)
    expect(page.tab.get_by_role("button", name="Redo", exact=True)).to_be_disabled()


def test_a_conversation_is_cleared_once(page: Page, name: str) -> None:
    network = Network(page, name)
    page.press_in_menu("Clear conversation")
    network.press(page.dialog.get_by_role("button", name="Clear", exact=True))
    page.expect_messages(0)
    page.undo()
    page.expect_messages(2)


def test_a_file_is_merged_once(page: Page, name: str, tmp_path: Path) -> None:
    page.save("Begin")
    page.say("Green?")
    file = page.export(tmp_path)
    page.restore("Begin")
    page.composer.fill("")
    page.say("Blue?")
    network = Network(page, name)
    page.choose_import(file)
    page.dialog.wait_for()
    network.press(page.dialog.get_by_role("button", name="Merge into this conversation"))
    expect(page.tab.locator(".modal")).to_have_count(0)
    expect(page.branches).to_have_count(2)
    expect(page.threads).to_have_count(1)
    expect_changes(page, "Imported", "Wrote")


def test_all_conversations_are_downloaded_once(page: Page, name: str) -> None:
    network = Network(page, name)
    button = page.tab.get_by_role("button", name="Export all")
    if network.is_away:
        network.leave()
        button.click()
        expect(page.toast).to_contain_text("The server did not answer. Nothing was exported.")
        network.come_back()
    downloads: list[str] = []
    page.tab.on("download", lambda download: downloads.append(download.suggested_filename))
    with page.tab.expect_download() as started:
        button.dblclick()
    assert Path(started.value.path()).stat().st_size > 0
    expect(button).to_be_enabled()
    assert len(downloads) == 1


def test_one_link_is_made(page: Page, name: str) -> None:
    network = Network(page, name)
    page.press_in_menu("Share…")
    network.press(page.dialog.get_by_role("button", name="Make a link"))
    expect(page.dialog.get_by_label("The link is shown only now.")).to_be_visible()
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(1)
    page.confirm("Close")
    page.press_in_menu("Share…")
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(1)
    network.press(page.dialog.get_by_role("button", name="Revoke"))
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(0)


def test_the_dialog_of_links_recovers_from_a_network_that_was_away_while_it_opened(page: Page) -> None:
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").wait_for()
    page.confirm("Close")
    network = Network(page, networks.AWAY)
    network.leave()
    page.press_in_menu("Share…")
    expect(page.dialog.get_by_role("alert")).to_contain_text(UNSAID)
    network.come_back()
    page.dialog.get_by_role("button", name="Make a link").dblclick()
    expect(page.dialog.get_by_label("The link is shown only now.")).to_be_visible()
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(1)
    expect(page.dialog.get_by_role("alert")).to_have_count(0)


HELD_READING = """(reading) => {
  const send = window.fetch;
  const released = new Promise((resolve) => document.addEventListener("release", resolve, { once: true }));
  window.fetch = async (address, options) => {
    const reply = await send(address, options);
    const isHeld = String(options?.body).includes(reading);
    if (isHeld) await released;
    return reply;
  };
}"""


def test_a_link_stays_in_sight_after_a_reading_that_is_older(page: Page) -> None:
    """The link is shown once: a list that arrives late must not hide it."""
    page.tab.evaluate(HELD_READING, '"changedPropIds":["share-dialog-changed.data"]')
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").click()
    link = page.dialog.get_by_label("The link is shown only now.")
    expect(link).to_be_visible()
    page.tab.evaluate("""() => {
      document.dispatchEvent(new Event("release"));
      return new Promise((resolve) => setTimeout(resolve));  // after whatever follows from the reply
    }""")
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(1)
    expect(link).to_be_visible()


def test_the_agent_goes_back_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Call("goto", {"position": "msg_0", "message": "Blue instead."}, text="Back."), Say("Blue it is."))
    page.send("Green?")
    expect(page.approval).to_be_visible()
    Network(page, name).press(allow(page))
    expect(page.log).to_contain_text("Blue it is.")
    page.wait_for_answer()
    page.expect_messages(3)
    assert len(fake_openai.requests) == 3


def allow(page: Page) -> Locator:
    return page.approval.get_by_role("button", name="Allow", exact=True)


@pytest.mark.parametrize("change", ["Clear", "Restore"])
def test_undo_means_a_change_as_soon_as_its_dialog_has_closed(change: str, shared_server: Server, visit: Visit) -> None:
    """Though a busy server's page asks for the panels when the change is broadcast, which is before its reply comes."""
    page = visit(shared_server)
    page.say("Hello")
    page.save("Begin")
    page.say("Hello again")
    page.edit("Hello again", "Good morning")
    expect(page.notice).to_contain_text("were removed")
    page.wait_for_answer()
    if change == "Clear":
        page.press_in_menu("Clear conversation")
    else:
        page.ask_to_restore("Begin")
    readings: list[Route] = []

    def hold(route: Route) -> None:
        readings.append(route)

    def reply_late(route: Route) -> None:
        reply = route.fetch()
        while not readings:
            page.tab.wait_for_timeout(20)
        route.fulfill(response=reply)

    page.tab.route("**/api/panels", hold)
    page.tab.route("**/api/actions/*-dialog", reply_late)
    page.confirm(change)
    page.undo()
    page.expect_messages(4)
    for each in readings:
        each.continue_()
    expect(page.tab.get_by_role("button", name="Redo", exact=True)).to_be_enabled()
    expect(page.toast.locator(".toast.show")).to_have_count(0)
    page.expect_messages(4)


# When messages are shown again: before Undo is pressed, or after.
WATCH_RETURN = """() => {
  window.returned = [];
  let cause = "by itself";
  document.addEventListener("click", () => (cause = "undone"), true);
  let count = 0;
  new MutationObserver(() => {
    const now = document.querySelectorAll("[data-testid=message][data-message-id]").length;
    if (count === 0 && now > 0) returned.push(cause);
    count = now;
  }).observe(document.body, { childList: true, subtree: true });
}"""


def test_a_reading_from_before_a_change_does_not_take_it_back(shared_server: Server, visit: Visit) -> None:
    """Though the page asked for it after the change was sent, and it comes after the reply to that."""
    page = visit(shared_server)
    page.say("Hello")
    page.press_in_menu("Clear conversation")
    readings: list[tuple[Route, APIResponse]] = []

    def reply_after_a_reading(route: Route) -> None:
        page.tab.evaluate("dash_clientside.set_props('head', {data: {tick: 1}})")  # as a callback of Dash asks for one
        while not readings:
            page.tab.wait_for_timeout(20)
        route.continue_()

    page.tab.route("**/api/panels", lambda route: readings.append((route, route.fetch())))
    page.tab.route("**/api/actions/clear-dialog", reply_after_a_reading)
    page.confirm("Clear")
    page.expect_messages(0)
    page.tab.evaluate(WATCH_RETURN)
    page.tab.unroute("**/api/panels")
    for route, reply in readings:  # the first one is from before
        with page.tab.expect_response("**/api/panels"):
            route.fulfill(response=reply)
    page.undo()
    page.expect_messages(2)
    assert page.tab.evaluate("window.returned") == ["undone"]
