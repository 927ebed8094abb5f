"""An answer that the server has taken is kept until its run has used it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_kept_answers import SLOW, TEXT, answer, ask_two, asking, expect_nothing_kept, field
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.running_graphs import one_node

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
GATE = "    if not os.path.exists(os.path.dirname(__file__) + '/gate'):\n        raise ConnectionError('mail server away')\n"
FAILING = "import os\n" + one_node(
    f"def node(state):\n    said = interrupt('City?')\n{GATE}    return {{'messages': [AIMessage(f'city {{said}}')]}}"
)
# The node after the one that asks raises.
FAILING_LATER = FAILING.replace(GATE, "").replace(
    'builder.add_edge("node", END)',
    f"def publish(state):\n{GATE}    return {{'messages': [AIMessage('published')]}}\n\n\n"
    'builder.add_node("publish", publish)\nbuilder.add_edge("node", "publish")\nbuilder.add_edge("publish", END)',
)


def ask_city(start: Start, visit: Visit, tmp_path: Path, graph: str) -> Page:
    page = visit(start(graph=write_graph(tmp_path, graph)))
    page.send("go")
    answer(page, "City", TEXT)
    expect(page.tab.get_by_role("alert", name="Status of the answer")).to_be_visible()
    return page


def expect_back(page: Page, name: str, text: str) -> None:
    expect(field(page, name)).to_have_value(text)
    expect(page.composer).to_have_value("")


def answer_again(page: Page, name: str, said: str) -> None:
    asking(page, name).get_by_role("button", name="Answer").click()
    expect(page.message(said)).to_have_count(1)
    page.wait_for_answer()
    expect(page.composer).to_have_value("")
    expect_nothing_kept(page)


def test_an_answer_whose_node_is_stopped_or_killed_is_in_its_field_again(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = ask_two(start, visit, tmp_path, SLOW)
    answer(page, "first", "slow")
    expect(question(page)).to_have_count(0)
    page.stop_button.click()
    expect_back(page, "first", "slow")
    page.reload()
    expect_back(page, "first", "slow")
    asking(page, "first").get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.expect_lost_server()
    page.server.kill()
    page.server.start()
    expect_back(page, "first", "slow")
    (tmp_path / "gate").touch()
    answer(page, "second", "yes")
    expect(question(page)).to_have_count(1)
    expect_back(page, "first", "slow")
    answer_again(page, "first", "first slow")


def test_an_answer_whose_node_raises_is_in_its_field_again(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = ask_city(start, visit, tmp_path, FAILING)
    expect_back(page, "City", TEXT)
    page.reload()
    expect_back(page, "City", TEXT)
    field(page, "City").fill("Rome")
    (tmp_path / "gate").touch()
    answer_again(page, "City", "city Rome")


def test_an_undo_after_a_failure_brings_a_closed_question_back_with_its_answer(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = ask_city(start, visit, tmp_path, FAILING_LATER)
    expect(question(page)).to_have_count(0)
    page.reload()
    expect(question(page)).to_have_count(0)
    page.tab.get_by_role("button", name="Undo last change").click()
    expect_back(page, "City", TEXT)
    (tmp_path / "gate").touch()
    answer_again(page, "City", "published")


def dismiss_and_undo(page: Page) -> None:
    page.tab.get_by_role("button", name="Dismiss").click()
    expect(page.tab.get_by_role("alert", name="Status of the answer")).to_have_count(0)
    page.reload()
    page.tab.get_by_role("button", name="Undo last change").click()


def test_an_undo_after_a_dismissed_failure_brings_a_closed_question_back_with_its_answer(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = ask_city(start, visit, tmp_path, FAILING_LATER)
    dismiss_and_undo(page)
    expect_back(page, "City", TEXT)
    (tmp_path / "gate").touch()
    answer_again(page, "City", "published")


def test_an_answer_that_was_not_used_is_in_its_field_after_it_is_dismissed_and_undone(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    asking_graph = one_node("def node(state):\n    return {'messages': [AIMessage(f\"city {interrupt('City?')}\")]}")
    page = visit(start(graph=write_graph(tmp_path, asking_graph)))
    page.send("go")
    expect(question(page)).to_have_count(1)
    page.tab.wait_for_url("**/t/*")
    page.expect_lost_server()
    write_graph(tmp_path, one_node("def node(state):\n    return {'messages': [AIMessage('new')]}"))
    page.server.restart()
    page.reload()
    answer(page, "City", TEXT)
    expect(page.tab.get_by_role("alert", name="Status of the answer")).to_contain_text("It was not used.")
    dismiss_and_undo(page)
    expect_back(page, "City", TEXT)


def test_an_answer_that_returned_is_in_the_message_field_where_its_question_is_closed_then(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = ask_city(start, visit, tmp_path, FAILING)
    expect_back(page, "City", TEXT)
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.composer).to_have_value(TEXT)


def test_an_answer_is_in_the_field_of_the_node_that_asks_again_after_a_change(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    text = one_node("def node(state):\n    return {'messages': [AIMessage(f\"city {interrupt('City?')}\")]}")
    page = visit(start(graph=write_graph(tmp_path, text)))
    page.send("go")
    expect(question(page)).to_have_count(1)
    page.tab.wait_for_url("**/t/*")
    page.expect_lost_server()
    page.server.kill()
    changed = "node = StateGraph(State).add_node('deep', deep).add_edge(START, 'deep').compile()\n\n\nbuilder = "
    write_graph(tmp_path, text.replace("def node", "def deep").replace("builder = ", changed, 1))
    page.server.start()
    answer(page, "City", TEXT)
    expect(page.tab.get_by_role("alert", name="Status of the answer")).to_contain_text("was changed, and asks again")
    expect_back(page, "City", TEXT)
    page.reload()
    expect_back(page, "City", TEXT)
    answer_again(page, "City", f"city {TEXT}")
