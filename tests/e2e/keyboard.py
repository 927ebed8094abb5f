"""The page by keyboard alone: Tab to a part, and a key on it. Something has the focus after each of them."""

from playwright.sync_api import Locator, expect

from tests.e2e.waymark import Page

MAX_TABS = 150  # of a page with a few conversations
MAX_STEPS = 20
HAS_FOCUS = "element => element === document.activeElement"

COMPOSED = """(field, [key, isComposing]) => field.dispatchEvent(
  new KeyboardEvent("keydown", { key, isComposing, keyCode: 229, bubbles: true, cancelable: true }))"""


class Keyboard:
    """The keyboard of a page."""

    def __init__(self, page: Page) -> None:
        self._page, self._keys = page, page.tab.keyboard

    def go(self, target: Locator) -> None:
        """Press Tab until the target has the focus."""
        expect(target).to_be_visible()
        for _ in range(MAX_TABS):
            if target.evaluate(HAS_FOCUS):
                return
            self._keys.press("Tab")
        raise AssertionError(f"no Tab leads to {target}")

    def press(self, target: Locator, key: str = "Enter") -> None:
        self.go(target)
        self.key(key)

    def key(self, *keys: str) -> None:
        for key in keys:
            self._keys.press(key)
            self.expect_focus()

    def expect_focus(self) -> None:
        """Something has the focus: the body is no element with `:focus`."""
        expect(self._page.tab.locator(":focus")).to_have_count(1)

    def type(self, text: str) -> None:
        self._keys.type(text)

    def write(self, text: str) -> None:
        """Go to the message field by its key, and send."""
        self.key("Shift+Escape")
        expect(self._page.composer).to_be_focused()
        self.type(text)
        self.key("Enter")

    def replace(self, target: Locator, text: str) -> None:
        """Go to a field, and write over what it holds."""
        self.go(target)
        self.key("Control+a")
        self.type(text)

    def choose(self, opener: Locator, item: str) -> None:
        """Open a menu, and choose an item of it by the arrows."""
        self.press(opener)
        wanted = self._page.tab.get_by_role("menuitem", name=item, exact=True)
        self.walk(wanted, "ArrowDown")
        self.key("Enter")

    def walk(self, target: Locator, key: str) -> None:
        """Press an arrow until the target has the focus."""
        expect(target).to_be_visible()
        for _ in range(MAX_STEPS):
            if target.evaluate(HAS_FOCUS):
                return
            self.key(key)
        raise AssertionError(f"{key} never leads to {target}")

    def choose_in_bar(self, item: str) -> None:
        """Choose an item of the bar's menu."""
        self.press(self._page.tab.get_by_role("button", name="Conversation menu"))
        self.press(
            self._page.tab.get_by_role("group", name="Conversation menu").get_by_role("button", name=item, exact=True)
        )

    def close_dialog(self, opener: Locator) -> None:
        """Press Escape once the dialog has the focus, which then is where it came from."""
        expect(self._page.tab.locator(".modal.show:focus-within")).to_have_count(1)
        self.key("Escape")
        expect(self._page.dialog).to_have_count(0)
        expect(opener).to_be_focused()


def press_composed(field: Locator, *keys: str) -> None:
    """Press keys of an input method: as most browsers tell of them, and as Safari tells of the last one."""
    for key in keys:
        for is_composing in (True, False):
            field.evaluate(COMPOSED, [key, is_composing])
