"""Pictures of the page in its states, to be looked at, and those of the README: `python -m tests.e2e.screenshots DIR`."""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import expect

from tests.browser import open_browser
from tests.e2e import gallery, scenes
from tests.e2e.camera import Camera
from tests.e2e.server import Server
from tests.fakes.openai import FakeOpenAI, Say

DOCS = Path(__file__).parents[2] / "docs"


def _streaming(camera: Camera, folder: Path) -> None:
    server = Server(folder, demo_seconds_per_token="0.03")
    server.start()
    try:
        with camera.page(server) as page:
            page.send("Give me a long answer")
            expect(page.live).to_contain_text("the head")
            camera.take(page, "streaming")
            page.stop_button.click()
            expect(page.tab.get_by_text("You stopped this answer.")).to_be_visible()
            camera.take(page, "stopped")
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
        server = Server(folder, **_settings(fake))
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
                expect(page.dialog.locator(".compare-length")).to_have_count(2)
                camera.take(page, "comparison", DOCS)
                path = page.tab.url.removeprefix(server.origin)
            with camera.page(server, path, color_scheme="dark") as page:
                page.select(page.checkpoint("By ferry"))
                camera.take(page, "dark", DOCS)
        finally:
            server.stop()


def _gallery(camera: Camera, folder: Path) -> None:
    """The page in its states, on one rich conversation."""
    (folder / "data").mkdir(parents=True, mode=0o700)
    (folder / "waymark.toml").write_text(gallery.PRICES)
    path = f"/t/{gallery.write_past(folder / 'data' / 'waymark.db')}"
    with FakeOpenAI() as fake:
        server = Server(folder, **_settings(fake), models_offered=",".join(gallery.MODELS), **gallery.KEYS)
        server.start()
        try:
            with camera.page(server, path) as page:
                gallery.talk_on(page, fake)
            scenes.take_wide(camera, server, path)
            scenes.take_restored(camera, server, path)
            scenes.take_on_phone(camera, server, path)
            scenes.take_runs(camera, server, path, fake)
            scenes.take_rerun(camera, server, fake)
        finally:
            server.stop()


def _settings(fake: FakeOpenAI) -> dict[str, str]:
    return {"model": "openai:gpt-5.4-mini", "openai_base_url": fake.base_url, "openai_api_key": "sk-not-a-real-key"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.screenshots")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, open_browser() as browser:
        camera = Camera(browser, folder)
        _gallery(camera, Path(data) / "gallery")
        scenes.take_first_run(camera, Path(data) / "first")
        _streaming(camera, Path(data) / "slow")
        _readme(camera, Path(data) / "readme")


if __name__ == "__main__":
    main()
