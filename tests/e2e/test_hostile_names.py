"""120 texts that try to run or load something, as titles, tags, names, prompts and messages: in every list and dialog."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from checkpoints import Database, Store
from checkpoints.saved_prompts import SavedPrompts
from tests.components.transfers.test_html_export import HOSTILE, write_hostile
from tests.e2e.conftest import Start, Visit
from tests.e2e.dialogs import close, run_command
from tests.e2e.server import Server
from tests.e2e.test_candidates import candidate, choose_models
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Fault, Say
from tests.hostile_texts import RUN, TAGS

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SHOWN = TAGS[0]  # as it is in each list: formulas are taken out of titles
FIND_ACTIVE = """() => [...document.querySelectorAll("body > :not(script) *")].filter((each) =>
  [...each.attributes].some(({ name }) => name.startsWith("on"))
  || (["SCRIPT", "IFRAME", "OBJECT", "EMBED", "STYLE", "BASE", "META"].includes(each.tagName) && !each.closest("footer"))
  || /^\\s*(javascript|data):/i.test(each.getAttribute("href") ?? "")
  || (each.tagName === "IMG" && !["", "blob:", "data:", location.protocol].includes(each.src && new URL(each.src).protocol))
).map((each) => each.outerHTML.slice(0, 300))"""

GRAPH = """
from typing import Annotated, Literal, TypedDict

from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph, add_messages
from langgraph.types import interrupt
from pydantic import Field

TEXTS = {texts!r}
Messages = Annotated[list, add_messages]
named = {{f"field_{{n}}": Annotated[str, Field(title=text, description=text)] for n, text in enumerate(TEXTS[100:140])}}
Inputs = TypedDict("Inputs", {{"messages": Messages, "choice": Literal[tuple(TEXTS[:100])], **named}}, total=False)
State = TypedDict("State", {{"messages": Messages, "tree": dict, **dict.fromkeys(TEXTS, str)}}, total=False)


def node(state):
    write = get_stream_writer()
    for text in TEXTS:
        write(text)
    interrupt("\\n".join(TEXTS))
    tree = {{**dict.fromkeys(TEXTS, TEXTS[0]), "all": TEXTS}}
    return {{"messages": [AIMessage("\\n\\n".join(TEXTS))], "tree": tree, **{{text: text for text in TEXTS}}}}


graph = StateGraph(State, input_schema=Inputs).add_node("node", node).add_edge(START, "node").compile()
"""


def write_everywhere(file: Path) -> str:
    """Store the texts in every field, and return the id of the conversation with all of them in its messages."""
    database = Database.open_file(file)
    store = Store(database)
    thread_id = write_hostile(store, HOSTILE)
    prompts = SavedPrompts(store)
    for number, text in enumerate(HOSTILE):
        titled = store.create_thread(title=text).id
        store.tag_thread(titled, add=[text])
        prompts.save_prompt(f"prompt-{number}", text[:120], f"{text} {{{{{text}}}}}")
    while store.index_portion():
        pass
    database.close()
    return thread_id


def watch_dialogs(page: Page) -> list[str]:
    """The messages of the dialogs that a script opens."""
    ran: list[str] = []
    page.tab.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    return ran


def expect_nothing_active(page: Page, state: str) -> None:
    assert page.tab.evaluate(FIND_ACTIVE) == [], state


def test_120_hostile_texts_in_every_field_run_and_load_nothing(start: Start, tmp_path: Path, visit: Visit) -> None:
    assert len(HOSTILE) >= 120
    (tmp_path / "server-0" / "data").mkdir(parents=True, mode=0o700)
    thread_id = write_everywhere(tmp_path / "server-0" / "data" / "waymark.db")
    page = visit(start(), f"/t/{thread_id}")
    ran = watch_dialogs(page)
    expect_nothing_active(page, "the conversation, History and titles with tags")
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill(RUN)
    expect(page.tab.get_by_role("region", name="In messages").locator("mark").first).to_be_visible()
    expect_nothing_active(page, "hits in the list")
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill(RUN)
    expect(page.tab.get_by_role("group", name="Messages found").locator("mark").first).to_be_visible()
    expect_nothing_active(page, "the palette")
    close(page)
    for command in ("/tag", "/again", "/prompts"):
        run_command(page, command)
        expect(page.dialog.get_by_text(SHOWN).first).to_be_attached()
        expect_nothing_active(page, command)
        close(page)
    page.composer.fill("/prompt ")
    expect(page.tab.get_by_role("option").first).to_be_visible()
    expect_nothing_active(page, "prompts at the field")
    close(page)
    page.press_in_menu("Change log")
    expect(page.dialog.get_by_test_id("change").first).to_be_visible()
    expect_nothing_active(page, "changes")
    close(page)
    page.select(page.tab.get_by_test_id("checkpoint").first).get_by_test_id("compare").click()
    expect(page.dialog.get_by_role("combobox").first).to_be_visible()
    expect_nothing_active(page, "a comparison")
    close(page)
    page.select(page.branches.last)
    expect_nothing_active(page, "the card of a branch")
    assert ran == []


def test_120_hostile_texts_of_models_and_providers_side_by_side_run_and_load_nothing(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    ran = watch_dialogs(page)
    choose_models(page, "other-model")
    words = "\n\n".join(HOSTILE)
    fake_openai.script(
        Say(words), Fault("status", status=400, body={"error": {"message": words[:2_000], "type": "invalid"}})
    )
    page.send("Which?")
    expect(page.stop_button).to_have_count(0)
    for number in (1, 2):
        expect(candidate(page, number)).to_contain_text(RUN)
    expect_nothing_active(page, "answers side by side")
    for state in ("/branch", "/restore ", "/compact"):
        page.composer.fill(state)
        expect_nothing_active(page, state)
    page.composer.fill("")
    page.press_in_menu("Export")
    page.dialog.get_by_label("Words to redact").fill(words[:1_000])
    expect_nothing_active(page, "the export")
    assert ran == []


def test_120_hostile_texts_of_a_graph_in_its_form_question_and_state_run_and_load_nothing(
    start: Start, tmp_path: Path, visit: Visit
) -> None:
    (tmp_path / "theirs.py").write_text(GRAPH.format(texts=HOSTILE))
    page = visit(start(graph=f"{tmp_path / 'theirs.py'}:graph"))
    ran = watch_dialogs(page)
    page.tab.locator(".graph-inputs summary").click()
    expect(page.tab.locator(".graph-inputs option")).to_have_count(101)
    expect_nothing_active(page, "the form")
    page.send(HOSTILE[0])
    question = page.tab.get_by_test_id("question")
    expect(question).to_contain_text(RUN)
    expect_nothing_active(page, "the question")
    question.get_by_role("textbox").fill(HOSTILE[1])
    question.get_by_role("button", name="Answer").click()
    page.wait_for_answer()
    page.save(HOSTILE[2][:100], HOSTILE[3])
    page.open_card_menu(page.tab.get_by_test_id("checkpoint")).get_by_test_id("state").click()
    channels = page.tab.get_by_test_id("channel")
    expect(channels.first).to_be_visible()
    for each in channels.all()[:20]:
        each.locator("summary").first.click()
    expect_nothing_active(page, "the state")
    assert ran == []
