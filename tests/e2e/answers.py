"""The states of the page that answers bring: several at once, asked again, summarised, waiting, failed. Each begins anew."""

from collections.abc import Callable, Mapping

from playwright.sync_api import expect

from tests.attachments import PDF, png
from tests.e2e.test_attachments import chips
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

PASTE = """(field, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const event = new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true});
  return field.dispatchEvent(event);
}"""
LONG = "It rained, and nobody went out. " * 40
RICH = (
    "# Plan\n\n- [x] ferry\n- [ ] hotel, see [the list](https://x.invalid)\n\nA sum: $\\frac{1}{2}$ of it[^1].\n\n"
    "> They said: *later*.\n\n1. one\n2. two\n\n```\nplain\n```\n\n[^1]: Or less."
)


def _answer_side_by_side(page: Page, fake_openai: FakeOpenAI) -> None:
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("button", name="Ask several at once").click()
    page.tab.get_by_role("option", name="other-model").click()
    page.tab.get_by_role("button", name="Done").click()
    fake_openai.script(Fault("status", status=401), Say("Forty-two."))
    page.send("How much?")
    expect(page.stop_button).to_have_count(0)
    expect(page.tab.get_by_test_id("candidate")).to_have_count(2)
    expect(page.tab.locator('[data-testid="candidate"][data-state="done"]')).to_have_count(1)


def _run_again(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Red."), Say("Rot."))
    page.say("Which colour?")
    page.composer.fill("/again")
    page.composer.press("Enter")
    page.confirm("Start")
    expect(page.tab.get_by_test_id("rerun")).to_contain_text("asked again")


def _summarise(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say(LONG), Say("It rained."))
    page.say("How was it?")
    page.composer.fill("/compact")
    page.composer.press("Enter")
    page.confirm("Summarise")
    expect(page.notice).to_contain_text("2 messages summarised")
    page.tab.locator("details.summary summary").click()


def _ask_an_agent(page: Page, fake_openai: FakeOpenAI) -> None:
    ask = Call("ask_agent", {"agent": "critic", "question": "Is **it** sound?"}, text="Let me ask.")
    fake_openai.script(ask, Say("It has a gap."), Say("So it has."))
    page.say("Check it")
    page.tab.get_by_test_id("work").locator("summary").click()
    page.tab.get_by_role("button", name="Open as a transcript").click()
    expect(page.tab.get_by_role("dialog", name="Everything critic remembers").get_by_test_id("agent-message")).to_have_count(
        2
    )


def _think(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.manner = "deepseek"
    fake_openai.script(Say("Good day.", thought="A short greeting will do."))
    page.say("Greet me")
    fake_openai.manner = "openai"
    page.tab.get_by_test_id("reasoning").locator("summary").click()


def _edit(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Red."))
    page.say("Which colour?")
    page.press_at("Which colour?", "Edit message")
    expect(page.editor.get_by_role("textbox")).to_be_focused()


def _attach(page: Page, contents: Mapping[str, bytes]) -> None:
    with page.tab.expect_file_chooser() as chooser:
        page.tab.get_by_role("button", name="Attach files").click()
    given = [{"name": name, "mimeType": "application/octet-stream", "buffer": each} for name, each in contents.items()]
    chooser.value.set_files(given)  # type: ignore[arg-type]


def _wait_with_a_file(page: Page, fake_openai: FakeOpenAI) -> None:
    """A message in the queue, and files in the field: one of them is refused."""
    fake_openai.script(Say("one two three four"))
    fake_openai.hold(after_tokens=2)
    page.send("Count")
    expect(page.live).to_contain_text("two")
    page.composer.fill("And then?")
    page.composer.press("Enter")
    expect(page.queued).to_contain_text("And then?")
    _attach(page, {"chart.png": png(), "all.zip": b"PK\x03\x04\x00\x00"})
    expect(page.tab.get_by_role("alert")).to_contain_text("all.zip is neither an image")
    fake_openai.reply(Say("Five."))


def _answer_again(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Red."), Say("Rot."))
    page.say("Which colour?")
    page.button_of("Red.", "Answer again").click()
    page.alternatives("2 of 2").wait_for()
    page.wait_for_answer()


def _send_files(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("A chart."))
    _attach(page, {"chart.png": png(), "offer.pdf": PDF, "a name that is longer than its chip has room for.txt": b"Hi"})
    expect(chips(page)).to_have_count(3)
    page.say("What is this?")
    expect(page.tab.get_by_role("img", name="chart.png")).to_have_js_property("naturalWidth", 40)


def _enlarge_picture(page: Page, fake_openai: FakeOpenAI) -> None:
    _send_files(page, fake_openai)
    page.tab.get_by_role("button", name="Open chart.png").click()
    expect(page.tab.get_by_role("dialog", name="chart.png").get_by_role("button", name="Close")).to_be_focused()


def _lose_picture(page: Page, fake_openai: FakeOpenAI) -> None:
    page.tab.route("**/files/**", lambda route: route.fulfill(status=200, content_type="image/png", body="no picture"))
    fake_openai.script(Say("A chart."))
    _attach(page, {"chart.png": png()})
    expect(chips(page)).to_have_count(1)
    page.say("What is this?")
    expect(page.tab.locator(".attached-lost")).to_contain_text("chart.png is damaged and is not shown.")
    page.tab.unroute_all()


def _paste(page: Page, fake_openai: FakeOpenAI) -> None:
    page.composer.evaluate(PASTE, "x" * 30_000)
    expect(page.tab.get_by_role("button", name="Put it into the field")).to_be_visible()


def _write_slowly(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("one two three four"))
    fake_openai.hold(after_tokens=2)
    page.send("Count")
    expect(page.live).to_contain_text("two")


def _stop(page: Page, fake_openai: FakeOpenAI) -> None:
    _write_slowly(page, fake_openai)
    page.stop_button.click()
    expect(page.tab.get_by_role("group", name="Status of the answer").get_by_role("button", name="Continue")).to_be_visible()


def _fail_in_a_tool(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Call("calculator", {"expression": "6 / 0"}), Say("That has no result."))
    page.say("How much?")
    page.tab.locator("details.tool summary").click()


def _say_it_richly(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say(RICH))
    page.say("question " * 1200)  # longer than what is shown of it
    expect(page.tab.locator("math").first).to_be_visible()


STATES: Mapping[str, Callable[[Page, FakeOpenAI], None]] = {
    "answers side by side": _answer_side_by_side,
    "questions that ran again": _run_again,
    "a summary": _summarise,
    "the transcript of an agent": _ask_an_agent,
    "reasoning": _think,
    "the editor of a message": _edit,
    "a queue and files": _wait_with_a_file,
    "alternatives": _answer_again,
    "a message with files": _send_files,
    "a picture in a dialog": _enlarge_picture,
    "a picture that is damaged": _lose_picture,
    "a long paste": _paste,
    "an answer that is being written": _write_slowly,
    "an answer that was cut off": _stop,
    "a tool that failed": _fail_in_a_tool,
    "an answer of many parts": _say_it_richly,
}
