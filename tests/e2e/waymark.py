"""The page as a person uses it: what can be done, and what can be seen."""

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Download, Locator, expect
from playwright.sync_api import Page as Tab

from tests.e2e.server import Server

SHOWN = '[data-testid="message"][data-message-id]'  # without the answer that is being written, which has no id yet
WATCH_SIGNS = """() => {
  window.signs = [];
  const find = ({ target }) => [...(target.querySelectorAll?.(":scope > svg > use") ?? [])];
  const note = (change) => find(change).forEach((use) => signs.push([change.target.className, use.getAttribute("href")]));
  new MutationObserver((changes) => changes.forEach(note)).observe(document.body, { subtree: true, childList: true });
}"""
READ_MESSAGES = """elements => elements.map(element => {
  const of = selector => element.querySelector(selector)?.textContent ?? "";
  const isTool = element.dataset.role === "tool";
  const text = isTool ? [...element.querySelectorAll("pre")].map(e => e.textContent).join(" → ") : of(":scope > .prose");
  return [element.dataset.role, element.dataset.state, isTool ? `${of(".tool-name")} ${text}` : text.trim()];
})"""
READ_CHECKPOINTS = """elements => elements.map(element => [
  element.querySelector(".place-name").textContent,
  Number(element.dataset.messages)
])"""


@dataclass(frozen=True)
class Message:
    """One message as it is shown; a tool's is its card: name, arguments → result."""

    role: str
    state: str
    text: str


