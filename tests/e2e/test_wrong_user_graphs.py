"""Graphs that are wrong, in the page: each is a sentence, nothing that was sent is lost, and the page goes on.

One server has them all, beside a graph that is right.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.app_process import read_environment, run_app
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_user_graphs import write_graph
from tests.e2e.waymark import Page
from tests.e2e.wrong_graphs import BLOCKING, FAILING, FILES, STRANGE, UNMADE
from tests.extensions.graphs.running_graphs import AGENT
from tests.extensions.graphs.test_wrong_graphs import OTHER_INPUT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def write_project(folder: Path, **files: str) -> Path:
    """Write a file for each graph, and the `langgraph.json` that names them."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    project = folder / "langgraph.json"
    project.write_text(json.dumps({"graphs": {name: f"./{name}.py:graph" for name in files}}))
    return project


@pytest.fixture(scope="module")
def wrong_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("wrong")
    server = Server(folder, graph=str(write_project(folder, right=AGENT, **FILES)))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def send_to(page: Page, graph: str) -> None:
    """Begin a conversation with a graph."""
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("option", name=graph, exact=True).click()
    page.send("wrong")
    page.tab.wait_for_url("**/t/*")


def expect_words(page: Page, words: str) -> None:
    expect(page.tab.locator("#transcript")).to_contain_text(words)
    expect(page.stop_button).to_have_count(0)


def expect_usable(page: Page) -> None:
    """Another conversation is answered, by a graph that is right."""
    page.new_conversation()
    page.say("hello")
    assert page.answer() == "1: hello"


def texts(page: Page) -> list[str]:
    return [each.text for each in page.messages()]


@pytest.mark.parametrize("kind", FAILING)
def test_a_graph_that_fails_is_a_sentence_and_answers_the_next_message(
    kind: str, wrong_server: Server, visit: Visit
) -> None:
    page = visit(wrong_server)
    send_to(page, kind)
    expect_words(page, FAILING[kind].words)
    expect(page.tab.get_by_label("Status of the answer")).to_contain_text("Another try runs nodes of the graph again")
    page.reload()
    expect_words(page, FAILING[kind].words)
    said = ["wrong", "half an answer"] if kind == "breaks_off" else ["wrong"]
    assert texts(page) == said
    page.say("other")
    assert texts(page) == [*said, "other", "here"]
    assert page.tab.evaluate("window.isHarmed") is None
    expect_usable(page)


@pytest.mark.parametrize("kind", UNMADE)
def test_a_graph_that_cannot_be_made_is_a_sentence_at_each_try(kind: str, wrong_server: Server, visit: Visit) -> None:
    page = visit(wrong_server)
    send_to(page, kind)
    expect_words(page, UNMADE[kind].words)
    with page.tab.expect_response(lambda reply: '"retry"' in (reply.request.post_data or "")):
        page.tab.get_by_role("button", name="Retry").click()
    page.reload()  # the newest try is shown
    expect_words(page, UNMADE[kind].words)
    assert texts(page) == ["wrong"]
    expect_usable(page)


@pytest.mark.parametrize("kind", BLOCKING)
def test_while_a_graph_blocks_others_answer_and_stop_ends_it(kind: str, wrong_server: Server, visit: Visit) -> None:
    page = visit(wrong_server)
    send_to(page, kind)
    expect(page.tab.get_by_test_id("graph-progress")).to_contain_text("node")
    other = visit(wrong_server, beside=page)
    other.say("hello")
    assert other.answer() == "1: hello"
    page.stop_button.click()
    expect_words(page, BLOCKING[kind].words)
    page.say("other")
    assert texts(page) == ["wrong", "other", "here"]


@pytest.mark.parametrize("kind", STRANGE)
def test_a_strange_answer_is_shown_and_taken_back(kind: str, wrong_server: Server, visit: Visit) -> None:
    page = visit(wrong_server)
    send_to(page, kind)
    expect_words(page, STRANGE[kind].words)
    page.reload()
    expect_words(page, STRANGE[kind].words)
    before = texts(page)
    page.say("other")
    assert texts(page)[-2:] == ["other", "here"]
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.message("here")).to_have_count(0)
    assert texts(page) == before
    expect_usable(page)


