"""Forms from JSON schemas send what a person sees: the defaults of the author, until a person changes them."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.running_graphs import one_node

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
STAY = """
import enum, json
from typing import Annotated, Any, Literal, Optional
from pydantic import BaseModel, Field, create_model


class Mood(enum.Enum):
    CALM = "calm"
    QUICK = "quick"


class Stay(BaseModel):
    breakfast: bool = Field(True, description="Served from 7 to 10.")
    late: bool = False
    parking: Optional[bool] = Field(None, description="Leave it open if you do not know yet.")
    pets: Optional[bool] = True
    nights: int = Field(3, ge=1, le=14, title="Number of nights", description="One week has 7.")
    floor: Optional[int] = Field(None, gt=0)
    budget: Optional[float] = Field(99.5, gt=0)
    city: str = Field("Rome", max_length=20)
    code: Annotated[str, Field(min_length=2)] = "ab"
    wish: str = ""
    letter: str = "Dear Ada,\\n\\nyours"
    note: Optional[str] = None
    name: Optional[str] = "Ada"
    mood: Mood = Mood.CALM
    stars: Literal[3, 4, 5] = Field(4, description="More stars cost more.")
    size: Optional[Literal["s", "m"]] = None
"""
# The message names the way of the question: of a response schema, or of the question that is the schema itself.
ASKING = one_node(
    STAY
    + """

def ask(text):
    if text == "schema":
        return interrupt(Stay.model_json_schema())
    return interrupt("Your stay?", response_schema=Stay)


def node(state):
    sent = ask(state["messages"][-1].text)
    stay = Stay.model_validate(sent)
    whole = stay.model_dump_json() if sent is stay else json.dumps(sent)
    return {"messages": [AIMessage(f"{stay == Stay()} {whole}")]}
"""
)
# A graph of each model with one of its fields asks about all of them, one by one.
FIELDS = one_node(
    STAY
    + """

MODELS = [create_model(name, **{name: (field.rebuild_annotation(), field)}) for name, field in Stay.model_fields.items()]


def node(state):
    wrong = []
    for model in MODELS:
        sent = interrupt(model.model_json_schema())
        if model.model_validate(sent) != model():
            wrong.append(f"{model.__name__} {sent}")
    return {"messages": [AIMessage(f"wrong: {wrong}")]}
"""
)


def answer(page: Page) -> dict[str, object]:
    """Answer the form, and return what the graph got of it."""
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    sent: dict[str, object] = json.loads(page.answer().split(" ", 1)[1])
    return sent


def ask(start: Start, visit: Visit, tmp_path: Path, text: str = "schema") -> tuple[Page, Locator]:
    page = visit(start(graph=write_graph(tmp_path, ASKING)))
    page.send(text)
    expect(question(page)).to_be_visible()
    page.tab.wait_for_url("**/t/*")
    return page, question(page)


@pytest.mark.parametrize("way", ["schema", "response schema"])
def test_a_form_that_nobody_touched_sends_the_defaults_of_its_model(
    start: Start, visit: Visit, tmp_path: Path, way: str
) -> None:
    page, asked = ask(start, visit, tmp_path, way)
    expect(asked.get_by_label("Breakfast")).to_be_checked()
    expect(asked.get_by_label("Breakfast")).to_have_accessible_description("Served from 7 to 10.")
    expect(asked.get_by_label("Number of nights")).to_have_value("3")
    expect(asked.get_by_label("Number of nights")).to_have_accessible_description("One week has 7.")
    expect(asked.get_by_label("Parking")).to_have_js_property("selectedIndex", 0)
    expect_accessible(page, "a form with defaults and descriptions")
    answer(page)
    assert page.answer().startswith("True ")


def test_each_default_of_a_model_is_sent_as_it_is(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, FIELDS)))
    page.send("go")
    for title in range(16):
        shown = question(page).locator(".question-text")
        expect(shown).to_be_visible()
        key = shown.text_content()
        question(page).get_by_role("button", name="Answer").click()
        expect(question(page).filter(has_text=key or str(title))).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "wrong: []"


def test_fields_that_a_person_changed_or_emptied_stay_over_a_reload_and_are_sent(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page, asked = ask(start, visit, tmp_path)
    asked.get_by_label("Breakfast").uncheck()
    page.reload()
    expect(asked.get_by_label("Breakfast")).not_to_be_checked()
    asked.get_by_label("Parking").select_option("no")
    asked.get_by_label("Pets").select_option("(not given)")
    asked.get_by_label("Budget").fill("")
    asked.get_by_label("City").fill("")
    asked.get_by_label("Name").fill("")
    asked.get_by_label("Mood").select_option("quick")
    asked.get_by_label("Stars").select_option("5")
    asked.get_by_label("Floor").fill("2")
    page.reload()
    expect(asked.get_by_label("City")).to_have_value("")
    sent = answer(page)
    changed = {"breakfast": False, "parking": False, "pets": None, "budget": None, "city": "", "name": None, "floor": 2}
    changed |= {"mood": "quick", "stars": 5}
    assert {name: sent[name] for name in changed} == changed
    kept = {"late": False, "nights": 3, "code": "ab", "wish": "", "letter": "Dear Ada,\n\nyours"}
    assert sent == changed | kept


def test_a_number_outside_its_limits_and_one_that_is_emptied_are_asked_for_again(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page, asked = ask(start, visit, tmp_path)
    nights = asked.get_by_label("Number of nights")
    for value, problem in (("0", "greater than or equal to 1"), ("15", "less than or equal to 14"), ("", "needs this")):
        nights.fill(value)
        asked.get_by_role("button", name="Answer").click()
        expect(asked.get_by_role("alert")).to_contain_text(problem)
        expect(nights).to_be_focused()
    nights.fill("14")
    asked.get_by_label("Budget").fill("0")
    asked.get_by_role("button", name="Answer").click()
    expect(asked.get_by_label("Budget")).to_be_focused()
    asked.get_by_label("Budget").fill("0.01")
    assert {name: each for name, each in answer(page).items() if name in ("nights", "budget")} == {
        "nights": 14,
        "budget": 0.01,
    }


def test_a_tick_of_a_closed_form_is_in_the_message_field(start: Start, visit: Visit, tmp_path: Path) -> None:
    page, asked = ask(start, visit, tmp_path)
    asked.get_by_label("Breakfast").uncheck()
    asked.get_by_label("Stars").select_option("5")
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(asked).to_have_count(0)
    expect(page.composer).to_have_value("breakfast: no\n\nstars: 5")


INPUTS = (
    STAY
    + """
