"""Somebody's own graph in the page: it answers, asks, and goes back with all its values."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.panel_requests import sends_unanswered
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.extensions.graphs.running_graphs import AGENT, one_node
from tests.extensions.graphs.test_inputs import JOKE, TALK, TRIP

pytestmark = pytest.mark.e2e


def write_graph(tmp_path: Path, text: str = AGENT) -> str:
    path = tmp_path / "theirs.py"
    path.write_text(text)
    return f"{path}:graph"


def question(page: Page) -> Locator:
    return page.tab.get_by_test_id("question")


@pytest.mark.slow
def test_a_graph_answers_asks_and_is_restored_and_undone_with_its_values(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path)))
    expect(page.tab.get_by_test_id("model")).to_contain_text("graph:graph")
    page.say("hello")
    assert page.answer() == "1: hello"
    expect(page.tab.get_by_test_id("model")).to_have_count(0)  # chosen for good
    page.save("Greeted")
    page.send("ask 7A")
    expect(question(page)).to_contain_text('"seat": "7A"')
    expect(page.threads.first).to_contain_text("waits for you")
    page.reload()
    other = visit(page.server, page.tab.url.removeprefix(page.server.origin))
    question(other).get_by_role("button", name="Approve").click()
    for each in (page, other):
        expect(question(each)).to_have_count(0)
        each.wait_for_answer()
        assert each.answer() == "The tool says: approve 7A"
    other.tab.close()
    dialog = page.ask_to_restore("Greeted")
    expect(dialog).to_contain_text("All values of the graph go back as well.")
    expect(dialog).to_contain_text("turns: 2 → 1")
    page.confirm("Restore")
    expect(page.notice).to_contain_text("Restored to Greeted")
    page.undo()
    page.say("more")
    assert page.answer() == "3: more"
    page.restore("Greeted")
    page.say("other")
    assert page.answer() == "2: other"


@pytest.mark.slow
def test_after_an_undo_it_asks_again_and_another_decision_counts(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path)))
    page.send("ask 7A")
    question(page).get_by_role("button", name="Approve").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    expect(page.tab.locator(".topbar")).to_contain_text("4 messages")  # the panels have followed, and with them the version
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(question(page)).to_be_visible()
    expect_accessible(page, "a question of a graph")
    question(page).get_by_role("button", name="Reject").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "The tool says: reject 7A"


@pytest.mark.slow
def test_the_values_of_a_graph_are_shown_and_compared_at_any_place(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path)))
    page.say("hello")
    page.save("Greeted")
    page.say("more")
    page.open_card_menu(page.checkpoint("Greeted")).get_by_test_id("state").click()
    expect(page.dialog).to_contain_text("Subgraphs are restored with their parent")
    turns = page.tab.get_by_test_id("channel").filter(has_text="turns")
    expect(turns).to_have_attribute("data-difference", "changed")
    expect(turns.locator("summary")).to_contain_text("1 → 2")
    notes = page.tab.get_by_test_id("channel").filter(has_text="notes")
    notes.locator("summary").first.click()
    expect(notes.locator("ins").filter(has_text="1").last).to_be_visible()
    expect(notes.locator(".tree")).to_contain_text("1: hello0")
    expect_accessible(page, "the state of a graph")
    page.dialog.get_by_label("Difference to").select_option(label="(none)")
    expect(turns).not_to_have_attribute("data-difference", "changed")
    expect(turns.locator("summary")).to_have_text("turns1")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    page.tab.get_by_test_id("compare").click()
    compared = page.dialog.get_by_test_id("channel")
    expect(compared).to_have_count(2)  # the messages are compared as messages
    expect(compared.last).to_contain_text("1 → 2")


@pytest.mark.slow
def test_a_new_conversation_from_a_message_goes_on_with_the_values(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path)))
    page.say("hello")
    page.say("more")
    address = page.tab.url
    page.ask_to_branch("1: hello").get_by_label("a new conversation").check()
    page.confirm("Branch")
    page.tab.wait_for_url(lambda url: url != address)
    page.expect_messages(2)
    page.say("other")
    assert page.answer() == "2: other"


@pytest.mark.slow
def test_a_graph_without_messages_is_a_form_and_its_outputs(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TRIP)))
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    form.get_by_role("button", name="Run").click()
    assert form.get_by_label("City").evaluate("element => element.validity.valueMissing")
    form.get_by_label("City").fill("Rome")
    form.get_by_label("Days").fill("2")
    form.get_by_label("Stops").fill("a\nb")
    form.get_by_label("Mood").select_option("quick")
    form.get_by_label("Fast").select_option("yes")
    form.get_by_label("Seat").fill("{row")
    form.get_by_role("button", name="Run").click()
    expect(form).to_contain_text("This is not JSON.")
    expect_accessible(page, "the form of a graph")
    form.get_by_label("Seat").fill('{"row": 1}')
    form.get_by_role("button", name="Run").click()
    page.wait_for_answer()
    assert '"Rome 2"' in page.messages()[-1].text
    assert (
        page.messages()[0].text == '{"city":"Rome","days":2,"fast":true,"stops":["a","b"],"mood":"quick","seat":{"row": 1}}'
    )
    page.save("Rome")
    form.get_by_label("City").fill("Oslo")
    form.get_by_role("button", name="Run").click()
    expect(page.message("Oslo 2")).to_have_count(1)
    page.wait_for_answer()
    page.restore("Rome")
    form.get_by_label("City").fill("Bonn")
    form.get_by_role("button", name="Run").click()
    expect(page.message('"Bonn 2"')).to_have_count(1)
    assert "Oslo" not in page.answer()


@pytest.mark.slow
def test_an_optional_input_may_be_empty_and_is_null(start: Start, visit: Visit, tmp_path: Path) -> None:
    text = TRIP.replace("budget: Optional[float]", "budget: Required[Optional[float]]")
    page = visit(start(graph=write_graph(tmp_path, text.replace("{state.get('days', 0)}", "{state['budget']}"))))
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    form.get_by_label("City").fill("Rome")
    form.get_by_role("button", name="Run").click()
    page.wait_for_answer()
    assert '"Rome None"' in page.messages()[-1].text


@pytest.mark.slow
def test_a_form_of_a_whole_state_takes_what_is_filled_in_and_tells_of_json(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, JOKE.replace("STATE", "State"))))
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    expect(form).to_contain_text("Or send a JSON object as a message.")
    form.get_by_label("Topic").fill("cats")
    form.get_by_role("button", name="Run").click()
    page.wait_for_answer()
    assert '"about cats"' in page.answer()
    assert page.messages()[0].text == '{"topic":"cats"}'
    expect_accessible(page, "the form of a whole state")
    page.say('{"topic": "dogs"}')
    assert '"about dogs"' in page.answer()


@pytest.mark.slow
def test_other_inputs_go_with_the_next_message(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TALK)))
    page.tab.locator("summary", has_text="Inputs of the graph").click()
    page.tab.get_by_label("Days").fill("3")
    expect(page.tab.locator(".graph-inputs summary")).to_contain_text("1 input for the next message")
    page.say("go")
    assert page.answer() == "go 3 []"
    expect(page.message("go").first).to_contain_text("with days: 3")
    expect(page.tab.locator(".graph-inputs summary")).not_to_contain_text("for the next message")
    page.say("on")
    assert page.answer() == "on 3 []"


@pytest.mark.slow
def test_inputs_of_the_start_page_stay_there_when_another_conversation_is_opened(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, TALK)))
    days = page.tab.get_by_label("Days")
    page.say("go")
    page.tab.locator("summary", has_text="Inputs of the graph").click()
    days.fill("5")
    page.new_conversation()
    expect(days).to_have_value("")
    days.fill("3")
    page.threads.click()
    expect(page.message("go").first).to_be_visible()
    expect(days).to_have_value("5")
    page.say("on")
    assert page.answer() == "on 5 []"
    page.new_conversation()
    expect(days).to_have_value("3")
    page.say("begin")
    assert page.answer() == "begin 3 []"


@pytest.mark.slow
def test_inputs_survive_a_reload_with_the_draft_until_they_are_sent(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TALK)))
    days, fold = page.tab.get_by_label("Days"), page.tab.locator(".graph-inputs summary")
    fold.click()
    days.fill("3")
    page.composer.fill("begin")
    page.reload()
    expect(page.composer).to_have_value("begin")
    expect(fold).to_contain_text("1 input for the next message")
    fold.click()
    expect(days).to_have_value("3")
    page.composer.press("Enter")
    page.wait_for_answer()
    assert page.answer() == "begin 3 []"
    days.fill("4")
    page.reload()
    page.say("on")
    assert page.answer() == "on 4 []"
    page.reload()
    expect(fold).to_be_visible()
    expect(fold).not_to_contain_text("for the next message")
    fold.click()
    days.fill("5")
    days.fill("")
    page.reload()
    page.new_conversation()
    expect(fold).not_to_contain_text("for the next message")
    assert page.tab.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('inputs'))") == []


@pytest.mark.slow
def test_a_message_without_a_reply_comes_back_with_its_inputs_after_a_reload(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, TALK)))
    page.expect_lost_server()
    page.say("begin")
    page.tab.locator(".graph-inputs summary").click()
    page.tab.get_by_label("Days").fill("3")
    with sends_unanswered(page):
        page.composer.fill("go")
        page.composer.press("Enter")
        expect(page.tab.get_by_label("Days")).to_have_value("")
        page.reload()
    expect(page.composer).to_have_value("go")
    expect(page.tab.locator(".graph-inputs summary")).to_contain_text("1 input for the next message")
    page.composer.press("Enter")
    expect(page.message("go 3 []")).to_have_count(1)


@pytest.mark.slow
def test_a_lost_message_brings_back_its_own_inputs_alone(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TALK)))
    page.expect_lost_server()
    days, problem = page.tab.get_by_label("Days"), page.tab.locator(".composer-problem")
    page.say("begin")
    page.tab.locator("summary", has_text="Inputs of the graph").click()
    days.fill("3")
    with sends_unanswered(page):
        page.composer.fill("go")
        page.composer.press("Enter")
        expect(days).to_have_value("")
    expect(days).to_have_value("3")
    problem.get_by_role("button", name="Try again").click()
    expect(page.message("go 3 []")).to_have_count(1)
    page.wait_for_answer()
    with sends_unanswered(page):
        page.composer.fill("on")
        page.composer.press("Enter")
        expect(page.composer).to_have_value("")
    expect(problem).to_contain_text("Not sent yet")
    expect(days).to_have_value("")


@pytest.mark.slow
def test_a_question_of_any_schema_is_answered_as_text_or_json(start: Start, visit: Visit, tmp_path: Path) -> None:
    body = (
        "def node(state):\n    one = interrupt('Your name?')\n    two = interrupt({'options': [1, 2]})\n"
        "    return {'messages': [AIMessage(f'{one} {two!r}')]}"
    )
    page = visit(start(graph=write_graph(tmp_path, one_node(body))))
    page.send("go")
    expect(question(page)).to_contain_text("Your name?")
    question(page).get_by_role("textbox").fill("Ada")
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_contain_text('"options"')
    question(page).get_by_role("textbox").fill('{"picked": 2}')
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "Ada {'picked': 2}"


@pytest.mark.slow
def test_the_nodes_at_work_are_shown_over_a_reload_and_stop_ends_a_node_that_blocks(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    body = "async def node(state):\n    get_stream_writer()('looking')\n    await asyncio.sleep(0.3)\n    time.sleep(600)"
    page = visit(start(graph=write_graph(tmp_path, one_node(body))))
    page.send("go")
    progress = page.tab.get_by_test_id("graph-progress")
    expect(progress).to_contain_text("looking")
    page.tab.wait_for_url("**/t/*")
    page.reload()
    expect(progress).to_contain_text("node")
    page.stop_button.click()
    expect(page.stop_button).to_have_count(0)
    expect(page.tab.get_by_label("Status of the answer")).to_contain_text("stopped")


@pytest.mark.slow
def test_a_conversation_may_begin_with_the_built_in_agent_instead(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path)))
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("option", name="demo").click()
    page.say("What is 6 * 7?")
    assert "42" in page.answer()
    page.new_conversation()
    page.say("hello")
    assert page.answer() == "1: hello"


FOLDING = """
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES


