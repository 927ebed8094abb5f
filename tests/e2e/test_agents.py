"""An agent asks another: its work is folded below the call, opens as a transcript, leaves and comes back with the rest."""

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from playwright.sync_api import Locator, expect

from agent.marks import CallKey, QuestionMark
from checkpoints import MAIN, NewMessage
from checkpoints.values import serde
from checkpoints.values.limits import MAX_CALLS
from tests.e2e.changing import changed_behind
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ASK = Call("ask_agent", {"agent": "critic", "question": "Is **it** sound?"}, text="Let me ask.")
RESEARCH = Call("ask_agent", {"agent": "researcher", "question": "How far is it?"})
SEARCH = Call("web_search", {"query": "moon"})


def fold(page: Page) -> Locator:
    return page.tab.get_by_test_id("work")


@pytest.fixture
def asked(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A checkpoint, and after it a turn in which the critic was asked."""
    page = visit(shared_openai_server)
    fake_openai.script(Say("Hello."), ASK, Say("It has a **gap**."), Say("So it has."))
    page.say("hello")
    page.save("Before")
    page.say("check it")
    return page


def test_the_work_of_an_agent_is_folded_and_opens_as_a_transcript(asked: Page) -> None:
    expect(fold(asked)).to_have_text("critic2 messages")
    fold(asked).locator("summary").focus()
    asked.tab.keyboard.press("Enter")
    said = fold(asked).get_by_test_id("agent-message")
    expect(said).to_have_text(["asked by the main agentIs it sound?", "It has a gap."])
    expect_accessible(asked, "the work of an agent")
    fold(asked).get_by_role("button", name="Open as a transcript").click()
    transcript = asked.tab.get_by_role("dialog", name="Everything critic remembers")
    expect(transcript.get_by_test_id("agent-message")).to_have_count(2)
    expect_accessible(asked, "the transcript of an agent")
    asked.tab.keyboard.press("Escape")
    expect(transcript).to_have_count(0)
    assert asked.answer() == "So it has."


def test_a_restore_takes_the_work_along_and_undo_brings_it_back(asked: Page) -> None:
    question = asked.ask_to_restore("Before")
    expect(question).to_contain_text("6 messages, including the work of critic, will be removed from the conversation.")
    asked.confirm("Restore")
    expect(fold(asked)).to_have_count(0)
    asked.notice.get_by_role("button", name="Undo").click()
    expect(fold(asked)).to_have_text("critic2 messages")
    asked.reload()
    expect(fold(asked)).to_have_text("critic2 messages")


def test_a_call_of_an_agent_waits_under_its_name_also_after_a_restart(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    server = start(**openai_settings, tools_approval="web_search")
    page = visit(server)
    fake_openai.script(RESEARCH, SEARCH, Say("Far."), Say("It is far."))
    page.send("how far?")
    page.approval.wait_for()
    address = page.tab.url
    page.tab.goto("about:blank")
    server.kill()
    server.restart()
    page.tab.goto(address)
    expect(page.approval).to_contain_text("researcher asks to use web_search.")
    expect(page.approval).to_have_count(1)
    page.approval.get_by_role("button", name="Deny").click()
    expect(page.log.get_by_text("It is far.")).to_be_visible()
    expect(fold(page)).to_have_text("researcher4 messages")


def test_long_work_comes_in_portions_in_its_fold_and_in_its_transcript(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    with changed_behind(page) as (store, thread_id):
        question = HumanMessage("How?", additional_kwargs=QuestionMark(CallKey(MAIN, "call_0")).to_kwargs())
        store.append(thread_id, [to_message(calling(1)), to_message(question, "critic")])
        store.append(thread_id, [to_message(AIMessage(f"Step {n}."), "critic") for n in range(1, 120)])
    expect(fold(page)).to_have_text("critic120 messages")
    fold(page).locator("summary").click()
    said = fold(page).get_by_test_id("agent-message")
    earlier = page.tab.get_by_role("button", name="Show earlier", exact=True)
    for shown, first in ((50, "Step 70."), (100, "Step 20."), (120, "How?")):
        expect(said).to_have_count(shown)
        expect(said.first).to_contain_text(first)
        if shown < 120:
            earlier.click()
    expect(earlier).to_have_count(0)
    fold(page).get_by_role("button", name="Open as a transcript").click()
    transcript = page.tab.get_by_role("dialog", name="Everything critic remembers")
    expect(transcript.get_by_test_id("agent-message")).to_have_count(50)
    transcript.get_by_role("button", name="Show earlier", exact=True).click()
    expect(transcript.get_by_test_id("agent-message")).to_have_count(100)


def test_a_message_with_more_calls_than_cards_links_to_all_of_them(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    with changed_behind(page) as (store, thread_id):
        store.append(thread_id, [to_message(calling(MAX_CALLS + 2))])  # as an older version stored it
    link = page.tab.get_by_test_id("show-all-calls")
    expect(link).to_have_text("Show all (2 more tool calls)")
    with page.tab.expect_popup() as opened:
        link.click()
    expect(opened.value.locator("body")).to_contain_text(f'"number": {MAX_CALLS + 1}')
    expect(opened.value.locator("body")).to_contain_text('"number": 0')


def calling(calls: int) -> AIMessage:
    """An answer that asks the critic so many times."""
    args = [{"agent": "critic", "question": "How?", "number": n} for n in range(calls)]
    return AIMessage("", tool_calls=[{"name": "ask_agent", "args": each, "id": f"call_{n}"} for n, each in enumerate(args)])


def to_message(message: BaseMessage, agent: str = MAIN) -> NewMessage:
    return NewMessage(serde.to_body(message), agent=agent)
