"""What is typed as an answer to a graph's question is not lost, whatever happens beside it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_user_graph_questions import ASKING
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.running_graphs import one_node

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TEXT = "ten minutes of careful writing"
CLOSED = "was closed before you answered. Your text is in the field."
ANSWERING = re.compile("/api/actions/transcript")
# An answer “slow” is at work until there is a file beside the graph.
SLOW = ASKING.replace(
    'def ask(place):\n    return {"messages": [AIMessage(f"{place} {interrupt(f\'{place}?\')}", id=place)]}',
    "def ask(place):\n    answer = interrupt(f'{place}?')\n"
    "    while answer == 'slow' and not os.path.exists(os.path.dirname(__file__) + '/gate'):\n        time.sleep(0.01)\n"
    "    return {'messages': [AIMessage(f'{place} {answer}', id=place)]}",
).replace("from langgraph.types import Send", "import os, time\nfrom langgraph.types import Send")
IN_A_ROW = one_node(
    "def node(state):\n    one = interrupt('City?')\n    two = interrupt(f'Street in {one}?')\n"
    "    return {'messages': [AIMessage(f'{one}, {two}')]}"
)


def asking(page: Page, name: str) -> Locator:
    return question(page).filter(has_text=f"{name}?")


def field(page: Page, name: str) -> Locator:
    return asking(page, name).get_by_role("textbox")


def answer(page: Page, name: str, text: str) -> None:
    field(page, name).fill(text)
    asking(page, name).get_by_role("button", name="Answer").click()


def expect_nothing_kept(page: Page) -> None:
    while page.tab.evaluate("Object.keys(sessionStorage).some((key) => key.startsWith('waymark-answer'))"):
        page.tab.wait_for_timeout(10)


def ask_two(start: Start, visit: Visit, tmp_path: Path, graph: str = ASKING) -> Page:
    page = visit(start(graph=write_graph(tmp_path, graph)))
    page.send("two")
    expect(question(page)).to_have_count(2)
    page.tab.wait_for_url("**/t/*")
    return page


def open_beside(page: Page, visit: Visit) -> Page:
    return visit(page.server, page.tab.url.removeprefix(page.server.origin), beside=page)


@contextmanager
def answers_held_back(page: Page) -> Iterator[None]:
    """An answer is on its way until the end."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.tab.route(ANSWERING, hold)
    yield
    assert held
    for route in held:
        route.continue_()
        assert route.request.response()  # before anything else happens
    page.tab.unroute(ANSWERING)


def expect_in_field(page: Page, text: str | re.Pattern[str] = TEXT) -> None:
    expect(page.toast).to_contain_text(CLOSED)
    expect(page.composer).to_have_value(text)
    expect_nothing_kept(page)


