"""The states of the page that its pictures show, each reached on the conversation of `gallery`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e import dialogs, gallery
from tests.e2e.camera import PHONE, Camera
from tests.e2e.server import Server
from tests.e2e.test_candidates import candidate
from tests.e2e.test_conversations import choose
from tests.e2e.test_rerun import banner
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

HERE, LEFT = "Cost model stands", "Yen, by hand"
SLOPE = "The slope of the fitted line is"


def _scroll_to(page: Page, text: str) -> None:
    page.message(text).first.evaluate("element => element.scrollIntoView({ block: 'start' })")


def _open_history(page: Page) -> None:
    page.tab.get_by_role("button", name="History", exact=True).click()
    expect(page.save_button).to_be_in_viewport()


def _open_reasoning(page: Page) -> None:
    page.tab.get_by_test_id("reasoning").locator("summary").click()
    page.tab.locator("details.tool summary").last.click()
    _scroll_to(page, "Fit a line")


def _open_import(page: Page) -> None:
    page.choose_import(page.export(page.server.folder))
    page.dialog.wait_for()


def _open_find_bar(page: Page) -> None:
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill("find in this")
    page.tab.get_by_role("option", name="Find in this conversation").click()
    page.tab.get_by_role("search").get_by_role("textbox").fill("rate")
    expect(page.tab.get_by_role("search").get_by_role("status")).to_contain_text(" of ")


def _search(page: Page) -> None:
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill("invoices")
    expect(page.tab.get_by_role("region", name="In messages").locator("mark").first).to_be_visible()


def _open_palette(page: Page) -> None:
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill("rates")
    expect(page.tab.get_by_role("group", name="Messages found")).to_be_visible()


def _share(page: Page) -> None:
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").click()
    expect(page.dialog.get_by_test_id("share-link")).to_be_visible()


def _open_meter(page: Page) -> None:
    page.tab.get_by_test_id("meter").click()
    expect(page.tab.locator(".meter-panel")).to_be_visible()


def _open_message_menu(page: Page) -> None:
    _scroll_to(page, "Fit a line")
    page.button_of(SLOPE, "More").click()


def _name_checkpoint(page: Page) -> None:
    page.save_button.click()
    page.tab.get_by_role("form", name="Save checkpoint").get_by_label("Name").fill("With the yen")


def _edit(page: Page) -> None:
    page.press_at("And by hand?", "Edit message")
    page.editor.get_by_role("textbox").wait_for()


def _compare(page: Page) -> None:
    page.select(page.branch("ecb-rates")).get_by_test_id("compare").click()
    expect(page.dialog.locator(".compare-turn").first).to_be_visible()


def _write_prompt(page: Page) -> None:
    dialogs.run_command(page, "/prompts")
    for name, text in (("Translate", "Translate {{text}} into {{language}}."), ("Review", "Review {{file}} as an auditor.")):
        page.dialog.get_by_role("button", name="New prompt").click()
        form = page.dialog
        form.get_by_label("Name").fill(name)
        form.get_by_label("Text").fill(text)
        page.dialog.get_by_role("button", name="Save").click()
        expect(page.tab.get_by_test_id("prompt").filter(has_text=name)).to_be_visible()


SCENES: Mapping[str, Callable[[Page], object]] = {
    "conversation": lambda page: None,
    "reasoning-and-math": _open_reasoning,
    "selected-place": lambda page: page.select(page.checkpoint("Invoices collected")),
    "graph-branch": lambda page: page.select(page.branch("ecb-rates")),
    "plot": dialogs.OPENERS["tokens"],
    "search": _search,
    "palette": _open_palette,
    "find-bar": _open_find_bar,
    "models": dialogs.OPENERS["models"],
    "meter": _open_meter,
    "message-menu": _open_message_menu,
    "conversation-menu": lambda page: page.open_menu(),
    "slash-commands": lambda page: page.composer.fill("/"),
    "saving": _name_checkpoint,
    "editing": _edit,
    "restore-dialog": lambda page: page.ask_to_restore(HERE),
    "branch-dialog": lambda page: page.press(HERE, f"Branch from {HERE}"),
    "compare": _compare,
    "bring-home": lambda page: page.choose_at(page.branch("ecb-rates"), "Quote in this branch"),
    "run-again": lambda page: dialogs.run_command(page, "/again"),
    "prompts": _write_prompt,
    "tags": lambda page: choose(page, gallery.TITLE, "Tags"),
    "share": _share,
    "export": dialogs.OPENERS["export"],
    "import": _open_import,
    "changes": dialogs.OPENERS["changes"],
    "settings": dialogs.OPENERS["settings"],
    "keys": dialogs.OPENERS["keys"],
}
DARK = ("conversation", "reasoning-and-math", "selected-place", "compare", "restore-dialog", "palette", "models", "export")
ON_PHONE = ("conversation", "reasoning-and-math", "palette", "models", "restore-dialog", "compare", "slash-commands")


def _settle(page: Page) -> None:
    """Wait for what was opened, and for what it reads."""
    if page.tab.locator(".modal").count():
        page.dialog.wait_for()
        expect(page.tab.get_by_text("Reading…")).to_have_count(0)


def take_wide(camera: Camera, server: Server, path: str) -> None:
    for scheme, names in (("light", tuple(SCENES)), ("dark", DARK)):
        with camera.page(server, path, color_scheme=scheme) as page:
            for name in names:
                SCENES[name](page)
                _settle(page)
                camera.take(page, f"{name}-{scheme}")
                dialogs.close(page)


def take_restored(camera: Camera, server: Server, path: str) -> None:
    """After a restore: the banner, what was removed below it, and the same place in the graph."""
    with camera.page(server, path) as page:
        page.restore(HERE)
        expect(page.tab.get_by_test_id("removed")).to_be_visible()
        camera.take(page, "restored-light")
        page.select(page.tab.locator(".place-removed"))
        camera.take(page, "removed-place-light")
        page.tab.emulate_media(color_scheme="dark")
        expect(page.tab.locator("html")).to_have_attribute("data-bs-theme", "dark")
        camera.take(page, "restored-dark")
        page.tab.get_by_test_id("removed").get_by_role("button", name="Open").click()
        page.dialog.wait_for()
        camera.take(page, "removed-part-dark")
        page.tab.keyboard.press("Escape")
        page.undo()


def take_on_phone(camera: Camera, server: Server, path: str) -> None:
    with camera.page(server, path, **PHONE) as page:
        for name in ON_PHONE:
            if name == "restore-dialog":
                _open_history(page)
                camera.take(page, "phone-history")
                page.select(page.checkpoint(HERE))
                camera.take(page, "phone-place")
                page.ask_to_restore(HERE)
            elif name == "compare":
                _open_history(page)
                SCENES[name](page)
            else:
                SCENES[name](page)
            _settle(page)
            camera.take(page, f"phone-{name}")
            dialogs.close(page)
        page.tab.get_by_role("button", name="Conversations", exact=True).click()
        expect(page.threads.first).to_be_in_viewport()
        camera.take(page, "phone-conversations")
        dialogs.close(page)
        _open_history(page)
        page.restore(HERE)
        expect(page.tab.get_by_test_id("removed")).to_be_in_viewport()
        camera.take(page, "phone-restored")
        page.undo()


def take_runs(camera: Camera, server: Server, path: str, fake: FakeOpenAI) -> None:
    """Answers of several models, questions run again, a question of the agent, and a refusal: each is undone."""
    with camera.page(server, path) as page:
        fake.script(gallery.CODE)
        page.say("Write that as a function")
        camera.take(page, "code-light")
        dialogs.OPENERS["models"](page)
        page.tab.get_by_role("button", name="Ask several at once").click()
        page.tab.get_by_role("option", name="gpt-5.4-nano").click()
        camera.take(page, "several-models-light")
        page.tab.get_by_role("button", name="Done").click()
        fake.script(gallery.YEN[0], gallery.YEN[1])
        page.send("Which of the two in yen?")
        for number in (1, 2):
            expect(candidate(page, number)).to_have_attribute("data-state", "done")
        expect(page.stop_button).to_have_count(0)
        camera.take(page, "candidates-light")
        page.tab.get_by_test_id("model").click()
        page.tab.get_by_role("button", name="Ask one only").click()
        fake.script(Call("goto", {"position": "msg_4", "message": "Only the invoices are sure."}, text="I would go back."))
        page.send("Can we trust the invoices?")
        expect(page.approval).to_be_visible()
        camera.take(page, "approval-light")
        page.approval.get_by_role("button", name="Deny", exact=True).click()
        expect(page.approval).to_have_count(0)
        page.wait_for_answer()
        fake.script(Fault("status", status=401))
        page.send("And now?")
        expect(page.tab.get_by_role("alert")).to_be_visible()
        camera.take(page, "error-light")


def take_rerun(camera: Camera, server: Server, fake: FakeOpenAI) -> None:
    with camera.page(server) as page:
        fake.script(Say("The harbour, the opera's roof and the fjord."), Say("By train: **9 hours**, about **€ 171** each."))
        page.say("Plan three days in Oslo for three of us")
        page.say("What would the train cost?")
        fake.script(
            Say("Harbour, fjord and museums."), Say("By train it is **9 hours** and about **€ 128** with one change.")
        )
        dialogs.run_command(page, "/again")
        page.dialog.get_by_label("Model").select_option("openai:gpt-5.4-nano")
        page.confirm("Start")
        expect(banner(page)).to_contain_text("All 2 questions were asked again")
        camera.take(page, "ran-again-light")
        banner(page).get_by_role("button", name="Compare").click()
        expect(page.dialog.locator(".compare-length")).to_have_count(2)
        camera.take(page, "ran-again-compared-light")


def take_first_run(camera: Camera, folder: Path) -> None:
    """A newcomer's page with the demo: its tips, and where a model is connected."""
    server = Server(folder, model="")
    server.start()
    try:
        for scheme in ("light", "dark"):
            with camera.page(server, is_newcomer=True, color_scheme=scheme) as page:
                camera.take(page, f"first-run-{scheme}")
        with camera.page(server, is_newcomer=True) as page:
            page.tab.get_by_test_id("connect").click()
            page.dialog.get_by_label("Provider").wait_for()
            camera.take(page, "connect-light")
            dialogs.close(page)
            page.say("What is 12 * (3 + 4)?")
            camera.take(page, "first-answer-light")
        with camera.page(server, is_newcomer=True, **PHONE) as page:
            camera.take(page, "phone-first-run")
    finally:
        server.stop()
