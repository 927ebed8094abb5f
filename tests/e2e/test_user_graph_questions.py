"""Questions of somebody's own graph in the page, in every schema that people use."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_user_graphs import question, write_graph
from tests.extensions.graphs.running_graphs import one_node

pytestmark = pytest.mark.e2e
# The user's message chooses the question.
ASKING = one_node(
    """
from langgraph.types import Send
from pydantic import BaseModel


class Seat(BaseModel):
    row: int
    name: str


BOOKING = {"action": "book", "args": {"seat": "7A"}}
INBOX = [{"action_request": BOOKING, "config": {"allow_ignore": False}, "description": "Books a seat."}]
MIDDLEWARE = {"action_requests": [{"name": "book", "args": {"seat": "7A"}}, {"name": "pay", "args": {"sum": 3}}]}


def node(state):
    text = state["messages"][-1].text
    if text == "form":
        seat = interrupt("Which seat?", response_schema=Seat)
        return {"messages": [AIMessage(f"row {seat.row + 1} for {seat.name}")]}
    if text == "schema":
        return {"messages": [AIMessage(repr(interrupt(Seat.model_json_schema())))]}
    if text in ("inbox", "calls"):
        return {"messages": [AIMessage(repr(interrupt(INBOX if text == "inbox" else MIDDLEWARE)))]}
    return {"messages": [AIMessage(f"heard {text}")]}


def ask(place):
    return {"messages": [AIMessage(f"{place} {interrupt(f'{place}?')}", id=place)]}


def split(state):
    return [Send("ask", "first"), Send("ask", "second")] if state["messages"][-1].text == "two" else "node"