from langgraph.graph import START, StateGraph


def node(state):
    return {"late": state.late}


graph = StateGraph(Stay).add_node("node", node).add_edge(START, "node").compile()
"""
)


# Its inputs stand beside a message.
BESIDE = one_node(
    STAY
    + """
from langchain_core.messages import AnyMessage
from langgraph.graph import add_messages


class State(Stay):
    messages: Annotated[list[AnyMessage], add_messages] = []


def node(state):
    return {"messages": [AIMessage(f"{state.nights}")]}
"""
)


def test_the_inputs_of_a_graph_tell_defaults_and_limits_and_send_what_is_chosen(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, INPUTS)))
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    nights = form.get_by_label("Number of nights")
    expect(nights).to_have_accessible_description("One week has 7. · Default: 3")
    expect(form.get_by_label("Breakfast")).to_have_accessible_description("Served from 7 to 10. · Default: yes")
    nights.fill("15")
    form.get_by_role("button", name="Run").click()
    assert nights.evaluate("element => element.validity.rangeOverflow")
    expect(form.get_by_role("alert")).to_contain_text("less than or equal to 14")
    nights.fill("2")
    form.get_by_label("Stars").select_option("5")
    form.get_by_label("Breakfast").select_option("no")
    form.get_by_role("button", name="Run").click()
    page.wait_for_answer()
    assert json.loads(page.messages()[0].text) == {"nights": 2, "stars": 5, "breakfast": False}


def test_an_input_beside_a_message_outside_its_limits_is_not_sent(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, BESIDE)))
    page.tab.locator(".graph-inputs summary").click()
    page.tab.get_by_label("Number of nights").fill("15")
    page.composer.fill("go")
    page.composer.press("Enter")
    expect(page.tab.get_by_text("The input Number of nights is outside its limits.")).to_be_visible()
    page.tab.get_by_label("Number of nights").fill("7")
    page.say("go")
    assert page.answer() == "7"


LARGE = 123456789012345678
# The message "ask" begins a question, "json" one that is answered as JSON; another answers with the inputs.
EXACT = one_node(
    """
import json
from typing import Annotated
from langchain_core.messages import AnyMessage
from langgraph.graph import add_messages
from pydantic import BaseModel, Field


class Account(BaseModel):
    user: int
    owner: int = 123456789012345671
    code: Annotated[str, Field(min_length=2, max_length=2)] = "ab"


