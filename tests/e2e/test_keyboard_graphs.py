"""Graphs of one's own by keyboard alone, with axe in each state: their inputs, questions, values, and what goes wrong."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.keyboard import Keyboard
from tests.e2e.test_accessible_states import look_at
from tests.e2e.test_keyboard_alone import button
from tests.e2e.test_user_graph_questions import ASKING
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.test_inputs import TALK, TRIP

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def go_to_place(page: Page, place: Locator) -> Locator:
    """Go to a place of History by F6 and the arrows, choose it, and return its card."""
    keys = Keyboard(page)
    keys.key("Shift+Escape", "F6")
    keys.go(page.tab.locator(".place-jump[tabindex='0']"))
    keys.walk(place.get_by_role("button"), "ArrowUp")
    keys.key("Enter")
    return page.tab.locator(".place-card")


def test_the_inputs_of_a_graph_are_filled_corrected_and_run(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TRIP)))
    keys, form = Keyboard(page), page.tab.get_by_role("form", name="Inputs of the graph")
    city, run = form.get_by_label("City"), button(form, "Run")
    look_at(page, "the inputs of a graph")
    keys.press(run)
    expect(city).to_be_focused()  # it is required
    keys.type("Rome")
    keys.go(form.get_by_label("Days"))
    keys.type("2")
    keys.go(form.get_by_label("Stops"))
    keys.type("a")
    keys.key("Enter")
    keys.type("b")
    mood, seat = form.get_by_label("Mood"), form.get_by_label("Seat")
    keys.go(mood)
    keys.key("ArrowDown")
    expect(mood.locator("option:checked")).to_have_text("calm")
    keys.go(seat)
    keys.type("{row")
    keys.press(run)
    expect(form.get_by_role("alert")).to_have_text("This is not JSON.")
    expect(seat).to_be_focused()
    look_at(page, "an input that is no JSON")
    keys.replace(seat, '{"row": 1}')
    keys.press(run)
    page.wait_for_answer()
    assert page.messages()[0].text == '{"city":"Rome","days":2,"stops":["a","b"],"mood":"calm","seat":{"row": 1}}'
    assert '"Rome 2"' in page.answer()
    expect(run).to_be_focused()
    keys.replace(city, "Oslo")
    keys.key("Enter")
    expect(page.message('"Oslo 2"')).to_have_count(1)
    page.wait_for_answer()
    look_at(page, "the outputs of a graph")


def test_inputs_go_with_a_message(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TALK)))
    keys, summary = Keyboard(page), page.tab.locator(".graph-inputs summary")
    keys.press(summary)
    days = page.tab.get_by_label("Days")
    keys.go(days)
    keys.type("3")
    look_at(page, "inputs beside a message")
    keys.write("go")
    page.wait_for_answer()
    assert page.answer() == "go 3 []"
    expect(page.composer).to_be_focused()


def test_questions_of_a_graph_are_answered_and_their_forms_give_the_focus_back(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    keys, asked = Keyboard(page), question(page)

    def expect_answered(text: str) -> None:
        expect(asked).to_have_count(0)
        page.wait_for_answer()
        keys.expect_focus()
        assert page.answer() == text

    keys.write("inbox")
    expect(asked).to_contain_text("Books a seat.")
    change, instead = button(asked, "Change arguments"), button(asked, "Answer instead")
    keys.press(change)
    expect(asked.get_by_role("textbox")).to_be_focused()
    expect(change).to_have_attribute("aria-expanded", "true")
    keys.press(button(asked, "Cancel"))
    expect(change).to_be_focused()
    expect(change).to_have_attribute("aria-expanded", "false")
    keys.press(instead)
    expect(asked.get_by_role("textbox")).to_be_focused()
    look_at(page, "an answer instead of a tool")
    keys.press(button(asked, "Cancel"))
    expect(instead).to_be_focused()
    keys.press(change)
    keys.key("Control+a")
    keys.type("[")
    keys.press(button(asked, "Run with these"))
    expect(asked.get_by_role("alert")).to_have_text("This is not a JSON object.")
    look_at(page, "arguments that are no object")
    keys.replace(asked.get_by_role("textbox"), '{"seat": "8B"}')
    keys.press(button(asked, "Run with these"))
    expect_answered("[{'args': {'action': 'book', 'args': {'seat': '8B'}}, 'type': 'edit'}]")

    keys.write("calls")
    expect(asked.locator(".question-action")).to_have_count(2)
    first = button(asked, "Approve").first
    keys.press(first)
    expect(first).to_have_attribute("aria-pressed", "true")
    expect(first).to_be_focused()
    look_at(page, "one call of two that is decided")
    keys.press(button(asked, "Reject").last)
    expect_answered("{'decisions': [{'type': 'approve'}, {'type': 'reject'}]}")

    keys.write("form")
    expect(asked).to_contain_text("Which seat?")
    look_at(page, "the form of a question")
    keys.go(asked.get_by_label("Row"))
    keys.type("7")
    keys.go(asked.get_by_label("Name"))
    keys.type("Ada")
    keys.key("Enter")
    expect_answered("row 8 for Ada")

    keys.write("two")
    expect(asked).to_have_count(2)
    look_at(page, "two questions")
    for name in ("first", "second"):
        one = asked.filter(has_text=f"{name}?")
        keys.go(one.get_by_role("textbox"))
        keys.type("yes")
        keys.press(button(one, "Answer"))
        expect(one).to_have_count(0)
        keys.expect_focus()
    expect_answered("second yes")


def test_the_values_of_a_graph_are_unfolded_and_compared(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path)))
    keys = Keyboard(page)
    keys.write("hello")
    page.wait_for_answer()
    keys.key("Control+s")
    keys.type("Greeted")
    keys.key("Enter")
    page.expect_checkpoints(("Greeted", 2))
    keys.write("more")
    page.wait_for_answer()
    card = go_to_place(page, page.checkpoint("Greeted"))
    more = card.get_by_role("button", name="More for Greeted")
    keys.choose(more, "State")
    turns = page.dialog.get_by_test_id("channel").filter(has_text="turns")
    keys.press(turns.locator("summary"))
    expect(turns.locator(".tree")).to_be_visible()
    other = page.dialog.get_by_label("Difference to")
    look_at(page, "values of a graph")
    keys.go(other)
    keys.key("Home")
    expect(turns.locator("summary")).to_have_text("turns1")
    expect(other).to_be_focused()
    look_at(page, "values of a graph at one place")
    keys.close_dialog(more)
    compare = card.get_by_test_id("compare")
    keys.press(compare)
    expect(page.dialog.get_by_test_id("channel")).to_have_count(2)
    look_at(page, "a comparison with values")
    keys.close_dialog(compare)


FAILING = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

tries = []


def node(state):
    tries.append(1)
    if len(tries) == 1:
        raise ValueError("boom")
    return {"messages": [AIMessage("here")]}


graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
"""


def test_a_graph_that_failed_is_tried_again(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, FAILING)))
    keys = Keyboard(page)
    keys.write("wrong")
    expect(page.tab.get_by_role("alert")).to_contain_text("ValueError: boom.")
    look_at(page, "a graph that failed")
    keys.press(page.tab.get_by_role("button", name="Retry"))
    page.wait_for_answer()
    assert page.answer() == "here"
    keys.expect_focus()
