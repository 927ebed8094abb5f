"""Graphs that are wrong, in the page: each is a sentence or nothing at all, and another conversation is answered."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.agent.guests.guests import one_node
from tests.agent.guests.test_wrong_graphs import OTHER_INPUT
from tests.e2e.conftest import Start, Visit
from tests.e2e.test_guests import write_graph

pytestmark = pytest.mark.e2e
OTHER = 'if state["messages"][-1].text == "other": return {"messages": [AIMessage("here")]}'
# Of each: a body of the node, and the words of the page.
WRONG = {
    "raises": ("raise ValueError('boom')", "ValueError: boom"),
    "floods": (
        "for n in range(20_000): get_stream_writer()('x' * 1_000)\n    return {'messages': [AIMessage('flood')]}",
        "flood",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_graph_leaves_the_page_and_other_conversations_as_they_are(
    kind: str, start: Start, visit: Visit, tmp_path: Path
) -> None:
    body, words = WRONG[kind]
    text = one_node(f"def node(state):\n    {OTHER}\n    {body}")
    page = visit(start(graph=write_graph(tmp_path, text)))
    page.send("wrong")
    expect(page.tab.locator("#transcript")).to_contain_text(words)
    expect(page.stop_button).to_have_count(0)
    if kind == "raises":
        expect(page.tab.get_by_label("Status of the answer")).to_contain_text("Another try runs nodes of the graph again")
    page.new_conversation()
    page.say("other")
    assert page.answer() == "here"


@pytest.mark.slow
def test_a_graph_whose_input_takes_no_messages_keeps_the_words_of_its_user(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, OTHER_INPUT)))
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    for count, text in enumerate(("hello", "more")):
        form.get_by_label("Text").fill(text)
        form.get_by_role("button", name="Run").click()
        expect(page.message(f"{text} after {2 * count}")).to_have_count(1)
        page.wait_for_answer()
    assert [each.text for each in page.messages()] == [
        '{"text":"hello"}',
        "hello after 0",
        '{"text":"more"}',
        "more after 2",
    ]
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.message("more after 2")).to_have_count(0)
    page.expect_messages(2)
