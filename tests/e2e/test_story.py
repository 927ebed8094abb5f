"""The main story: a conversation goes astray, and one goes back. With the demo model, and with a model over the wire."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from agent.context.prompts import SYSTEM_PROMPT
from tests.e2e.conftest import Start, Visit
from tests.e2e.waymark import Page
from tests.fakes.answers import POSITION
from tests.fakes.openai import FakeOpenAI, Say
from tests.fakes.tavily import FakeTavily
from tests.rounds import sample

pytestmark = pytest.mark.e2e

TODAY, TOMORROW = "What is the weather like today?", "And what will the weather be tomorrow?"
STOCKS, MORE_STOCKS = "How do stocks stand?", "Which shares should I look at?"
WEEKEND = "Will the weather hold over the weekend?"
ANSWERS = ("Sunny today.", "Rain tomorrow.", "Stocks are up.", "Look at none of them.", "The weekend stays dry.")


@pytest.fixture(params=sample(["openai", "demo"], 1))
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(model: str, openai_settings: dict[str, str]) -> dict[str, str]:
    return openai_settings if model == "openai" else {}


def _asked(fake: FakeOpenAI) -> list[tuple[str, Any]]:
    """What the model was asked last: role and content without its number, or the tools that were called."""
    return [(message["role"], _said(message)) for message in fake.requests[-1]["messages"]]


def _said(message: Any) -> Any:
    text = POSITION.sub("", message.get("content") or "")
    return text or [call["function"]["name"] for call in message["tool_calls"]]


def test_one_can_go_back_and_forth_and_the_model_remembers_only_what_stands(
    model: str, settings: dict[str, str], start: Start, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    fake_openai.reply(*(Say(text) for text in ANSWERS))
    page = visit(start(**settings))

    page.say(TODAY)
    page.save("Today")
    page.say(TOMORROW)
    page.save("Tomorrow", "before the stocks")
    page.say(STOCKS)
    page.say(MORE_STOCKS)
    page.save("Stocks")
    everything = page.messages()
    assert len(everything) == 8
    page.expect_checkpoints(("Today", 2), ("Tomorrow", 4), ("Stocks", 8))

    dialog = page.ask_to_restore("Tomorrow")
    expect(dialog).to_contain_text("Tomorrow")
    expect(dialog).to_contain_text("4 messages and 1 checkpoint")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.tab.keyboard.press("Enter")
    expect(page.dialog).to_have_count(0)
    page.ask_to_restore("Tomorrow")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    page.reload()
    _expect_everything(page, everything)

    page.restore("Tomorrow")
    page.expect_messages(4)
    assert page.messages() == everything[:4]
    page.expect_checkpoints(("Today", 2), ("Tomorrow", 4))
    expect(page.notice).to_contain_text("4 messages and 1 checkpoint removed")
    expect(page.checkpoint("Tomorrow")).to_have_attribute("aria-current", "location")

    page.undo()
    _expect_everything(page, everything)
    page.reload()
    _expect_everything(page, everything)

    page.restore("Tomorrow")
    page.expect_messages(4)
    page.reload()
    page.undo()  # the banner, and the way back, are still there
    _expect_everything(page, everything)

    page.restore("Tomorrow")
    page.expect_messages(4)
    page.composer.fill("")  # the prompt that was cut off came back to the composer
    page.say(WEEKEND)
    page.expect_messages(6)
    assert page.messages()[:4] == everything[:4]
    if model == "demo":
        assert "weekend" in page.answer()
        assert not re.search("stocks|shares", page.answer())
    else:
        old = [("user", TODAY), ("assistant", ANSWERS[0]), ("user", TOMORROW), ("assistant", ANSWERS[1])]
        (role, system), *rest = _asked(fake_openai)
        assert (role, system[: len(SYSTEM_PROMPT)], rest) == ("system", SYSTEM_PROMPT, [*old, ("user", WEEKEND)])
        assert len(fake_openai.requests) == 5
        assert fake_openai.violations == []


def _expect_everything(page: Page, everything: list[Any]) -> None:
    page.expect_messages(8)
    assert page.messages() == everything
    page.expect_checkpoints(("Today", 2), ("Tomorrow", 4), ("Stocks", 8))


@pytest.mark.slow
def test_tool_calls_come_back_whole_and_none_is_orphaned(
    model: str, settings: dict[str, str], start: Start, visit: Visit, fake_openai: FakeOpenAI, fake_tavily: FakeTavily
) -> None:
    page = visit(start(**settings))
    page.say("What is 12 * (3 + 4)?")
    page.save("The sum")
    page.say("Search for red pandas" if model == "openai" else "What is 2 ** 10?")
    page.save("The search")
    everything = page.messages()
    assert [message.role for message in everything] == ["user", "assistant", "tool", "assistant"] * 2
    assert "84" in everything[2].text
    assert "red pandas, explained" in everything[6].text if model == "openai" else "1024" in everything[6].text
    assert {message.state for message in everything} == {"done"}

    page.restore("The sum")
    page.expect_messages(4)
    assert page.messages() == everything[:4]
    page.undo()
    page.expect_messages(8)
    page.reload()
    assert page.messages() == everything
    page.restore("The sum")
    page.expect_messages(4)
    page.composer.fill("")
    page.say("And what is 7 * 6?")

    page.expect_messages(8)
    after = page.messages()
    assert after[:4] == everything[:4]
    assert "42" in after[6].text
    if model == "openai":
        kept = ["system", "user", "assistant", "tool", "assistant"]
        assert [role for role, _ in _asked(fake_openai)] == [*kept, "user", "assistant", "tool"]
        assert fake_openai.violations == []
        assert len(fake_tavily.requests) == 1


@pytest.mark.slow
def test_what_leaves_can_be_kept_as_a_branch(settings: dict[str, str], start: Start, visit: Visit) -> None:
    page = visit(start(**settings))
    page.say(TODAY)
    page.save("Today")
    page.say("What is 6 * 7?")
    page.save("The sum")
    everything = page.messages()
    page.expect_checkpoints(("Today", 2), ("The sum", 6))

    page.restore("Today", keep=True)
    page.expect_messages(2)
    page.expect_checkpoints(("Today", 2))
    branches = page.tab.get_by_test_id("branch")
    expect(branches).to_have_count(2)
    page.select(branches.filter(has_text="6 messages")).get_by_test_id("switch").click()

    page.expect_messages(6)
    page.expect_checkpoints(("Today", 2), ("The sum", 6))
    assert page.messages() == everything
    page.select(branches.filter(has_text="2 messages")).get_by_test_id("switch").click()
    page.expect_messages(2)
    page.expect_checkpoints(("Today", 2))