class Page:
    """One open tab of Waymark. `tab` is the browser's own page, for what only one test does."""

    def __init__(self, tab: Tab, server: Server) -> None:
        self.tab = tab
        self.server = server
        self.complaints: list[str] = []
        self.expected: list[str] = []  # regular expressions of complaints that belong to the test

    def expect_lost_server(self) -> None:
        """What the browser's console says while there is no server belongs to the test."""
        self.expected.append("WebSocket connection|ERR_(CONNECTION_|CONTENT_LENGTH|FAILED)|Failed to fetch|Callback failed")

    def open(self, path: str = "/") -> None:
        self.tab.goto(self.server.address + path)
        self.wait_until_ready()

    def reload(self) -> None:
        self.tab.reload()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        expect(self.tab.locator("#transcript .log")).to_be_visible()

    # Talking

    @property
    def composer(self) -> Locator:
        return self.tab.get_by_test_id("composer")

    @property
    def log(self) -> Locator:
        return self.tab.get_by_role("log")

    @property
    def stop_button(self) -> Locator:
        return self.tab.get_by_role("button", name="Stop", exact=True)

    @property
    def queued(self) -> Locator:
        """What was sent while an answer is being written."""
        return self.tab.locator(".composer-queued")

    @property
    def approval(self) -> Locator:
        """What can be decided about a tool call that waits."""
        return self.tab.locator(".approval")

    @property
    def live(self) -> Locator:
        """The answer that is being written."""
        return self.tab.locator("article.live")

    @property
    def spoken(self) -> Locator:
        """What a screen reader was told last about the conversation."""
        return self.tab.locator("#transcript > .visually-hidden[role=status]")

    def send(self, text: str) -> None:
        """Send a message and see it in the conversation; the answer may still be on its way."""
        asked = self.tab.locator(f'{SHOWN}[data-role="user"]')
        before = asked.count()
        self.composer.fill(text)
        self.composer.press("Enter")
        expect(asked).to_have_count(before + 1)
        expect(self.composer).to_have_value("")

    def say(self, text: str) -> None:
        """Send a message and wait for the whole answer."""
        self.send(text)
        self.wait_for_answer()

    def wait_for_answer(self) -> None:
        """Wait for the end of the run. Its first answer may call tools: Stop is shown from before it until the end."""
        last = self.tab.locator("article[data-message-id]").last
        expect(last).to_have_attribute("data-role", "assistant")
        expect(self.stop_button).to_have_count(0)
        expect(self.live).to_have_count(0)
        expect(self.tab.locator("#transcript")).not_to_have_attribute("data-thread", "")  # the panels have followed
        expect(last).to_have_attribute("data-role", "assistant")
        expect(last).to_have_attribute("data-state", "done")

    def watch_signs(self) -> None:
        """Note each icon that a button gets from now on: some stand for a moment only."""
        self.tab.evaluate(WATCH_SIGNS)

    def expect_sign(self, button: str, sign: str) -> None:
        """Wait until a button of this class has had an icon."""
        self.tab.wait_for_function(
            "([button, sign]) => signs.some(([name, href]) => name.includes(button) && new RegExp(sign).test(href))",
            arg=[button, sign],
        )

    def messages(self) -> list[Message]:
        return [Message(*parts) for parts in self.tab.locator(SHOWN).evaluate_all(READ_MESSAGES)]

    def expect_messages(self, count: int) -> None:
        expect(self.tab.locator(SHOWN)).to_have_count(count)

    def answer(self) -> str:
        """The newest answer."""
        return [message.text for message in self.messages() if message.role == "assistant"][-1]

    # What can be done with a message

    def message(self, text: str) -> Locator:
        """The message that holds this text."""
        return self.tab.locator(SHOWN).filter(has=self.tab.locator(".prose", has_text=text))

    def button_of(self, text: str, name: str) -> Locator:
        """A button of the message that holds this text."""
        return self.message(text).get_by_role("button", name=name, exact=True)

    def press_at(self, text: str, name: str) -> None:
        """Press a button of the message that holds this text. Where there is little room, it is in the message's menu."""
        if self.tab.evaluate("matchMedia('(hover: none), (width < 64em)').matches"):
            self.message(text).first.get_by_role("button", name="More", exact=True).click()
            self.tab.get_by_role("menuitem", name=name, exact=True).click()
        else:
            button = self.button_of(text, name)
            button.locator("xpath=ancestor::article").hover()  # the actions of a step lie over it while the pointer is there
            button.click()

    @property
    def editor(self) -> Locator:
        """The field in which a message is being changed, with its buttons."""
        return self.tab.get_by_role("form", name="Edit message")

    def edit(self, text: str, new: str, *, button: str = "Send") -> None:
        """Put another text in the place of a message."""
        self.press_at(text, "Edit message")
        self.editor.get_by_role("textbox").fill(new)
        self.editor.get_by_role("button", name=button).click()

    def alternatives(self, label: str) -> Locator:
        """The arrows of a message that has alternatives, by what they say: "2 of 3"."""
        return self.tab.get_by_role("group", name=f"Alternative {label}", exact=True)

    # Moving through time

    @property
    def save_button(self) -> Locator:
        return self.tab.get_by_role("button", name="Save checkpoint")

    @property
    def dialog(self) -> Locator:
        """The dialog that is open, the upper one of two; waits until it is wholly there."""
        return self.tab.locator(".modal.show").last

    @property
    def notice(self) -> Locator:
        """The banner at the boundary."""
        return self.tab.locator(".notice")

    @property
    def toast(self) -> Locator:
        return self.tab.get_by_test_id("toast")

    def save(self, name: str = "", description: str = "") -> None:
        before = self.tab.get_by_test_id("checkpoint").count()
        self.save_button.click()
        form = self.tab.get_by_role("form", name="Save checkpoint")
        form.get_by_label("Name").fill(name)
        form.get_by_label("Description").fill(description)
        form.get_by_role("button", name="Save").click()
        expect(self.tab.get_by_test_id("checkpoint")).to_have_count(before + 1)

    def checkpoint(self, name: str) -> Locator:
        return self.tab.get_by_test_id("checkpoint").filter(has=self.tab.get_by_text(name, exact=True))

    def checkpoints(self) -> list[tuple[str, int]]:
        """Names and message counts, oldest first."""
        return [tuple(parts) for parts in self.tab.get_by_test_id("checkpoint").evaluate_all(READ_CHECKPOINTS)]

    def select(self, row: Locator) -> Locator:
        """Select a place of History, and return its card."""
        row.get_by_role("button").click()
        card = self.tab.locator(".place-card")
        card.wait_for()
        return card

    def press(self, place: str, button: str) -> None:
        """Press a button in the card of a checkpoint or a branch."""
        self.select(self.place(place)).get_by_role("button", name=button, exact=True).click()

    def place(self, name: str) -> Locator:
        return self.tab.locator(".place").filter(has=self.tab.get_by_text(name, exact=True))

    def choose_at(self, row: Locator, item: str) -> None:
        """Choose an item of the menu in the card of a place."""
        self.open_card_menu(row).get_by_role("menuitem", name=item, exact=True).click()

    def open_card_menu(self, row: Locator) -> Locator:
        card = self.select(row)
        card.locator(".card-more").click()  # in any language
        return card.get_by_role("menu")

    def expect_checkpoints(self, *expected: tuple[str, int]) -> None:
        """Names and message counts, oldest first."""
        names = self.tab.get_by_test_id("checkpoint").locator(".place-name")
        expect(names).to_have_count(len(expected))
        expect(names).to_have_text([name for name, _ in expected])
        assert self.checkpoints() == list(expected)

    def ask_to_restore(self, name: str) -> Locator:
        """Open the dialog."""
        self.select(self.checkpoint(name)).get_by_role("button", name="Restore").click()
        self.dialog.wait_for()
        return self.dialog

    def restore(self, name: str, *, keep: bool = False) -> None:
        """Go back to a checkpoint, past the dialog."""
        dialog = self.ask_to_restore(name)
        if keep:
            dialog.get_by_label("Keep the removed messages as a branch").check()
        self.confirm("Restore")
        expect(self.notice).to_contain_text(f"Restored to {name}")

    def confirm(self, button: str) -> None:
        """Press a button of the open dialog, and see it close."""
        self.dialog.get_by_role("button", name=button, exact=True).click()
        expect(self.tab.locator(".modal")).to_have_count(0)

    def undo(self) -> None:
        """Press Undo in the banner."""
        self.notice.get_by_role("button", name="Undo").click()
        expect(self.notice).to_have_count(0)

    def press_in_menu(self, name: str) -> None:
        """Press an item of the bar's menu."""
        self.open_menu().get_by_role("button", name=name, exact=True).click()

    def open_menu(self) -> Locator:
        self.tab.get_by_role("button", name="Conversation menu").click()
        return self.tab.get_by_role("group", name="Conversation menu")

    # Branches, and the log of what was done

    @property
    def branches(self) -> Locator:
        return self.tab.get_by_test_id("branch")

    def branch(self, name: str) -> Locator:
        return self.branches.filter(has=self.tab.get_by_text(name, exact=True))

    def switch(self, name: str) -> None:
        """Make another branch the current one."""
        self.press(name, f"Switch to {name}")

    def ask_to_branch(self, text: str) -> Locator:
        """Open the dialog at the message that holds this text."""
        self.press_at(text, "Branch from here")
        self.dialog.wait_for()
        return self.dialog

    def log_lines(self) -> list[str]:
        """Open the log, read it, newest first, and close it."""
        self.press_in_menu("Change log")
        lines = self.dialog.get_by_test_id("change")
        expect(lines.first).to_be_visible()
        texts = lines.locator(".change-text").all_text_contents()
        self.confirm("Close")
        return texts

    # Conversations and files

    @property
    def threads(self) -> Locator:
        return self.tab.get_by_test_id("thread")

    def thread_titles(self) -> list[str]:
        return self.tab.locator(".thread-title").all_text_contents()

    def new_conversation(self) -> None:
        self.tab.get_by_role("button", name="New conversation", exact=True).click()
        self.tab.wait_for_url(f"{self.server.address}/")
        self.expect_messages(0)

    def ask_to_export(self) -> Locator:
        """Open the dialog."""
        self.press_in_menu("Export")
        self.dialog.wait_for()
        return self.dialog

    def export(self, to: Path) -> Path:
        """Save the export as a file, as the open dialog says; without one, as it says at first."""
        dialog = self.dialog if self.dialog.count() else self.ask_to_export()
        with self.tab.expect_download() as started:
            dialog.get_by_role("button", name="Export", exact=True).click()
        expect(self.tab.locator(".modal")).to_have_count(0)
        download: Download = started.value
        path = to / download.suggested_filename
        download.save_as(path)
        return path

    def choose_import(self, path: Path) -> None:
        """Choose a file to import; a preview or a refusal follows."""
        with self.tab.expect_file_chooser() as chooser:
            self.press_in_menu("Import")
        chooser.value.set_files(path)
