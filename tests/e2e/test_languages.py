"""The page in another language: as the browser wants or as chosen, and without a text that nobody marked."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, LocatorAssertions, expect
from playwright.sync_api import Page as Tab

from tests.e2e import dialogs
from tests.e2e.conftest import WIDE, Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import ANY_IMPACT, NARROW, SIZES, expect_accessible_in_all_schemes
from tests.e2e.test_conversations import choose
from tests.e2e.waymark import Page
from tests.extensions.graphs.running_graphs import AGENT
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say
from tests.pseudo import MARKED, translate

pytestmark = pytest.mark.e2e
# What people read, but for the text of messages, code and keys.
READ_TEXTS = """() => {
  const found = new Set([document.title]);
  const skip = ".prose, pre, code, kbd, script, style, textarea, .tool-name, .tool-preview, .tool-result, [lang]:not(html)";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(skip)) found.add(walker.currentNode.data);
  for (const element of document.body.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
    for (const name of ["aria-label", "title", "placeholder", "alt"])
      if (!element.closest(skip) || name !== "title") found.add(element.getAttribute(name) ?? "");
  return [...found];
}"""
COUNT_LINES = """cells => cells.map((cell) => {
  const range = new Range();
  range.selectNodeContents(cell);
  return range.getClientRects().length;
})"""
WORD = re.compile(r"[A-Za-z]{2,}")
# Facts, which have no language: what a person or the store has named, products, units.
FACTS = (
    r"HTTP 401: .*|Before restoring Begin|Checkpoint \d+|Branch \d+|\{\{\w+\}\}|\{\"seed\": 7\}|sk-\*|/\S+\.py|/[a-z-]+"
    r"|\S+\.(?:json|zip|md)|\b(?:Anthropic|Azure OpenAI|OpenAI)\b"
    r"|\b(?:Waymark|JSON|Markdown|openai:[\w-]+|openai|demo:brief|demo|fake-model|other-model|main|Deutsch|English)\b"
    r"|\b(?:[0-9a-f]{8}|Ctrl|Alt|Chrome on Linux|none|minimal|low|medium|high|xhigh|kB|ms|min)\b"
)

# What a person and a model write in `dialogs.prepare`, and the parts between which a search marks its words.
TYPED = (
    *("An old one", "A wrong one", "Where do we go?", "Begin", "Before any decision", "Rather up than down"),
    *("Or to some water", "Travel", "A new one"),
)
SAID = (
    *(
        "The **coast** it is.",
        "The coast it is.",
        "The mountains, then.",
        "A lake.",
        # A list cuts the long answer off.
        *("Its water is warm in August, and cold in May.", "Its water is warm in August, and cold i", "Its water is"),
        "A pond.",
        "price",
        "ferry",
        "Are you sure?",
    ),
    *("The **", "** it is.", "The ", "it is.", "coast", "Where-do-we-go.waymark.json", "text", "language", "Translation"),
)


def find_unmarked(tab: Tab, data: re.Pattern[str]) -> list[str]:
    """Find texts with plain letters, which no catalogue has, and which are no data."""
    return sorted(text for text in tab.evaluate(READ_TEXTS) if WORD.search(data.sub("", text)))


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test name things in English, and find them in the pseudo language."""

    def patch(owner: type, method: str, argument: str | None) -> None:
        original = getattr(owner, method)

        def find(self: Any, *given: Any, **options: Any) -> Any:
            if argument is None and isinstance(given[0], str):
                given = (translate(given[0]), *given[1:])
            elif argument in options and isinstance(options[argument], str):
                options[argument] = translate(options[argument])
            return original(self, *given, **options)

        monkeypatch.setattr(owner, method, find)

    for owner in (Tab, Locator):
        patch(owner, "get_by_role", "name")
        patch(owner, "get_by_label", None)
        patch(owner, "get_by_text", None)
    patch(LocatorAssertions, "to_contain_text", None)


