"""A model that refuses, breaks off or hangs, behind the real server: a sentence, the text, Retry, and never the key."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai import Call, FakeOpenAI, Fault, Say
from tests.fakes.server import silent_port
from tests.faults.page import JSON, PageClient
from tests.servers import Server

pytestmark = pytest.mark.slow

KEY = "sk-canary-7f3a9c1e5b8d2046"
SHOWN_BY_PROVIDERS = (KEY[:8], KEY[-4:])  # the parts of a refused key that OpenAI repeats in its error
IDLE_SECONDS = 2.0


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("errors") / "data"


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, folder: Path) -> Iterator[Server]:
    model = {"MODEL": "openai:fake-model", "OPENAI_BASE_URL": fake.base_url, "OPENAI_API_KEY": KEY}
    with Server(folder, MODEL_IDLE_SECONDS=f"{IDLE_SECONDS:g}", **model) as server:
        yield server


@pytest.fixture(scope="module")
def page(server: Server) -> Iterator[PageClient]:
    page = PageClient(server.link)
    yield page
    page.close()


@pytest.fixture(autouse=True)
def key_stays_where_it_is(page: PageClient, server: Server, folder: Path) -> Iterator[None]:
    """Whatever happened: not in what the page is given, the download, the log, or any file."""
    yield
    places = {"page": str(page.look()), "page itself": page.get("/").text, "log": server.log}
    places["export"] = page.get(f"/api/threads/{page.thread}/export").text
    places |= {path.name: path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()}
    assert [name for name, text in places.items() if KEY in text or SHOWN_BY_PROVIDERS[0] in text] == []


def failing(page: PageClient, fake: FakeOpenAI, *replies: Any) -> JSON:
    """A new conversation whose first answer fails; the transcript's data."""
    page.thread = None
    fake.script(*replies)
    shown = page.say("hello")
    assert shown["run"]["state"] == "failed"
    return shown


def recovers(page: PageClient, fake: FakeOpenAI) -> None:
    """Retry answers the question, and the next message works."""
    fake.script(Say("Here again."), Say("And still."))
    page.act("transcript", "retry")
    assert page.rest()["run"] is None
    assert page.texts() == ["hello", "Here again."]
    page.say("and now?")
    assert page.texts() == ["hello", "Here again.", "and now?", "And still."]
    assert fake.violations == []


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault("status", status=401), "enter it under “Connect a model”, or correct it in .env"),
        (Fault("status", status=429, retry_after="0"), "too many requests"),
        (Fault("status", status=429, retry_after="30"), "too many requests"),
        (Fault("status", status=500, message=f"crashed with {KEY}"), "has a problem on its side"),
        (Fault("status", status=404), "does not know this model"),
        (Fault("error_event", after_bytes=0), "has a problem on its side"),
    ],
)
def test_a_refusal_is_one_clear_sentence_and_retry_works(
    page: PageClient, fake: FakeOpenAI, fault: Fault, sentence: str
) -> None:
    shown = failing(page, fake, *[fault] * 3)
    assert sentence in shown["run"]["error"]
    assert [message["text"] for message in shown["messages"]] == ["hello"]
    recovers(page, fake)


# A reset may take with it all that had arrived; then nothing was heard, and the question is asked again.
REPEATED = {"cut": 1, "reset": 3, "end": 1, "hang": 1}


@pytest.mark.parametrize("kind", ["cut", "reset", "end"])
def test_an_answer_cut_in_the_middle_keeps_its_text(page: PageClient, fake: FakeOpenAI, kind: Any) -> None:
    shown = failing(page, fake, *[Fault(kind, Say("one two three four"), after_tokens=2)] * REPEATED[kind])
    assert "broke off" in shown["run"]["error"] or "was cut before" in shown["run"]["error"]
    kept = [(message["text"], message["state"]) for message in shown["messages"]]
    if kind == "reset":  # it may take with it what had arrived and was not read yet
        assert kept[0] == ("hello", "done")
    else:
        assert kept == [("hello", "done"), ("one two ", "partial")]
    recovers(page, fake)


@pytest.mark.parametrize("kind", ["cut", "reset", "end", "hang"])
def test_no_tool_runs_from_arguments_that_were_cut(page: PageClient, fake: FakeOpenAI, kind: Any) -> None:
    call = Call("calculator", {"expression": "1+1"}, text="Let me see. ", tokens=('{"expression": "1+1', '"}'))
    shown = failing(page, fake, *[Fault(kind, call, after_tokens=4)] * REPEATED[kind])
    assert [tool for message in shown["messages"] for tool in message["tools"]] == []
    if kind != "reset":
        assert [message["text"] for message in shown["messages"]] == ["hello", "Let me see. "]
    recovers(page, fake)


def test_arguments_that_are_not_json_run_nothing_and_the_model_is_told(page: PageClient, fake: FakeOpenAI) -> None:
    page.thread = None
    fake.script(Call("calculator", '{"expression": "1+'), Say("I could not."))
    shown = page.say("hello")
    tools = [tool for message in shown["messages"] for tool in message["tools"]]
    assert [(tool["status"], "not a JSON object" in tool["result"]) for tool in tools] == [("error", True)]
    assert (shown["run"], shown["messages"][-1]["text"]) == (None, "I could not.")
    assert fake.violations == []


@pytest.mark.parametrize("tokens", [None, 2])
def test_a_model_that_hangs_is_given_up_within_the_configured_time(
    page: PageClient, fake: FakeOpenAI, tokens: int | None
) -> None:
    shown = failing(page, fake, Fault("hang", Say("one two three"), after_tokens=tokens))
    assert "did not answer in time" in shown["run"]["error"]
    assert [message["text"] for message in shown["messages"]][1:] == (["one two "] if tokens else [])
    recovers(page, fake)


def test_a_model_that_hangs_can_be_stopped_at_once(page: PageClient, fake: FakeOpenAI) -> None:
    page.thread = None
    fake.script(Fault("hang"))
    page.look()
    page.send("hello")
    page.look()
    page.stop()
    assert page.look()["run"]["state"] == "stopped"
    recovers(page, fake)


def test_a_server_that_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    with ExitStack() as stack:
        port = stack.enter_context(silent_port())
        model = {"MODEL": "openai:fake-model", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": KEY}
        server = stack.enter_context(Server(tmp_path / "data", **model))
        page = PageClient(server.link)
        shown = page.say("hello")
        assert "Nothing answers at the model provider's address" in shown["run"]["error"]
        page.close()
        assert KEY not in server.log
