"""axe-core looks at what a person seldom sees: tips, an outage, pages for strangers, forks, long results.

The states of people and of graphs are in the stories by keyboard alone.
"""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.e2e import answers, test_password
from tests.e2e.conftest import WIDE, Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import ANY_IMPACT, NARROW, expect_accessible_in_all_schemes, open_history
from tests.e2e.test_password import PASSWORD, NewPage, join
from tests.e2e.test_user_graphs import write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.running_graphs import one_node
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
new_page = test_password.new_page  # the fixture


def look_at(page: Page, state: str) -> None:
    """Look at one state, wide and narrow, in each scheme."""
    sizes: tuple[Any, ...] = (NARROW, WIDE)
    for size in sizes:
        page.tab.set_viewport_size(size)
        expect_accessible_in_all_schemes(page, f"{state} at {size['width']} px", ANY_IMPACT)


def test_tips_and_an_outage(start: Start, visit: Visit) -> None:
    server = start()
    page = visit(server, is_newcomer=True)
    look_at(page, "the first run")
    page.say("Hello")
    look_at(page, "the tip after the first message")
    page.expect_lost_server()
    server.stop()
    expect(page.tab.get_by_test_id("trouble")).to_be_visible()
    look_at(page, "an outage")
    page.composer.fill("Are you there?")
    page.composer.press("Enter")
    expect(page.tab.locator(".composer-problem")).to_be_visible()
    look_at(page, "a message in an outage")