"""
).replace('builder.add_edge(START, "node")', 'builder.add_node("ask", ask)\nbuilder.add_conditional_edges(START, split)')

RECORD_SPOKEN = """() => {
  const region = document.querySelector(".transcript > .visually-hidden[role=status]");
  window.spoken = [];
  new MutationObserver(() => window.spoken.push(region.textContent))
    .observe(region, {childList: true, characterData: true, subtree: true});
}"""


@pytest.mark.slow
def test_calls_are_changed_and_answered_and_a_message_takes_the_place_of_an_answer(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    asked = question(page)
    page.send("inbox")
    expect(asked).to_contain_text("Books a seat.")
    expect(asked.get_by_role("button", name="Reject")).to_have_count(0)
    asked.get_by_role("button", name="Change arguments").click()
    asked.get_by_role("textbox").fill("[")
    asked.get_by_role("button", name="Run with these").click()
    expect(asked.get_by_role("alert")).to_have_text("This is not a JSON object.")
    asked.get_by_role("textbox").fill('{"seat": "8B"}')
    asked.get_by_role("button", name="Run with these").click()
    expect(asked).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "[{'args': {'action': 'book', 'args': {'seat': '8B'}}, 'type': 'edit'}]"
    page.send("calls")
    expect(asked.locator(".question-action")).to_have_count(2)
    asked.get_by_role("button", name="Approve").first.click()
    asked.get_by_role("button", name="Reject").last.click()
    expect(asked).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "{'decisions': [{'type': 'approve'}, {'type': 'reject'}]}"
    page.send("inbox")
    expect(asked).to_be_visible()
    page.say("never mind")
    assert page.answer() == "heard never mind"
    expect(asked).to_have_count(0)
    page.edit("never mind", "at rest")
    expect(page.message("heard at rest")).to_have_count(1)
    page.wait_for_answer()
    expect(page.notice).to_contain_text("the graph begins with its values from before the unfinished turn")


@pytest.mark.slow
def test_a_form_refuses_an_answer_and_two_questions_are_answered_one_by_one(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    asked = question(page)
    page.send("form")
    expect(asked).to_contain_text("Which seat?")
    asked.get_by_label("Name").fill("Ada")
    asked.get_by_role("button", name="Answer").click()
    assert asked.get_by_label("Row").evaluate("element => element.validity.valueMissing")
    asked.get_by_label("Row").evaluate("element => { element.removeAttribute('step'); }")
    asked.get_by_label("Row").fill("7.5")
    asked.get_by_role("button", name="Answer").click()
    expect(page.tab.get_by_label("Status of the answer")).to_contain_text("Seat, row: Input should be a valid integer")
    page.tab.wait_for_url("**/t/*")
    page.reload()
    asked.get_by_label("Name").fill("Ada")
    asked.get_by_label("Row").fill("7")
    asked.get_by_role("button", name="Answer").click()
    expect(asked).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "row 8 for Ada"
    page.send("schema")  # the question is the schema of its answer
    expect(asked).to_contain_text("Seat")
    asked.get_by_label("Name").fill("Bob")
    asked.get_by_label("Row").fill("3")
    asked.get_by_role("button", name="Answer").click()
    expect(asked).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "{'name': 'Bob', 'row': 3}"
    page.send("two")
    expect(asked).to_have_count(2)
    for name in ("second", "first"):
        one = asked.filter(has_text=f"{name}?")
        one.get_by_role("textbox").fill("yes")
        one.get_by_role("button", name="Answer").click()
        expect(one).to_have_count(0)
    page.wait_for_answer()
    assert [each.text for each in page.messages()[-2:]] == ["first yes", "second yes"]
    page.send("two")
    expect(asked).to_have_count(2)
    page.say("never mind")  # takes the place of both answers
    assert page.answer() == "heard never mind"
    expect(asked).to_have_count(0)


@pytest.mark.slow
def test_a_question_waits_over_a_restart_in_every_tab_and_is_asked_again_after_a_restore(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    page.send("inbox")
    expect(question(page)).to_contain_text("Books a seat.")
    page.save("Asked")
    page.expect_lost_server()
    page.server.restart()
    page.reload()
    other = visit(page.server, page.tab.url.removeprefix(page.server.origin), beside=page)
    other.expect_lost_server()
    expect(question(page)).to_contain_text("Books a seat.")
    question(other).get_by_role("button", name="Approve").click()
    for each in (page, other):
        expect(question(each)).to_have_count(0)
        each.wait_for_answer()
        assert each.answer() == "[{'args': None, 'type': 'accept'}]"
    page.restore("Asked")
    page.server.restart()
    for each in (page, other):
        each.reload()
        expect(question(each)).to_contain_text("Books a seat.")
        each.expect_messages(1)
    question(page).get_by_role("button", name="Answer instead").click()
    question(page).get_by_role("textbox").fill("not today")
    question(page).get_by_role("button", name="Answer", exact=True).click()
    for each in (page, other):
        expect(question(each)).to_have_count(0)
        each.wait_for_answer()
        assert each.answer() == "[{'args': 'not today', 'type': 'response'}]"


@pytest.mark.slow
def test_a_screen_reader_is_told_that_another_question_waits(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    page.send("two")
    expect(question(page)).to_have_count(2)
    expect(page.spoken).to_have_text("The answer waits for your approval or reply")
    page.tab.evaluate(RECORD_SPOKEN)
    question(page).first.get_by_role("textbox").fill("a")
    question(page).first.get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(1)
    expect(page.spoken).to_have_text("The answer waits for your approval or reply")
    assert "Answer finished" not in page.tab.evaluate("window.spoken")
    question(page).get_by_role("textbox").fill("b")
    question(page).get_by_role("button", name="Answer").click()
    expect(page.spoken).to_have_text("Answer finished")


@pytest.mark.slow
def test_an_answer_whose_node_is_gone_stays_in_its_field_and_a_message_goes_on(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    body = "def node(state):\n    return {'messages': [AIMessage(f\"old: {interrupt('Really?')}\")]}"
    page = visit(start(graph=write_graph(tmp_path, one_node(body))))
    page.send("go")
    expect(question(page)).to_contain_text("Really?")
    page.tab.wait_for_url("**/t/*")
    page.expect_lost_server()
    changed = one_node("def node(state):\n    return {'messages': [AIMessage('new')]}").replace('"node"', '"other"')
    write_graph(tmp_path, changed)
    page.server.restart()
    page.reload()
    question(page).get_by_role("textbox").fill("yes, and more words")
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page).get_by_role("alert")).to_contain_text("the node that asked this is gone")
    expect(question(page).get_by_role("textbox")).to_have_value("yes, and more words")
    expect_accessible(page, "a question whose node is gone")
    page.say("on")
    assert page.answer() == "new"
    expect(page.message("yes, and more words")).to_have_count(0)


@pytest.mark.slow
def test_each_undo_takes_back_one_answer_and_the_question_before_it_waits(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    body = (
        "def node(state):\n    one = interrupt('First?')\n    two = interrupt('Second?')\n"
        "    return {'messages': [AIMessage(f'{one} {two}')]}"
    )
    page = visit(start(graph=write_graph(tmp_path, one_node(body))))
    page.send("go")
    for asked, text in (("First?", "a"), ("Second?", "b")):
        expect(question(page)).to_contain_text(asked)
        question(page).get_by_role("textbox").fill(text)
        question(page).get_by_role("button", name="Answer").click()
    page.wait_for_answer()
    assert page.answer() == "a b"
    undo = page.tab.get_by_role("button", name="Undo last change")
    undo.click()
    expect(question(page)).to_contain_text("Second?")
    undo.click()
    expect(question(page)).to_contain_text("First?")
    page.tab.get_by_role("button", name="Redo").click()
    expect(question(page)).to_contain_text("Second?")
    question(page).get_by_role("textbox").fill("c")
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "a c"


ASKS_TWICE = one_node(
    """
def node(state):
    return {"messages": [AIMessage(f"{interrupt('One?')} {interrupt('Two?')}")]}
"""
)


@pytest.mark.slow
def test_a_checkpoint_before_an_answer_is_restored_while_the_next_question_waits(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKS_TWICE)))
    asked = question(page)
    page.send("go")
    expect(asked).to_contain_text("One?")
    page.save("First")
    expect(page.checkpoint("First")).to_contain_text("you are here")
    page.composer.fill("/restore First")
    page.composer.press("Enter")
    expect(page.tab.get_by_role("alert")).to_contain_text("The conversation is at this place already.")
    page.composer.fill("")
    asked.get_by_role("textbox").fill("one")
    asked.get_by_role("button", name="Answer", exact=True).click()
    expect(asked).to_contain_text("Two?")
    expect(page.checkpoint("First")).not_to_contain_text("you are here")
    page.save("Second")
    expect(page.checkpoint("Second")).to_contain_text("you are here")
    page.restore("First")
    expect(asked).to_contain_text("One?")
    expect(page.checkpoint("First")).to_contain_text("you are here")
    page.composer.fill("/restore Second")
    page.composer.press("Enter")
    page.confirm("Restore")
    expect(asked).to_contain_text("Two?")
    asked.get_by_role("textbox").fill("two")
    asked.get_by_role("button", name="Answer", exact=True).click()
    page.wait_for_answer()
    assert page.answer() == "one two"