def fold(state):
    last, said = state["messages"][-1], len(state["messages"])
    if last.text == "nothing":
        return {}
    old = [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("Summary of before."), last] if said >= 5 else []
    return {"messages": [*old, AIMessage(f"answer to {last.text}")]}


graph = StateGraph(MessagesState).add_node("fold", fold).add_edge(START, "fold").compile()
"""


@pytest.mark.slow
def test_a_graph_that_summarises_is_told_and_undone_and_its_checkpoints_stay(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, FOLDING)))
    page.say("one")
    page.save("First")
    page.say("two")
    page.say("three")
    for _ in range(2):
        expect(page.notice).to_contain_text("The graph replaced or removed 4 earlier messages")
        expect(page.checkpoint("First")).to_be_visible()
        summary = page.tab.get_by_test_id("message").first
        expect(summary).to_have_attribute("data-role", "note")
        expect(summary).to_contain_text("written by the graph")
        expect(summary.get_by_role("button", name="Edit")).to_have_count(0)
        page.reload()
    page.undo()
    page.expect_messages(4)
    page.say("three")
    page.restore("First")
    page.expect_messages(2)
    assert page.answer() == "answer to one"


@pytest.mark.slow
def test_the_mark_of_a_checkpoint_at_a_question_is_not_above_it(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, FOLDING)))
    page.say("one")
    page.send("nothing")
    expect(page.tab.get_by_text("There is no answer of the graph here.")).to_be_visible()
    page.save("Here")
    mark, question = page.tab.get_by_test_id("mark"), page.message("nothing").locator(".prose")
    for width, is_below in ((1900, False), (1400, True)):
        page.tab.set_viewport_size({"width": width, "height": 700})
        at, of = mark.bounding_box(), question.bounding_box()
        assert at
        assert of
        middle = at["y"] + at["height"] / 2
        assert middle > of["y"] + of["height"] if is_below else of["y"] < middle < of["y"] + of["height"]