class State(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    user: int | None = None
    nights: int | None = Field(None, ge=1, le=14)
    code: str | None = Field(None, min_length=2, max_length=2)
    ids: dict = {}


def node(state):
    text = state.messages[-1].text
    values = state.model_dump(exclude={"messages"}, exclude_defaults=True)
    if text == "ask":
        values = interrupt("Whose?", response_schema=Account).model_dump()
    elif text == "json":
        values = interrupt("Which?", response_schema=list[int])
    elif text == "call":
        values = interrupt({"action_requests": [{"name": "act", "args": {"user": 1}}]})
    return {"messages": [AIMessage(json.dumps(values, ensure_ascii=False))]}
"""
)


def test_large_integers_are_sent_exactly(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, EXACT)))
    page.tab.locator(".graph-inputs summary").click()
    page.tab.get_by_label("User").fill(str(LARGE))
    page.tab.get_by_label("Ids").fill(f'{{"a": [{LARGE}]}}')
    page.say("go")
    assert json.loads(page.answer()) == {"user": LARGE, "ids": {"a": [LARGE]}}
    page.send("ask")
    asked = question(page)
    expect(asked.get_by_label("Owner")).to_have_value("123456789012345671")
    user = asked.get_by_label("User")
    user.fill(str(2**64))
    asked.get_by_role("button", name="Answer").click()
    expect(asked.get_by_role("alert")).to_contain_text("This number is too large.")
    user.fill(str(LARGE))
    asked.get_by_role("button", name="Answer").click()
    expect(asked).to_have_count(0)
    page.wait_for_answer()
    assert json.loads(page.answer()) == {"user": LARGE, "owner": 123456789012345671, "code": "ab"}


def test_answers_as_json_keep_large_integers(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, EXACT)))
    page.send("json")
    expect(question(page)).to_contain_text("JSON schema")
    question(page).get_by_role("textbox").fill("no list")
    question(page).get_by_role("button", name="Answer").click()
    for refused in ("1e999", "[-1e400]", '{"a": "\\ud800"}'):
        question(page).get_by_role("textbox").fill(refused)
        question(page).get_by_role("button", name="Answer").click()
        expect(question(page).get_by_role("alert")).to_have_text("This is not JSON.")
    question(page).get_by_role("textbox").fill(f"[{LARGE}]")
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    assert json.loads(page.answer()) == [LARGE]
    page.send("call")
    question(page).get_by_role("button", name="Change arguments").click()
    question(page).get_by_role("textbox").fill(f'{{"user": {LARGE}}}')
    question(page).get_by_role("button", name="Run with these").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    edited = {"name": "act", "args": {"user": LARGE}}
    assert json.loads(page.answer()) == {"decisions": [{"type": "edit", "edited_action": edited}]}


@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        ("Nights", "2.5", "valid value"),
        ("User", "1e", "enter a number"),
        ("User", str(2**64), "too large"),
        ("Code", "😀", "At least 2 characters"),
        ("Code", "abc", "At most 2 characters"),
        ("Ids", "{", "not JSON"),
    ],
)
def test_an_input_beside_a_message_that_does_not_fit_says_so_before_it_is_sent(
    start: Start, visit: Visit, tmp_path: Path, name: str, typed: str, problem: str
) -> None:
    page = visit(start(graph=write_graph(tmp_path, EXACT)))
    page.tab.locator(".graph-inputs summary").click()
    field = page.tab.get_by_label(name)
    field.press_sequentially(typed)
    page.composer.fill("go")
    page.composer.press("Enter")
    expect(page.tab.locator(".graph-input-problem")).to_contain_text(problem)
    expect(field).to_be_focused()
    expect(page.composer).to_have_value("go")
    field.fill({"Code": "😀😀", "Ids": '{"a": 1}'}.get(name, "2"))
    page.composer.press("Enter")
    page.wait_for_answer()
    assert name.lower() in json.loads(page.answer())


def test_values_of_one_text_are_different_choices(start: Start, visit: Visit, tmp_path: Path) -> None:
    body = (
        "def node(state):\n"
        "    sent = interrupt({'type': 'object', 'properties': {'pick': {'enum': [1, '1', True]}}})\n"
        "    return {'messages': [AIMessage(f'{sent!r}')]}"
    )
    page = visit(start(graph=write_graph(tmp_path, one_node(body))))
    page.send("go")
    question(page).get_by_label("Pick").select_option(index=2)
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "{'pick': '1'}"