def test_a_text_stays_over_another_answer_a_reload_and_another_conversation(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = ask_two(start, visit, tmp_path)
    field(page, "second").fill(TEXT)
    answer(page, "first", "yes")
    expect(question(page)).to_have_count(1)
    expect(field(page, "second")).to_have_value(TEXT)
    page.reload()
    expect(field(page, "second")).to_have_value(TEXT)
    page.new_conversation()
    page.threads.click()
    expect(field(page, "second")).to_have_value(TEXT)
    asking(page, "second").get_by_role("button", name="Answer").click()
    expect(page.message(f"second {TEXT}")).to_have_count(1)
    page.wait_for_answer()
    expect(page.composer).to_have_value("")
    expect_nothing_kept(page)


def test_forms_and_calls_keep_what_is_typed(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    page.send("form")
    question(page).get_by_label("Name").fill("Ada")
    page.tab.wait_for_url("**/t/*")
    page.reload()
    expect(question(page).get_by_label("Name")).to_have_value("Ada")
    question(page).get_by_label("Row").fill("7")
    question(page).get_by_role("button", name="Answer").click()
    page.wait_for_answer()
    assert page.answer() == "row 8 for Ada"
    page.send("inbox")
    question(page).get_by_role("button", name="Answer instead").click()
    question(page).get_by_role("textbox").fill(TEXT)
    page.reload()
    expect(question(page).get_by_role("textbox")).to_have_value(TEXT)
    question(page).get_by_role("button", name="Cancel").click()
    expect_nothing_kept(page)


def test_a_text_whose_question_another_tab_answers_is_in_the_field(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = ask_two(start, visit, tmp_path)
    field(page, "second").fill(TEXT)
    other = open_beside(page, visit)
    answer(other, "second", "mine")
    expect(question(page)).to_have_count(1)
    expect_in_field(page)
    page.reload()
    expect(page.composer).to_have_value(TEXT)


def test_a_text_whose_question_is_closed_while_the_page_is_elsewhere_is_in_the_field(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = ask_two(start, visit, tmp_path)
    field(page, "second").fill(TEXT)
    other = open_beside(page, visit)
    page.new_conversation()
    page.composer.fill("of another conversation")
    answer(other, "second", "mine")
    expect(question(other)).to_have_count(1)
    page.threads.click()
    expect_in_field(page)
    field(page, "first").fill("more")
    address = page.tab.url
    page.tab.goto("about:blank")
    answer(other, "first", "mine")
    other.wait_for_answer()
    page.tab.goto(address)
    expect_in_field(page, f"more\n\n{TEXT}")


def test_of_two_answers_at_once_the_later_one_is_in_the_field(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = ask_two(start, visit, tmp_path)
    other = open_beside(page, visit)
    with answers_held_back(page):
        answer(page, "second", TEXT)
        answer(other, "second", "mine")
        expect(question(page)).to_have_count(1)
        expect(page.composer).to_have_value("")  # it may still be taken
    expect_in_field(page)
    answer(page, "first", "yes")
    expect(page.message("second mine")).to_have_count(1)


def test_a_second_answer_meanwhile_stays_with_the_sentence_of_the_server(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = ask_two(start, visit, tmp_path, SLOW)
    other = open_beside(page, visit)
    with answers_held_back(page):
        answer(page, "second", TEXT)
        answer(other, "first", "slow")
        expect(question(page)).to_have_count(0)
    (tmp_path / "gate").touch()
    expect(field(page, "second")).to_have_value(TEXT)
    expect(asking(page, "second").get_by_role("alert")).to_have_text("Another answer came first. You can send this one now.")
    asking(page, "second").get_by_role("button", name="Answer").click()
    expect(page.message(f"second {TEXT}")).to_have_count(1)


def test_a_message_and_a_restore_put_the_texts_of_closed_questions_into_the_field(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    page.say("hello")
    page.save("Begun")
    page.send("two")
    field(page, "first").fill("one")
    field(page, "second").fill("another")
    page.restore("Begun")
    expect_in_field(page, re.compile("^one\n\nanother"))  # before the message that the restore returns
    page.send("two")
    field(page, "first").fill("one")
    page.say("never mind")
    expect_in_field(page, "one")


def test_a_text_for_one_question_never_meets_another_of_the_same_id(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, IN_A_ROW)))
    page.send("go")
    answer(page, "City", "Rome")
    field(page, "Street in Rome").fill("Via Appia")
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(asking(page, "City")).to_be_visible()
    expect_in_field(page, "Via Appia")
    answer(page, "City", "Oslo")
    expect(field(page, "Street in Oslo")).to_have_value("")


def test_an_answer_is_not_sent_empty_unasked(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = ask_two(start, visit, tmp_path)
    send = asking(page, "first").get_by_role("button", name="Answer", exact=True)
    field(page, "first").fill(" ")
    send.click()
    alert = asking(page, "first").get_by_role("alert")
    expect(alert).to_have_text("This answer is empty.")
    expect(field(page, "first")).to_be_focused()
    expect(field(page, "first")).to_have_accessible_description("This answer is empty.")
    expect_accessible(page, "an empty answer to a question")
    field(page, "first").fill("x")
    expect(alert).to_have_count(0)
    field(page, "first").fill("")
    send.click()
    asking(page, "first").get_by_role("button", name="Answer with nothing").click()
    expect(question(page)).to_have_count(1)
    answer(page, "second", "yes")
    page.wait_for_answer()
    assert [each.text for each in page.messages()[-2:]] == ["first", "second yes"]


def test_a_form_tells_at_its_field_what_is_missing_and_an_optional_number_may_be_empty(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    graph = ASKING.replace("    row: int\n", "    row: int | None\n").replace("seat.row + 1", "seat.row")
    page = visit(start(graph=write_graph(tmp_path, graph)))
    page.send("form")
    asked = question(page)
    for typed in ("", "  "):
        asked.get_by_label("Name").fill(typed)
        asked.get_by_role("button", name="Answer").click()
        expect(asked.get_by_role("alert")).to_have_text("The graph needs this.")
        expect(asked.get_by_label("Name")).to_be_focused()
        expect(asked.get_by_label("Name")).to_have_accessible_description("The graph needs this.")
    expect_accessible(page, "a form with an empty field")
    asked.get_by_label("Name").fill("Ada")
    expect(asked.get_by_role("alert")).to_have_count(0)
    asked.get_by_role("button", name="Answer").click()
    page.wait_for_answer()
    assert page.answer() == "row None for Ada"


def test_the_focus_goes_to_the_next_question_and_then_to_the_conversation(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = ask_two(start, visit, tmp_path)
    for name, other in (("first", "second"), ("second", None)):
        expect(question(page)).to_have_count(2 if other else 1)
        field(page, name).fill("yes")
        field(page, name).press("Tab")
        page.tab.keyboard.press("Enter")
        expect(field(page, other) if other else page.log).to_be_focused()
    page.wait_for_answer()
    expect(page.log).to_be_focused()
