"""Takes pictures of the page, at rest and without the pointer over anything."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.e2e.conftest import WIDE
from tests.e2e.server import Server
from tests.e2e.waymark import Page

PHONE: Any = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
AT_REST = """() => Promise.all(document.getAnimations()
  .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
  .map((each) => each.finished.catch(() => null)))"""


class Camera:
    """Opens pages on a server and takes their pictures."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser = browser
        self._folder = folder

    @contextmanager
    def page(self, server: Server, path: str = "/", *, is_newcomer: bool = False, **options: Any) -> Iterator[Page]:
        # Without motion, so that no picture shows half of a transition.
        given = {"viewport": WIDE, "color_scheme": "light", "reduced_motion": "reduce"} | options
        with self._browser.new_context(**given) as context:
            server.sign_in(context, is_newcomer=is_newcomer)
            page = Page(context.new_page(), server)
            page.open(path)
            yield page

    def take(self, page: Page, name: str, folder: Path | None = None) -> None:
        page.tab.mouse.move(640, 5)  # away from everything that would show that it is there
        page.tab.evaluate("document.fonts.ready")
        page.tab.evaluate(AT_REST)
        page.tab.screenshot(path=(folder or self._folder) / f"{name}.png")