class Look:
    """Collects the unmarked texts of each state that a test shows it."""

    def __init__(self, page: Page, *data: str) -> None:
        self._tab, self._data = page.tab, re.compile("|".join([FACTS, *map(re.escape, sorted(data, key=len, reverse=True))]))
        self.found: dict[str, list[str]] = {}

    def at(self, state: str) -> None:
        expect(self._tab.get_by_text("Reading…")).to_have_count(0)
        if unmarked := find_unmarked(self._tab, self._data):
            self.found[state] = unmarked


def open_translated(visit: Visit, server: Server) -> Page:
    page = visit(server, locale="de-DE")
    expect(page.tab.locator("html")).to_have_attribute("lang", "de")
    assert set(MARKED) & set(page.tab.inner_text("body"))
    return page


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.usefixtures("translated")
def test_each_dialog_list_and_card_is_accessible_in_all_schemes_and_has_no_text_outside_of_the_catalogue(
    size: Any, start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    """Two proofs in one: opening each of them takes longer than looking at it. Each is opened where there is room."""
    server = start(pseudo_language="on", **openai_settings)
    page = open_translated(visit, server)
    look = Look(page, *TYPED, *SAID, dialogs.PROMPT, "Back once more.", "To the coast after all.")

    def look_at(state: str) -> None:
        page.tab.set_viewport_size(size)
        if size is NARROW and state in dialogs.SHEETS:
            page.tab.get_by_role("button", name=dialogs.SHEETS[state], exact=True).click()
        look.at(state)
        expect_accessible_in_all_schemes(page, state, ANY_IMPACT)
        page.tab.set_viewport_size(WIDE)

    look_at("start")
    dialogs.prepare(page, fake_openai)
    look_at("conversation")
    for name, open_state in dialogs.OPENERS.items():
        open_state(page)
        look_at(name)
        dialogs.close(page)
    dialogs.open_import(page, server)
    look_at("import")
    dialogs.close(page)
    dialogs.ask_to_go_back(page, fake_openai)
    look_at("approval")
    assert not look.found, look.found


@pytest.mark.slow
@pytest.mark.usefixtures("translated")
def test_no_text_about_answers_of_any_kind_is_outside_of_the_catalogue(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = open_translated(visit, start(pseudo_language="on", **openai_settings))
    look = Look(page, "One?", "Two?", "Three?", "Four?", "First.", "calculate")
    fake_openai.script(Call("calculate", {"expression": "6 * 7"}), Say("First."))
    page.say("One?")
    page.tab.locator("details.tool summary").click()
    look.at("tool")
    fake_openai.script(Fault("status", status=401))
    page.send("Two?")
    expect(page.tab.get_by_role("alert")).to_be_visible()
    look.at("error")
    page.reload()
    look.at("error after a reload")
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("button", name="Ask several at once…").click()
    page.tab.get_by_role("option", name="demo", exact=True).click()
    look.at("choice of models")
    page.tab.get_by_role("button", name="Done").click()
    fake_openai.script(Say("First."))
    page.send("Three?")
    expect(page.tab.get_by_role("button", name="Continuing from this answer")).to_be_visible()
    look.at("two answers")
    page.edit("Three?", "Four?")
    expect(page.message("Four?").first).to_be_visible()  # the demo repeats the question
    page.wait_for_answer()
    look.at("alternatives")
    page.press_in_menu("Clear conversation")
    look.at("clearing")
    page.confirm("Clear")
    look.at("cleared")
    page.notice.get_by_role("button", name="Undo").click()
    expect(page.message("Four?").first).to_be_visible()
    look.at("undone")
    choose(page, "One?", "Archive")
    look.at("archived")
    assert not look.found, look.found


@pytest.mark.slow
@pytest.mark.usefixtures("translated")
def test_no_text_about_a_graph_is_outside_of_the_catalogue(start: Start, visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "theirs.py"
    path.write_text(AGENT.replace("    said =", "    assert last.text != 'break'\n    said ="))
    page = open_translated(visit, start(pseudo_language="on", graph=f"{path}:graph"))
    look = Look(
        page,
        "hello",
        "ask 7A",
        "The tool says: approve 7A",
        "Greeted",
        "graph:graph",
        "graph",
        "book",
        "break",
        "AssertionError",
        "pytest",
        "Notes",
        "Turns",
        "notes",
        "turns",
        "messages",
    )
    page.say("hello")
    page.save("Greeted")
    page.press_in_menu("Conversation settings")
    expect(page.dialog.locator("#settings-fields > *")).not_to_have_count(0)
    look.at("settings")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    page.send("ask 7A")
    card = page.tab.get_by_test_id("question")
    expect(card).to_be_visible()
    card.get_by_role("button", name="Change arguments").click()
    look.at("question")
    card.get_by_role("button", name="Approve").click()
    expect(card).to_have_count(0)
    page.wait_for_answer()
    page.open_card_menu(page.checkpoint("Greeted")).get_by_test_id("state").click()
    expect(page.dialog.get_by_test_id("channel").first).to_be_visible()
    look.at("state")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    page.ask_to_restore("Greeted")
    look.at("restore")
    page.confirm("Restore")
    expect(page.notice).to_be_visible()
    look.at("restored")
    page.send("break")
    expect(page.tab.get_by_role("alert")).to_be_visible()
    look.at("failure")
    assert not look.found, look.found


def test_the_page_follows_the_browser_and_then_the_choice(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, locale="de-AT")
    expect(page.tab.locator("html")).to_have_attribute("lang", "de")
    page.tab.get_by_role("button", name="Chatmenü").click()
    page.tab.get_by_role("button", name="App-Einstellungen").click()
    with page.tab.expect_navigation():
        page.dialog.get_by_label("Sprache").select_option("English")
    expect(page.tab.get_by_role("button", name="New conversation", exact=True)).to_be_visible()
    page.reload()
    expect(page.tab.locator("html")).to_have_attribute("lang", "en")
    page.press_in_menu("App settings")
    with page.tab.expect_navigation():
        page.dialog.get_by_label("Language").select_option("System")
    expect(page.tab.get_by_role("button", name="Neuer Chat")).to_be_visible()


@pytest.mark.slow
def test_english_loads_no_catalogue(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    assert page.tab.locator("script[src*='/words/']").count() == 0
    assert page.tab.evaluate("window.waymark.words") is None


@pytest.mark.slow
def test_two_pages_of_one_conversation_keep_their_own_languages(shared_server: Server, visit: Visit) -> None:
    german = visit(shared_server, locale="de-DE")
    german.send("What is 6 * 7?")
    german.wait_for_answer()
    english = visit(shared_server, german.tab.url.removeprefix(shared_server.origin))
    english.wait_for_answer()
    german.send("And 7 * 8?")
    for page, answering, undo in (
        (german, "Neu antworten", "Rückgängig: die letzten Nachrichten (Strg+Alt+Z)"),
        (english, "Answer again", "Undo the last messages (Ctrl+Alt+Z)"),
    ):
        page.wait_for_answer()
        expect(page.tab.get_by_role("button", name=answering)).not_to_have_count(0)
        expect(page.tab.locator("#undo")).to_have_attribute("title", undo)


def test_words_of_the_table_of_usage_are_whole_on_a_phone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, locale="de-DE", viewport=NARROW)
    page.send("What is 6 * 7?")
    page.wait_for_answer()
    page.tab.get_by_role("button", name="Chatmenü").click()
    page.tab.get_by_role("button", name="Verbrauch", exact=True).click()
    periods = page.dialog.locator("tbody th")
    expect(periods).to_have_text(["Heute", "7 Tage", "30 Tage"])
    assert periods.evaluate_all(COUNT_LINES) == [1, 1, 1]
