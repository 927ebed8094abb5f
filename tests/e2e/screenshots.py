"""Pictures of the page in its states, to be looked at, and those of the README: `python -m tests.e2e.screenshots DIR`."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Route, expect

from tests.browser import open_browser
from tests.e2e.conftest import WIDE
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Fault, Say

PHONE: Any = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
DOCS = Path(__file__).parents[2] / "docs"


class Camera:
    """Opens pages on a server and takes their pictures."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser = browser
        self._folder = folder

    @contextmanager
    def page(self, server: Server, path: str = "/", **options: Any) -> Iterator[Page]:
        # Without motion, so that no picture shows half of a transition.
        given = {"viewport": WIDE, "color_scheme": "light", "reduced_motion": "reduce"} | options
        with self._browser.new_context(**given) as context:
            server.sign_in(context)
            page = Page(context.new_page(), server)
            page.open(path)
            yield page

    def take(self, page: Page, name: str, folder: Path | None = None) -> None:
        page.tab.mouse.move(640, 5)  # away from everything that would show that it is there
        page.tab.screenshot(path=(folder or self._folder) / f"{name}.png")


def _talk(page: Page) -> None:
    """A conversation worth a picture: three checkpoints and a tool."""
    page.say("Show me some Python that counts words")
    page.save("Word counter", "Works, before any tidying up")
    page.say("How is the weather in Oslo?")
    page.save("Trip to Oslo")
    page.say("Tickets are 48.50 for each of the 3 of us, the ferry is 26. What is 3 * 48.50 + 26?")
    page.save("Budget agreed")


def _wide(camera: Camera, server: Server) -> str:
    """Returns the path of the conversation that was made."""
    with camera.page(server) as page:
        camera.take(page, "empty")
        _talk(page)
        camera.take(page, "wide-light")
        page.ask_to_restore("Trip to Oslo")
        expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
        camera.take(page, "restore-dialog")
        page.confirm("Restore")
        expect(page.notice).to_be_visible()
        camera.take(page, "after-restore")
        page.undo()
        page.save_button.click()
        camera.take(page, "naming")
        page.tab.keyboard.press("Escape")
        return page.tab.url.removeprefix(server.origin)


def _dark(camera: Camera, server: Server, path: str) -> None:
    with camera.page(server, path, color_scheme="dark") as page:
        page.expect_checkpoints(("Word counter", 2), ("Trip to Oslo", 4), ("Budget agreed", 8))
        camera.take(page, "wide-dark")
        page.tab.locator("details.tool summary").click()
        page.tab.locator("details.tool").scroll_into_view_if_needed()
        camera.take(page, "tool-dark")
        page.ask_to_restore("Trip to Oslo")
        camera.take(page, "restore-dialog-dark")
        page.confirm("Cancel")


