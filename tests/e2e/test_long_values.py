"""Values of a graph that are long, deep, many or too large for a tree, by keyboard alone, with axe in each state."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.keyboard import Keyboard
from tests.e2e.test_accessibility import READ_COLOUR
from tests.e2e.test_keyboard_graphs import go_to_place
from tests.e2e.test_long_lists import look_at_whole
from tests.e2e.test_user_graphs import write_graph
from tests.extensions.graphs.running_graphs import one_node

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
LONG_KEY = "share_of_the_purchasing_department_in_the_costs_of_the_quarter"
GRAPH = f"""
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


class State(MessagesState):
    turns: int
    {LONG_KEY}: float
    report: str
    plan: dict
    rows: list
    table: list
    nothing: None


def node(state):
    turns = state.get("turns", 0) + 1
    deep = turns
    for level in range(8):
        deep = {{f"level {{level}}": deep}}
    return {{
        "messages": [AIMessage(f"Turn {{turns}}.")],
        "turns": turns,
        "{LONG_KEY}": turns / 3,
        "report": "An_unbroken_word_" * 200 + str(turns),
        "plan": deep,
        "rows": [{{"row": row, "turn": turns}} for row in range(300)],
        "table": ["x" * 60 + str(turns)] * 10_000,
        "nothing": None,
    }}


graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
"""


def test_long_values_are_unfolded_and_compared(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, GRAPH)))
    keys, channels = Keyboard(page), page.dialog.get_by_test_id("channel")
    keys.write("begin")
    page.wait_for_answer()
    keys.key("Control+s")
    keys.type("First")
    keys.key("Enter")
    page.expect_checkpoints(("First", 2))
    keys.write("go on")
    page.wait_for_answer()
    card = go_to_place(page, page.checkpoint("First"))
    more = card.get_by_role("button", name="More for First")
    keys.choose(more, "State")
    for name in ("report", "plan", "rows", "table", LONG_KEY):
        channel = channels.filter(has=page.tab.get_by_text(name, exact=True))
        keys.press(channel.locator("summary").first)
        expect(channel.get_by_role("region", name=f"Value of {name}")).to_be_visible()
    accent = page.tab.evaluate(READ_COLOUR, "var(--accent)")
    expect(page.dialog.get_by_test_id("show-all").first).to_have_css("color", accent)
    look_at_whole(page, "long values of a graph, with differences")
    keys.go(page.dialog.get_by_label("Difference to"))
    keys.key("Home")
    expect(channels.first).not_to_have_attribute("data-difference", "changed")
    look_at_whole(page, "long values of a graph")
    keys.close_dialog(more)
    compare = card.get_by_test_id("compare")
    keys.press(compare)
    expect(channels.first).to_be_visible()
    for summary in channels.locator("> summary").all():
        keys.press(summary)
    look_at_whole(page, "a comparison channel by channel")
    keys.close_dialog(compare)
    restore = page.tab.get_by_test_id("restore")
    keys.press(restore)
    expect(page.dialog).to_contain_text("These values of the graph change")
    look_at_whole(page, "a restore that changes long values")
    keys.close_dialog(restore)


def test_a_kind_that_is_not_kept_is_told_on_the_folded_line_of_its_value(start: Start, visit: Visit, tmp_path: Path) -> None:
    body = (
        "import collections\n\ndef node(state):\n"
        "    return {'thing': collections.defaultdict(list, a=[1]), 'messages': [AIMessage('ok')]}"
    )
    page = visit(start(graph=write_graph(tmp_path, one_node(body))))
    page.say("hello")
    page.save("First")
    page.choose_at(page.checkpoint("First"), "State")
    thing = page.dialog.get_by_test_id("channel").filter(has=page.tab.get_by_text("thing", exact=True))
    expect(thing.locator("summary").first).to_contain_text("defaultdict not kept")
    expect(thing.locator("summary").first).to_be_visible()
    expect(page.dialog.get_by_text("not kept", exact=False)).to_have_count(1)
    look_at_whole(page, "a kind that is not kept")
