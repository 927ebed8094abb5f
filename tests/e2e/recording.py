"""A short recording of the agent going back, docs/going-back.gif: `python -m tests.e2e.recording [FILE]`."""

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect

from tests.browser import open_browser
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

SIZE = {"width": 1220, "height": 740}  # History is folded at first in a narrower window
COLOURS = 128
DEFAULT = Path(__file__).parents[2] / "docs" / "going-back.gif"
NOTE = "We agreed on the coast and on 3 travellers. The night train is ruled out: it does not run in December."
STORY = (
    Say("Happy to help. Do you lean towards the mountains or the coast?"),
    Say("The coast it is. For **3 people** in December, the night train would be the cheapest way."),
    Say("I am sorry: I looked again, and the night train does not run in December. All of that plan falls with it."),
    Call("goto", {"position": "msg_2", "message": NOTE}, text="Better to go back to where it was still right."),
    Say("From what we agreed on: the **coast**, 3 people, December, by the afternoon ferry. Shall I plan the days?"),
)


class Film:
    """Frames with how long each is shown, in milliseconds."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._frames: list[Image.Image] = []
        self._times: list[int] = []

    def frame(self, milliseconds: int) -> None:
        picture = Image.open(io.BytesIO(self._page.tab.screenshot()))
        self._frames.append(picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS))
        self._times.append(milliseconds)

    def save(self, path: Path) -> None:
        first, *rest = self._frames
        first.save(path, save_all=True, append_images=rest, duration=self._times, loop=0, optimize=True)


def _act(page: Page, film: Film) -> None:
    page.say("Help me plan a trip for three in December")
    page.say("The coast, please")
    page.save("The coast")
    page.say("Book the night train then")
    film.frame(1500)
    page.composer.fill("Start again from what still holds")
    film.frame(900)
    page.composer.press("Enter")
    expect(page.approval).to_be_visible()
    expect(page.approval.get_by_role("button", name="Deny", exact=True)).to_be_in_viewport(ratio=1)
    film.frame(4000)
    page.approval.get_by_role("button", name="Allow", exact=True).hover()
    film.frame(900)
    page.approval.get_by_role("button", name="Allow", exact=True).click()
    page.wait_for_answer()
    expect(page.notice).to_be_visible()
    film.frame(4000)
    page.notice.get_by_role("button", name="Undo").hover()
    film.frame(900)
    page.notice.get_by_role("button", name="Undo").click()
    expect(page.log).to_contain_text("night train does not run")
    film.frame(3000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.recording")
    parser.add_argument("file", type=Path, nargs="?", default=DEFAULT)
    file: Path = parser.parse_args().file
    with tempfile.TemporaryDirectory() as data, open_browser() as browser, FakeOpenAI() as fake:
        fake.script(*STORY)
        settings = {"model": "openai:gpt-5.4-mini", "openai_base_url": fake.base_url, "openai_api_key": "sk-not-a-real-key"}
        server = Server(Path(data), **settings)
        server.start()
        try:
            with browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce") as context:  # type: ignore[arg-type]
                server.sign_in(context)
                page = Page(context.new_page(), server)
                page.open()
                film = Film(page)
                _act(page, film)
                film.save(file)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