GATED = """
import pathlib, time


def graph():
    while not pathlib.Path({gate!r}).exists():
        time.sleep(0.01)
    raise ValueError("boom")
"""


def test_a_reply_from_before_the_end_of_a_try_does_not_bring_it_back(start: Start, visit: Visit, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    page = visit(start(graph=write_graph(tmp_path, GATED.format(gate=str(gate)))))
    gate.touch()
    page.send("wrong")
    expect_words(page, "ValueError: boom.")
    gate.unlink()
    held: list[tuple[Route, APIResponse]] = []
    page.tab.route("**/api/actions/transcript", lambda route: held.append((route, route.fetch())))
    page.tab.get_by_role("button", name="Retry").click()
    expect(page.tab.get_by_label("Status of the answer")).to_have_count(0)
    while not held:
        page.tab.wait_for_timeout(50)
    gate.touch()
    expect_words(page, "ValueError: boom.")
    ((route, reply),) = held
    with page.tab.expect_response("**/api/panels"):  # the page asks anew
        route.fulfill(response=reply)
    expect_words(page, "ValueError: boom.")


def test_a_graph_that_cannot_be_loaded_is_a_sentence_where_it_is_chosen_and_where_it_answered(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=str(write_project(tmp_path, right=AGENT, broken=AGENT))))
    send_to(page, "broken")
    page.wait_for_answer()
    page.expect_lost_server()
    (tmp_path / "broken.py").write_text("\nimport nothing_of_theirs")
    page.server.restart()
    sentence = f"The graph broken cannot be loaded. {tmp_path}/broken.py, line 2: ModuleNotFoundError"
    assert sentence in page.server.log()
    page.reload()
    page.send("other")
    expect_words(page, sentence)
    page.new_conversation()
    page.tab.get_by_test_id("model").click()
    broken = page.tab.get_by_role("option", name="broken")
    expect(broken).to_be_disabled()
    expect(broken).to_contain_text(sentence)
    broken.click(force=True)
    expect(broken).to_be_visible()
    page.tab.keyboard.press("Escape")
    page.say("hello")  # the usual graph is one of the others
    assert page.answer() == "1: hello"


UNLOADABLE = {
    "import error": "import nothing_of_theirs",
    "wrong type": "graph = {}",
    "needs a key": "import os\nos.environ['THEIR_KEY']",
}


def test_a_graph_that_cannot_be_loaded_ends_the_start_and_its_conversation_goes_on_once_it_can(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path)
    page = visit(start(graph=graph))
    server = page.server
    page.say("hello")
    page.tab.wait_for_url("**/t/*")
    page.expect_lost_server()
    server.stop()
    given = {"GRAPH": graph, "DATA_DIR": server.settings["data_dir"], "MODEL": "demo", "PORT": "0"}
    for text in UNLOADABLE.values():
        write_graph(tmp_path, text)
        ended = run_app(tmp_path, read_environment() | given)
        assert ended.returncode == 2
        assert "Waymark cannot start. The graph graph cannot be loaded. " in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stdout + ended.stderr
    del server.settings["graph"]
    server.start()  # without the graph: its conversation can be read, and the built-in agent answers others
    page.reload()
    assert texts(page) == ["hello", "1: hello"]
    page.send("more")
    expect_words(page, "The graph of this conversation, graph, is not there: start Waymark with it again (GRAPH).")
    page.new_conversation()
    page.say("What is 6 * 7?")
    assert "42" in page.answer()
    server.stop()
    server.settings["graph"] = write_graph(tmp_path)
    server.start()
    page.open()
    page.threads.filter(has_text="hello").click()
    page.expect_messages(3)
    page.say("again")
    assert page.answer() == "2: again"


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
    assert texts(page) == ['{"text":"hello"}', "hello after 0", '{"text":"more"}', "more after 2"]
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.message("more after 2")).to_have_count(0)
    page.expect_messages(2)