def test_a_search_in_history_that_finds_nothing(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Where do the herons nest?")
    for number in range(9):  # with as many there is a search
        page.save(f"Place {number}")
    page.tab.get_by_role("searchbox", name="Search checkpoints").fill("nowhere")
    sizes: tuple[Any, ...] = (WIDE, NARROW)
    for size in sizes:
        page.tab.set_viewport_size(size)
        open_history(page, size)
        expect(page.tab.get_by_text("No matching checkpoints.")).to_be_in_viewport()
        expect_accessible_in_all_schemes(page, f"nothing found at {size['width']} px", ANY_IMPACT)


def test_a_password_that_is_being_changed(new_page: NewPage) -> None:
    ann = new_page()
    join(ann, ann.server.links[0], "Ann")
    held: list[Route] = []

    def hold(route: Route) -> None:
        is_change = "password-dialog-form.n_submit" in (route.request.post_data or "")
        held.append(route) if is_change else route.continue_()

    ann.tab.route("**/_dash-update-component*", hold)
    ann.press_in_menu("Password")
    ann.dialog.get_by_label("Present password").fill(PASSWORD)
    ann.dialog.get_by_label("New password").fill("another five words in a row")
    save = ann.dialog.get_by_role("button", name="Save")
    save.press("Enter")
    expect(save).to_be_disabled()
    expect(save).not_to_have_css("opacity", "1")  # it is seen, too
    look_at(ann, "a password that is being changed")
    held[0].continue_()
    expect(ann.toast).to_contain_text("The password is changed.")


def test_a_button_of_a_dialog_shows_that_its_request_is_under_way(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.expect_lost_server()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.press_in_menu("App settings")
    page.dialog.get_by_label("Default instructions").fill("Be brief.")
    save = page.dialog.get_by_role("button", name="Save", exact=True)
    page.tab.route("**/_dash-update-component*", hold)
    for end in (Route.abort, Route.continue_):
        save.click()
        expect(save).to_have_attribute("aria-disabled", "true")
        expect(save).to_have_css("opacity", "0.55")
        expect(save).to_have_css("cursor", "progress")
        while not held:
            page.tab.wait_for_timeout(10)  # lets the request be routed
        end(held.pop())
        expect(save).not_to_have_attribute("aria-disabled", "true")
    expect(page.dialog.get_by_text("Saved.")).to_be_visible()


def test_a_confirmation_shows_that_its_request_is_under_way(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.expect_lost_server()
    page.send("Hello")
    page.wait_for_answer()
    page.save("Begin")
    page.send("Go on")
    page.wait_for_answer()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.tab.route("**/api/actions/restore-dialog*", hold)
    confirm = page.ask_to_restore("Begin").get_by_role("button", name="Restore", exact=True)
    confirm.click()
    expect(confirm).to_have_attribute("aria-disabled", "true")
    expect(confirm).to_have_css("cursor", "progress")
    while not held:
        page.tab.wait_for_timeout(10)  # lets the request be routed
    held.pop().abort()
    expect(confirm).not_to_have_attribute("aria-disabled", "true")
    page.tab.unroute_all()
    page.confirm("Restore")
    expect(page.notice).to_contain_text("Restored to Begin")


def let_scripts_run(route: Route) -> None:
    """Leave the policy of a shared page out: no script runs there, and so axe does not."""
    answer = route.fetch()
    headers = {name: value for name, value in answer.headers.items() if name != "content-security-policy"}
    route.fulfill(response=answer, headers=headers)


def test_pages_for_those_who_are_not_signed_in(server: Server, visit: Visit, browser: Browser) -> None:
    page = visit(server)
    page.say("Where do the herons **nest**?")
    page.save("At the lake")
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").click()
    field = page.dialog.get_by_label("The link is shown only now.")
    field.wait_for()
    link = field.input_value()
    page.confirm("Close")
    with browser.new_context() as context:
        stranger = Page(context.new_page(), server)
        stranger.tab.route("**/shared?*", let_scripts_run)
        states = {
            "a shared conversation": link,
            "a link that does not work": f"{link}x",
            "a used link": server.links[0],
            "a browser that is not signed in": page.tab.url,
        }
        for state, address in states.items():
            stranger.tab.goto(address)
            look_at(stranger, state)
    page.open("/t/0123456789abcdef0123")
    expect(page.tab.locator("#chat")).to_contain_text("It may have been erased")
    look_at(page, "an address without a conversation")


def test_an_export_that_is_opened_alone(
    start: Start, openai_settings: dict[str, str], visit: Visit, browser: Browser, fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    page = visit(start(**openai_settings))
    for open_state in (answers.STATES["a message with files"], answers.STATES["a tool that failed"]):
        open_state(page, fake_openai)
    page.save("With a picture", "And what was in it")
    answers.STATES["an answer of many parts"](page, fake_openai)
    page.restore("With a picture", keep=True)
    page.ask_to_export().get_by_label("Format").select_option(label="HTML, to read anywhere")
    file = page.export(tmp_path)
    with browser.new_context() as context:
        alone = Page(context.new_page(), page.server)
        alone.tab.goto(file.as_uri())
        look_at(alone, "an export alone")
        for each in alone.tab.locator("summary").all():
            each.click()
        look_at(alone, "an export alone, unfolded")


def test_a_fork_that_waits_and_what_came_of_it(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.send("Please try two ways: tell me about tea; what is 2 * 21?")
    expect(page.approval).to_be_visible()
    look_at(page, "a fork that waits")
    page.approval.get_by_role("button", name="Allow", exact=True).click()
    expect(page.log.get_by_text("I tried each on a branch of its own.")).to_be_visible()
    page.wait_for_answer()
    page.tab.locator("details.tool summary").first.click()
    look_at(page, "a fork that is done")


def test_a_graph_at_work(start: Start, visit: Visit, tmp_path: Path) -> None:
    body = "async def node(state):\n    get_stream_writer()('looking')\n    await asyncio.sleep(600)"
    page = visit(start(graph=write_graph(tmp_path, one_node(body))))
    page.send("go")
    expect(page.tab.get_by_test_id("graph-progress")).to_contain_text("looking")
    look_at(page, "a graph at work")
    page.stop_button.click()
    expect(page.stop_button).to_have_count(0)
    look_at(page, "a graph that was stopped")


def test_a_long_call_that_a_tool_refuses(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings))
    expression = "+".join(["1"] * 3000)
    fake_openai.script(Call("calculator", {"expression": expression}, text="Let me see."), Say("Many."))
    page.say("How many?")
    page.tab.locator("details.tool summary").click()
    expect(page.tab.locator("details.tool")).to_contain_text("At most 200 characters.")
    look_at(page, "a long tool call")
