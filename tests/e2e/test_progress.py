"""A long import and a long export show how far they are, leave the page usable, and can be cancelled.

The server runs in this process, so that a test holds an operation in its middle for as long as it looks at the page.
"""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Locator, expect

from app import App, create_app
from application.settings import Settings
from checkpoints import Store, act_for
from checkpoints.interchange import transfer
from checkpoints.rows.account_rows import InvalidAccountError, Role
from checkpoints.values.sentence import sentence
from extensions.people.accounts import Accounts
from server.serving import open_listener
from tests.browser import PATIENCE_MS
from tests.components.transfers.test_long_requests import hold_at, write_long
from tests.e2e.conftest import WIDE, Visit
from tests.e2e.keyboard import Keyboard
from tests.e2e.server import TIPS
from tests.e2e.test_accessibility import ANY_IMPACT, expect_accessible_in_all_schemes
from tests.e2e.test_accessible_states import look_at
from tests.e2e.test_password import join
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
DRAGGED = """(button, [text, types]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], "dropped.json", { type: "application/json" }));
  for (const type of types)
    button.firstElementChild.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
}"""
PHONE: Any = {"width": 390, "height": 844}


class HeldServer:
    """One Waymark in a thread, without a sign-in unless a setting asks for one."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self._listener = open_listener("127.0.0.1", 0)
        port = self._listener.getsockname()[1]
        self.origin = self.address = f"http://127.0.0.1:{port}"
        given: dict[str, Any] = {"data_dir": folder, "model": "demo", "auth": "none", "titles": "off"} | settings
        self.app: App = create_app(Settings(**given), port=port)
        self._server = uvicorn.Server(uvicorn.Config(self.app.asgi, log_config=None, access_log=False, lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self._thread.start()

    @property
    def store(self) -> Store:
        return self.app.services.store

    def sign_in(self, _: object, *, is_newcomer: bool) -> None:
        """Everybody is let in."""

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)


@pytest.fixture
def admin(tmp_path: Path, browser: Browser) -> Iterator[Page]:
    """The page of Ann, who is the admin of a server in this process; Bob has three long conversations."""
    server = HeldServer(tmp_path / "people", auth="password")
    with browser.new_context(viewport=WIDE) as context:
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
        page = Page(context.new_page(), server)  # type: ignore[arg-type]  (it has an address)
        join(page, server.app.create_link(), "Ann")
        accounts = Accounts(server.store)
        accounts.invite("link", Role.MEMBER, made_by="Ann", days=1)
        accounts.accept_invitation("link", "bob", "x")
        with act_for("bob"):
            for _ in range(3):
                write_long(server.store)
        yield page
    server.stop()


@pytest.fixture
def held_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldServer]:
    monkeypatch.setattr("checkpoints.rows.message_inserts._MAX_INSERTED_ROWS", 10)
    server = HeldServer(tmp_path / "data")
    yield server
    server.stop()


def write_file(server: HeldServer, path: Path) -> Path:
    """Export a long conversation that the server then does not have any more."""
    thread_id = write_long(server.store)
    path.write_text(transfer.export(server.store, thread_id), encoding="utf-8")
    server.store.delete_thread(thread_id)
    return path


def progress(page: Page) -> Locator:
    return page.tab.get_by_role("progressbar")


def expect_middle(page: Page, phase: str) -> None:
    """Expect a bar in the middle of a phase, with words and numbers that agree."""
    expect(page.tab.locator(".progress-phase")).to_have_text(phase)
    expect(progress(page)).to_have_attribute("aria-valuenow", re.compile(r"^(15[1-9]|1[6-9]\d|2\d\d)$"))  # where it is held
    done = int(progress(page).get_attribute("aria-valuenow") or 0)
    assert progress(page).get_attribute("aria-valuemax") == "300"
    expect(page.tab.locator(".progress-steps")).to_have_text(f"{done} of 300 messages")
    box, line = progress(page).locator("div").bounding_box(), progress(page).bounding_box()
    assert box is not None
    assert line is not None
    assert box["width"] / line["width"] == pytest.approx(done / 300, abs=0.02)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_long_import_shows_how_far_it_is_and_the_page_stays_usable(
    viewport: Any, held_server: HeldServer, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, checking = write_file(held_server, tmp_path / "long.json"), hold_at(monkeypatch, "Checking")
    page = visit(held_server, viewport=viewport, reduced_motion="reduce")
    page.choose_import(file)
    expect_middle(page, "Import: checking")
    expect_accessible_in_all_schemes(page, "an import in progress", ANY_IMPACT)
    page.composer.fill("Meanwhile")
    page.composer.click()  # nothing lies above it
    checking.opened.set()
    expect(page.dialog).to_contain_text("300 messages")
    expect(progress(page)).to_have_count(0)

    writing = hold_at(monkeypatch, "Writing")
    page.dialog.get_by_role("button", name="As a new conversation").click()
    expect_middle(page, "Import: writing")
    expect(page.dialog.get_by_role("progressbar")).to_be_visible()
    expect(page.dialog.get_by_role("button", name="As a new conversation")).to_be_disabled()
    expect_accessible_in_all_schemes(page, "the dialog of an import in progress", ANY_IMPACT)
    page.tab.keyboard.press("Escape")  # closes the dialog, and the import goes on
    expect(page.tab.locator(".modal")).to_have_count(0)
    expect_middle(page, "Import: writing")
    writing.opened.set()
    page.tab.wait_for_url("**/t/*")
    expect(progress(page)).to_have_count(0)


@pytest.mark.parametrize("phase", ["Checking", "Writing"])
def test_a_cancelled_import_ends_and_leaves_nothing(
    phase: str, held_server: HeldServer, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, gate = write_file(held_server, tmp_path / "long.json"), hold_at(monkeypatch, phase)
    page = visit(held_server)
    page.choose_import(file)
    if phase == "Writing":
        page.dialog.get_by_role("button", name="As a new conversation").click()
    expect_middle(page, f"Import: {phase.lower()}")
    with page.tab.expect_response("**/cancel"):
        page.tab.get_by_role("button", name="Cancel", exact=True).locator("visible=true").click()
    gate.opened.set()
    expect(page.toast).to_contain_text("cancelled")
    expect(progress(page)).to_have_count(0)
    expect(page.threads).to_have_count(0)
    page.choose_import(file)  # the same file can be chosen again
    expect(page.dialog).to_contain_text("300 messages")


def test_an_import_is_cancelled_while_its_file_is_uploaded(held_server: HeldServer, visit: Visit, tmp_path: Path) -> None:
    file = write_file(held_server, tmp_path / "long.json")
    page = visit(held_server)
    page.expected.append("ERR_FAILED|ERR_ABORTED|Failed to fetch")
    page.tab.route("**/api/uploads/*", lambda _: None)  # held until the page gives it up
    page.choose_import(file)
    expect(progress(page)).to_be_visible()
    page.tab.get_by_role("button", name="Cancel", exact=True).locator("visible=true").click()
    expect(page.toast).to_contain_text("long.json was not imported. It was cancelled.")
    expect(progress(page)).to_have_count(0)
    page.tab.unroute("**/api/uploads/*")
    page.choose_import(file)  # the same file can be chosen again
    expect(page.dialog).to_contain_text("300 messages")


def test_a_file_is_dropped_on_the_import_button(held_server: HeldServer, visit: Visit, tmp_path: Path) -> None:
    content = write_file(held_server, tmp_path / "long.json").read_text()
    page = visit(held_server)
    page.tab.locator(".bar-menu").evaluate(DRAGGED, [content, ["dragenter"]])
    button = page.tab.get_by_role("button", name="Import", exact=True)
    expect(button).to_be_visible()
    page.tab.locator("#upload").evaluate(DRAGGED, [content, ["dragenter", "dragover"]])
    expect(button).to_have_attribute("data-dropping", "true")
    page.tab.locator("#upload").evaluate(DRAGGED, [content, ["drop"]])
    expect(page.dialog).to_contain_text("300 messages")
    expect(page.tab.locator("#upload")).not_to_have_attribute("data-dropping", "true")


def test_a_long_export_shows_how_far_it_is_and_still_downloads(
    held_server: HeldServer, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id, gate = write_long(held_server.store), hold_at(monkeypatch, "Reading")
    page = visit(held_server, f"/t/{thread_id}")
    with page.tab.expect_download() as started:
        page.ask_to_export().get_by_role("button", name="Export", exact=True).click()
        expect_middle(page, "Export: reading")
        page.composer.fill("Meanwhile")
        gate.opened.set()
    expect(progress(page)).to_have_count(0)
    assert started.value.suggested_filename == "Long.waymark.json"


def ask_to_erase(page: Page) -> Locator:
    """Open the erasure of Bob, write his name, and return the button."""
    keys = Keyboard(page)
    keys.press(page.dialog.get_by_role("button", name="Erase bob"))
    expect(page.dialog).to_contain_text("3 conversations")
    keys.go(page.dialog.get_by_label("Write the name to confirm"))
    keys.type("bob")
    return page.dialog.get_by_role("button", name="Erase for good")


def test_an_erasure_by_keyboard_shows_how_far_it_is_is_cancelled_refused_and_done(
    admin: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, phase = Keyboard(admin), admin.tab.locator(".progress-phase")
    keys.choose_in_bar("People")
    gate = hold_at(monkeypatch, "Erasing")
    keys.press(ask_to_erase(admin))
    expect(phase).to_have_text("Erasure: erasing")
    expect(progress(admin)).to_have_attribute("aria-valuemax", "900")
    expect(admin.dialog.get_by_role("button", name="Erase for good")).to_be_disabled()
    keys.expect_focus()
    look_at(admin, "an erasure in progress")
    with admin.tab.expect_response("**/cancel"):
        keys.press(admin.dialog.get_by_role("button", name="Cancel", exact=True))
    gate.opened.set()
    expect(admin.dialog.get_by_role("alert")).to_contain_text("It was cancelled.")
    expect(progress(admin)).to_have_count(0)
    expect(admin.dialog.get_by_test_id("person")).to_have_count(2)
    expect(admin.dialog.get_by_role("button", name="Erase bob")).to_be_focused()

    refusal = threading.Event()

    def refuse(*_: object) -> None:
        refusal.wait(300)
        raise InvalidAccountError(sentence("Not now."))

    with monkeypatch.context() as patch:
        patch.setattr("extensions.people.admin.erase_person", refuse)
        button = ask_to_erase(admin)
        keys.press(button)
        expect(button).to_be_disabled()  # once the progress is shown
        refusal.set()
        expect(admin.dialog.get_by_role("alert")).to_contain_text("Not now.")
        expect(button).to_be_enabled()
        keys.expect_focus()
    keys.press(button)
    expect(admin.dialog.get_by_role("status")).to_have_text("bob is erased.")
    expect(admin.dialog.get_by_test_id("person")).to_have_count(1)
    keys.close_dialog(admin.tab.get_by_role("button", name="Conversation menu"))