def _saving(camera: Camera, server: Server, path: str) -> None:
    """A save whose request the network holds back."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if '"type":"save"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    with camera.page(server, path) as page:
        page.tab.route("**/api/actions/history", hold)
        page.tab.keyboard.press("Control+s")
        page.tab.keyboard.type("While the network thinks")
        page.tab.keyboard.press("Enter")
        expect(page.tab.get_by_text("Saving…")).to_be_visible()
        camera.take(page, "saving")
        for route in held:
            route.abort()


def _phone(camera: Camera, server: Server, path: str) -> None:
    with camera.page(server, path, **PHONE) as page:
        page.expect_messages(8)
        camera.take(page, "phone")
        page.tab.get_by_role("button", name="History", exact=True).click()
        expect(page.save_button).to_be_in_viewport()
        camera.take(page, "phone-history")
        page.ask_to_restore("Word counter")
        camera.take(page, "phone-restore-dialog")
        page.confirm("Restore")
        expect(page.tab.get_by_test_id("removed")).to_be_in_viewport()
        camera.take(page, "phone-after-restore")
        page.undo()
        page.tab.get_by_role("button", name="Conversations", exact=True).click()
        expect(page.threads.first).to_be_in_viewport()
        camera.take(page, "phone-conversations")
    with camera.page(server, **PHONE | {"color_scheme": "dark"}) as page:
        camera.take(page, "phone-empty-dark")


def _streaming(camera: Camera, folder: Path) -> None:
    server = Server(folder, demo_seconds_per_token="0.03")
    server.start()
    try:
        with camera.page(server) as page:
            page.send("Give me a long answer")
            expect(page.live).to_contain_text("the head", timeout=30_000)
            camera.take(page, "streaming")
            page.stop_button.click()
            expect(page.tab.get_by_text("This answer was cut off")).to_be_visible()
            camera.take(page, "stopped")
    finally:
        server.stop()


def _errors(camera: Camera, folder: Path) -> None:
    with FakeOpenAI() as fake:
        settings = {"model": "openai:gpt-5.4-mini", "openai_base_url": fake.base_url, "openai_api_key": "sk-not-a-real-key"}
        server = Server(folder, **settings)
        server.start()
        try:
            with camera.page(server) as page:
                page.say("What do you think of going to the sea on Sunday?")
                fake.script(Fault("status", status=401))
                page.send("And what would we need for that?")
                expect(page.tab.get_by_role("alert")).to_be_visible()
                camera.take(page, "error")
                file = folder / "notes.json"
                file.write_text('{"format": "other/1"}')
                page.choose_import(file)
                expect(page.toast).to_contain_text("was not imported")
                camera.take(page, "import-refused")
        finally:
            server.stop()


PLAN = (
    "Three days in Oslo for three:\n\n"
    "1. **Friday** – the harbour, and the opera's roof at dusk\n"
    "2. **Saturday** – the fjord islands\n"
    "3. **Sunday** – museums on Bygdøy\n\n"
    "How do you want to travel?"
)
TRAIN = (
    "By train: **9 hours** and about **€ 171** each.\n\n"
    "| | hours | € |\n|---|--:|--:|\n| day train | 9 | 171 |\n| with one change | 11 | 128 |\n\n"
    "The day train leaves at 8:20."
)
FERRY = (
    "By ferry: **14 hours** overnight and about **€ 96** each.\n\n"
    "| | hours | € |\n|---|--:|--:|\n| inside cabin | 14 | 96 |\n| with a view | 14 | 139 |\n\n"
    "It saves a night in a hotel."
)


def _readme(camera: Camera, folder: Path) -> None:
    """The pictures of the README: after a restore, a comparison, and the same in the dark."""
    with FakeOpenAI() as fake:
        settings = {"model": "openai:gpt-5.4-mini", "openai_base_url": fake.base_url, "openai_api_key": "sk-not-a-real-key"}
        server = Server(folder, **settings)
        server.start()
        try:
            fake.script(Say(PLAN), Say(TRAIN), Say(FERRY))
            with camera.page(server) as page:
                page.say("Plan three days in Oslo for three of us")
                page.save("First plan", "Before we chose how to travel")
                page.say("What would the train cost?")
                page.save("By train")
                page.restore("First plan")
                expect(page.tab.get_by_test_id("removed")).to_be_visible()
                camera.take(page, "screenshot", DOCS)
                page.undo()
                page.restore("First plan", keep=True)
                page.composer.fill("")
                page.say("What would the ferry cost?")
                page.save("By ferry")
                page.select(page.branch("Before restoring First plan")).get_by_test_id("compare").click()
                expect(page.dialog.locator(".compare-side")).to_have_count(2)
                camera.take(page, "comparison", DOCS)
                path = page.tab.url.removeprefix(server.origin)
            with camera.page(server, path, color_scheme="dark") as page:
                page.select(page.checkpoint("By ferry"))
                camera.take(page, "dark", DOCS)
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.screenshots")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, open_browser() as browser:
        camera = Camera(browser, folder)
        server = Server(Path(data) / "main")
        server.start()
        try:
            path = _wide(camera, server)
            _dark(camera, server, path)
            _phone(camera, server, path)
            _saving(camera, server, path)
        finally:
            server.stop()
        _streaming(camera, Path(data) / "slow")
        _errors(camera, Path(data) / "errors")
        _readme(camera, Path(data) / "readme")


if __name__ == "__main__":
    main()
