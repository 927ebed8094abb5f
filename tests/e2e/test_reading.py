"""Everything that an answer or a question may contain can be read, copied and kept."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from tests.e2e.answers import PASTE
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say
from tests.hostile_texts import HOSTILE_TEXTS, SPREADSHEET_FORMULAS

pytestmark = pytest.mark.e2e
PHONE = {"viewport": {"width": 390, "height": 844}}
WORDS = ("many words " * 8).strip()
TABLE = f"| Name | Share | Note | Why |\n|---|--:|:-:|---|\n| a, *b* | -5 | $x^2$ | `c` |\n| =1+1 | 7 | {WORDS} | {WORDS} |"
COPY = """(element, from) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const copied = new DataTransfer();
  element.dispatchEvent(new ClipboardEvent("copy", {clipboardData: copied, bubbles: true, cancelable: true}));
  return copied.getData("text/plain");
}"""


@pytest.fixture
def page(shared_openai_server: Server, visit: Visit) -> Page:
    return visit(shared_openai_server)


def show(page: Page, fake_openai: FakeOpenAI, text: str) -> Locator:
    """Let the model answer with this text, and return its answer."""
    fake_openai.script(Say(text))
    page.say("Show me")
    return page.tab.locator('article[data-message-id][data-role="assistant"] > .prose').last


MEASURE_ROOM = """(list) => {
  const item = list.lastElementChild, mark = document.createElement("span");
  mark.textContent = `${list.start + list.children.length - 1}. `;
  mark.style.whiteSpace = "pre";
  item.append(mark);
  const { width } = mark.getBoundingClientRect();
  mark.remove();
  return item.getBoundingClientRect().left - list.closest(".message").getBoundingClientRect().left - width;
}"""


@pytest.mark.parametrize("viewport", [{"width": 1440, "height": 900}, PHONE["viewport"]], ids=["wide", "phone"])
def test_numbers_of_a_long_list_are_whole(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI, viewport: Any
) -> None:
    page = visit(shared_openai_server, viewport=viewport)
    long = "\n".join(f"{number}. {'word ' * 5}" for number in range(1, 121))
    answer = show(page, fake_openai, f"{long}\n\nIn years:\n\n2024. A good one.\n2025. Another one.")
    for each in answer.locator("ol").all():
        assert each.evaluate(MEASURE_ROOM) >= 0


def read_copied(page: Page) -> str:
    return str(page.tab.evaluate("window.copied"))


def catch_copies(page: Page) -> None:
    page.tab.evaluate("void (navigator.clipboard.writeText = async (text) => { window.copied = text; })")
    page.watch_signs()


def test_a_formula_is_drawn_while_it_streams_and_copied_as_tex(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.hold(after_tokens=4)
    fake_openai.script(Say("So $x^2$ and\n\n\\[\n\\frac{a}{b}\n\\]\n\ncosts $5 or $6."))
    page.send("Show me")
    expect(page.live).to_contain_text("So")
    fake_openai.release()
    page.wait_for_answer()
    prose = page.tab.locator('article[data-role="assistant"] > .prose')
    expect(prose.locator("math")).to_have_count(2)
    fraction = prose.locator("mfrac").bounding_box()
    assert fraction
    assert fraction["height"] > 1.5 * fraction["width"]  # one above the other
    assert re.sub(r"\s+", " ", prose.evaluate(COPY)) == r"So $x^2$ and \[\frac{a}{b}\] costs $5 or $6."


@pytest.mark.slow
def test_a_text_from_right_to_left_may_begin_with_a_name_in_latin_letters(page: Page, fake_openai: FakeOpenAI) -> None:
    arabic = "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643"
    fake_openai.hold(after_tokens=4)
    fake_openai.script(Say(f"API {arabic} `a.b()`.\n\n- React {arabic}\n\n> Vue {arabic}"))
    page.send(f"API {arabic}")
    expect(page.live.locator("p").first).to_have_css("direction", "rtl")
    fake_openai.release()
    page.wait_for_answer()
    answer = page.tab.locator('article[data-role="assistant"] > .prose')
    for css in (("direction", "rtl"), ("padding-left", "0px"), ("list-style-position", "outside")):
        expect(answer.locator("ul")).to_have_css(*css)
    for css in (("border-right-width", "2px"), ("border-left-width", "0px")):
        expect(answer.locator("blockquote")).to_have_css(*css)
    for css in (("direction", "ltr"), ("unicode-bidi", "isolate")):
        expect(answer.locator("code")).to_have_css(*css)
    for title in ('article[data-role="user"] > .prose > div', "#thread-title", ".thread-current .thread-title"):
        expect(page.tab.locator(title)).to_have_css("direction", "rtl")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tokens", "count", "directions"),
    [
        (("React ", "\u0645\u0631\u062d\u0628\u0627"), 1, ["rtl"]),
        (("\u0645\u0631\u062d\u0628\u0627\n\n", "React ", "is ", "here"), 2, ["rtl", "rtl"]),
        (("\u0645\u0631\u062d\u0628\u0627\n\n", "React ", "is ", "here"), 3, ["rtl", "ltr"]),
    ],
)
def test_a_block_with_one_word_in_latin_letters_yet_goes_on_in_the_direction_before_it(
    tokens: tuple[str, ...], count: int, directions: list[str], page: Page, fake_openai: FakeOpenAI
) -> None:
    fake_openai.hold(after_tokens=count)
    fake_openai.script(Say("".join(tokens), tokens=tokens))
    page.send("\u0645\u0631\u062d\u0628\u0627")
    expect(page.live.locator("p").last).to_have_text("".join(tokens[:count]).split("\n\n")[-1].strip())
    for block, direction in zip(page.live.locator(".prose p").all(), directions, strict=True):
        expect(block).to_have_css("direction", direction)
    fake_openai.release()
    page.wait_for_answer()


@pytest.mark.slow
def test_a_table_is_aligned_scrolls_on_a_phone_and_is_copied(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server, **PHONE)
    prose = show(page, fake_openai, TABLE)
    assert prose.locator("td").nth(1).evaluate("cell => getComputedStyle(cell).textAlign") == "right"
    assert prose.locator(".wide-content").evaluate("frame => frame.scrollWidth > frame.clientWidth")
    assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    catch_copies(page)
    prose.get_by_role("button", name="Copy table as CSV").click()
    page.expect_sign("csv-tool", "check-lg")
    assert read_copied(page) == f'Name,Share,Note,Why\r\n"a, b",-5,$x^2$,c\r\n\'=1+1,7,{WORDS},{WORDS}\r\n'
    prose.get_by_role("button", name="Copy table as Markdown").press("Enter")
    page.expect_sign("markdown-tool", "check-lg")
    assert read_copied(page) == TABLE.replace("|---|--:|:-:|---|", "| --- | --: | :-: | --- |") + "\n"


@pytest.mark.slow
def test_the_tools_of_a_wide_table_are_beside_it(page: Page, fake_openai: FakeOpenAI) -> None:
    prose = show(page, fake_openai, TABLE)
    prose.locator("td").first.hover()
    tools = prose.locator(".table-frame > .prose-tools")
    expect(tools).to_have_css("opacity", "1")
    table, beside = prose.locator(".wide-content").bounding_box(), tools.bounding_box()
    assert table
    assert beside
    assert table["x"] + table["width"] <= beside["x"]
    assert prose.locator("td").nth(1).evaluate("cell => getComputedStyle(cell).whiteSpace") == "nowrap"


@pytest.mark.slow
def test_a_print_has_all_columns_of_a_wide_table_and_the_whole_of_a_line(
    page: Page, fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    heads = " | ".join(f"A heading of column {number}" for number in range(1, 10))
    code = f"```\n{'a line of code ' * 20}\n```"
    show(page, fake_openai, f"| {heads} |\n|{'---|' * 9}\n|{' some text to read |' * 9}\n\n{code}")
    expect_on_paper(page.tab)
    page.tab.emulate_media(media="screen")
    page.tab.set_viewport_size({"width": 1440, "height": 900})
    page.ask_to_export().get_by_label("Format").select_option(label="HTML, to read anywhere")
    html = page.export(tmp_path).read_text()
    page.tab.goto("about:blank")
    page.tab.set_content(html)
    expect_on_paper(page.tab)


def expect_on_paper(tab: Tab) -> None:
    """Expect the last answer to be as wide as its sheet, with its table and its code."""
    tab.set_viewport_size({"width": 720, "height": 900})
    tab.emulate_media(media="print")
    answer = tab.locator(".prose").last
    for inner in (answer.get_by_role("columnheader").last, answer.locator("pre > code")):
        sheet, part = answer.bounding_box(), inner.bounding_box()
        assert sheet is not None
        assert part is not None
        assert part["x"] + part["width"] <= sheet["x"] + sheet["width"] + 1


def test_code_is_downloaded_under_the_name_of_its_language_and_wraps(
    page: Page, fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    long_line = "x = " + "1 + " * 100 + "1"
    prose = show(page, fake_openai, f"```python\n{long_line}\n```\n\n```../../exe\nx\n```")
    first, second = prose.get_by_role("button", name="Download code").all()
    with page.tab.expect_download() as started:
        first.click()
    started.value.save_as(tmp_path / "code")
    assert started.value.suggested_filename == "code.py"
    assert (tmp_path / "code").read_text() == f"{long_line}\n"
    with page.tab.expect_download() as started:
        second.click()
    assert started.value.suggested_filename == "code.txt"
    code, wrap = prose.locator("pre").first, prose.get_by_role("button", name="Wrap lines").first
    assert code.evaluate("code => code.scrollWidth > code.clientWidth")
    wrap.click()
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert not code.evaluate("code => code.scrollWidth > code.clientWidth")
    prose = show(page, fake_openai, "```mermaid\ngraph TD\nA --> B\n```")  # a diagram is its source
    expect(prose.locator("pre")).to_have_text(re.compile("graph TD\\s+A --> B"))
    with page.tab.expect_download() as started:
        prose.get_by_role("button", name="Download code").click()
    assert started.value.suggested_filename.startswith("code.")


@pytest.mark.slow
def test_a_footnote_leads_there_and_back_in_its_own_message(page: Page, fake_openai: FakeOpenAI) -> None:
    show(page, fake_openai, "One.[^1]\n\n[^1]: First note")
    prose = show(page, fake_openai, "Two[^1] and again.[^1]\n\n[^1]: Second note\n\n- [x] done")
    address = page.tab.url
    second_mark = prose.get_by_role("link", name="Footnote 1").nth(1)
    second_mark.click()
    expect(prose.locator("li:focus")).to_contain_text("Second note")
    prose.get_by_role("link", name="Back to the text").press("Enter")
    expect(second_mark).to_be_focused()
    assert page.tab.url == address
    ids = page.tab.locator("[id]").evaluate_all("elements => elements.map(element => element.id)")
    assert len(ids) == len(set(ids))
    expect(prose.get_by_role("checkbox", name="Done")).to_be_checked()


@pytest.mark.slow
def test_text_from_right_to_left_is_aligned_right(page: Page, fake_openai: FakeOpenAI) -> None:
    prose = show(page, fake_openai, "Hello\n\n\u05e9\u05dc\u05d5\u05dd\n\n- \u05e9\u05dc\u05d5\u05dd")
    read = (
        "element => { const r = document.createRange(); r.selectNodeContents(element); return r.getBoundingClientRect().x; }"
    )
    left, right = (prose.locator("p").nth(place).evaluate(read) for place in (0, 1))
    assert right > left + 300
    assert prose.locator("li").evaluate(read) > left + 300


@pytest.mark.slow
def test_a_long_question_is_folded_until_it_is_wanted(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Read."))
    page.say("\n".join(f"line {number}" for number in range(200)))
    question = page.message("line 0")
    more = question.get_by_role("button", name="Show more")
    prose = question.locator(".prose")
    assert prose.evaluate("text => text.clientHeight < 500 && text.scrollHeight > 3000")
    more.click()
    assert prose.evaluate("text => text.clientHeight > 3000")
    question.get_by_role("button", name="Show less").click()
    expect(more).to_be_visible()


def test_a_long_paste_becomes_a_file_and_can_be_put_into_the_field_instead(page: Page) -> None:
    assert page.composer.evaluate(PASTE, "short") is True  # the browser inserts it
    assert page.composer.evaluate(PASTE, "x" * 1_000_000) is False
    notice = page.tab.get_by_role("status").filter(has_text="The pasted text (1,000,000 characters) is attached as a file.")
    expect(notice).to_be_visible()
    expect(page.composer).to_have_value("")
    expect(notice.get_by_role("button")).to_have_count(0)  # no message takes so much text
    page.tab.get_by_role("button", name="Remove pasted.txt").click()
    expect(notice).to_have_count(0)
    page.composer.fill("before ")
    page.composer.evaluate(PASTE, "y" * 30_000)
    page.tab.get_by_role("button", name="Put it into the field").click()
    expect(page.composer).to_have_value("before " + "y" * 30_000)
    expect(page.tab.locator(".attached-chip")).to_have_count(0)
    page.composer.fill("")


@pytest.mark.slow
def test_questions_are_shown_as_markdown_if_this_browser_wants_it(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Seen."))
    page.say("Is **this** $x^2$?")
    question = page.tab.locator('article[data-role="user"] > .prose')
    expect(question).to_have_text("Is **this** $x^2$?")

    def choose() -> None:
        page.press_in_menu("App settings")
        page.tab.get_by_label("Show my questions as Markdown").click()
        page.confirm("Close")

    choose()
    expect(question.locator("strong")).to_have_text("this")
    page.reload()
    expect(question.locator("math")).to_have_count(1)
    choose()
    expect(question).to_have_text("Is **this** $x^2$?")


@pytest.mark.slow
def test_hostile_texts_run_and_load_nothing(page: Page, fake_openai: FakeOpenAI) -> None:
    """The page also fails a test that asks another host for anything, or says an error."""
    assert len(HOSTILE_TEXTS) + len(SPREADSHEET_FORMULAS) >= 60
    page.tab.evaluate("void (window.alert = () => { window.isHacked = true; })")
    spreadsheet = "|cells|\n|-|\n" + "".join(f"|{cell}|\n" for cell in SPREADSHEET_FORMULAS)
    prose = show(page, fake_openai, "\n\n".join([*HOSTILE_TEXTS, "The end.", spreadsheet]))
    expect(prose).to_contain_text("The end.")
    for button in prose.get_by_role("button", name=re.compile("^(Copy|Wrap)")).all():
        button.dispatch_event("click")
    for element in prose.locator("a, input, li, math, td").all()[:200]:
        element.dispatch_event("mouseover")
        element.dispatch_event("focus")
    catch_copies(page)
    prose.get_by_role("button", name="Copy table as CSV").last.click()
    page.expect_sign("csv-tool", "check-lg")
    copied = read_copied(page)
    assert "=1+1" in copied
    # A spreadsheet in another country ends a cell at a semicolon, and a pasted text ends one at a tab, within quotes too.
    assert not re.search(r'(?:^|[;\t\r\n])"?[=+@-]', copied.partition("\n")[2])
    assert page.tab.evaluate("window.isHacked") is None
    assert prose.locator("img, script, iframe, svg:not(.icon), style, maction").count() == 0
