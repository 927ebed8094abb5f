"""What Langfuse's handler adds to a trace: graphs of authors, follow-ups, calls that end early, and no bytes of files."""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import SecretStr

from checkpoints import Run
from extensions.tracing.langfuse import LangfuseTracer
from extensions.tracing.langfuse_handler import mask_data
from extensions.tracing.span_ids import derive_trace_id
from tests.agent.running import Running, model_at, running
from tests.extensions.graphs.running_graphs import hosting, one_node
from tests.fakes.langfuse import FakeLangfuse, Span
from tests.fakes.openai import FakeOpenAI, Fault, Say

WORDS = "a secret reason"
ANSWERING = one_node("""
from langchain_core.language_models import FakeListChatModel

model = FakeListChatModel(responses=["Nine degrees."])


async def node(state):
    return {"messages": [await model.ainvoke(state["messages"])]}
""")
FAILING = one_node(f"""
async def node(state):
    raise ValueError({WORDS!r})
""")
ASKING = one_node("""
async def node(state):
    return {"messages": [AIMessage(str(interrupt("Which seat?")))]}
""")


@pytest.fixture
def fake() -> Iterator[FakeLangfuse]:
    with FakeLangfuse() as server:
        yield server
        assert server.violations == []


def tracer_at(fake: FakeLangfuse, *, mask: bool = False) -> LangfuseTracer:
    return LangfuseTracer(
        public_key="pk", secret_key=SecretStr("sk"), host=fake.origin, prompt_label="production", mask=mask
    )


def answer_by(fake: FakeLangfuse, tmp_path: Path, text: str, *, mask: bool = False) -> tuple[Run, Span]:
    """Let the graph of an author answer. Return the run, and its trace."""

    async def whole() -> Run:
        async with hosting(tmp_path, text, tracer=tracer) as chat:
            return await chat.say("How warm is Oslo?")

    tracer = tracer_at(fake, mask=mask)
    run = asyncio.run(whole())
    tracer.close()
    [trace] = fake.traces()
    assert trace.trace == derive_trace_id(run.id)
    return run, trace


def below(span: Span) -> list[Span]:
    return [each for child in span.children for each in (child, *below(child))]


def test_the_steps_of_an_authors_graph_are_in_the_trace_of_its_run(fake: FakeLangfuse, tmp_path: Path) -> None:
    _, trace = answer_by(fake, tmp_path, ANSWERING)
    assert trace.tree().splitlines()[:3] == ["agent run", "  chain LangGraph", "    chain node"]
    [generation] = [span for span in below(trace) if span["type"] == "generation"]
    assert json.loads(str(generation["output"]))["content"] == "Nine degrees."
    assert {span["session.id"] for span in (trace, *below(trace))} == {trace["session.id"]}


def test_a_node_that_fails_is_an_error_without_its_words(fake: FakeLangfuse, tmp_path: Path) -> None:
    _, trace = answer_by(fake, tmp_path, FAILING)
    assert [(span["level"], span["status_message"]) for span in below(trace)] == [("ERROR", "ValueError")] * 2
    assert not any(WORDS in str(span.attributes) for span in below(trace))


def test_a_question_of_a_graph_is_no_error(fake: FakeLangfuse, tmp_path: Path) -> None:
    _, trace = answer_by(fake, tmp_path, ASKING)
    assert below(trace)
    assert "ERROR" not in {span["level"] for span in (trace, *below(trace))}


def test_with_the_mask_the_steps_of_a_graph_hold_no_text(fake: FakeLangfuse, tmp_path: Path) -> None:
    _, trace = answer_by(fake, tmp_path, ANSWERING, mask=True)
    assert below(trace)
    sent = b"".join(fake.received)
    assert [word for word in (b"Oslo", b"Nine") if word in sent] == []


def tell(
    fake: FakeLangfuse, model: FakeOpenAI, ends: Callable[[Running], bool] = lambda chat: True, **options: float
) -> None:
    async def whole() -> None:
        async with model_at(model) as client, running(client, tracer=tracer, **options) as chat:
            await chat.say("Go")
            await chat.until(lambda: ends(chat))

    tracer = tracer_at(fake)
    with model:
        asyncio.run(whole())
    tracer.close()


def test_the_title_of_a_conversation_is_a_trace_of_its_own_in_its_session(fake: FakeLangfuse) -> None:
    model = FakeOpenAI()
    model.reply(Say("Fine."), Say("Greetings"))
    tell(fake, model, lambda chat: chat.store.get_thread(chat.thread_id).title == "Greetings", titles=60)
    run, title = fake.traces()
    assert (title.tree(), title["name"], title["session.id"]) == ("generation title", "title", run["session.id"])
    assert title.trace == derive_trace_id(f"title:{run['waymark.run.id']}")


def test_an_answer_that_is_cut_is_an_error_and_the_run_has_what_came_of_it(fake: FakeLangfuse) -> None:
    model = FakeOpenAI()
    model.reply(Fault("reset", Say("one two three"), after_tokens=2))
    tell(fake, model)
    [run] = fake.traces()
    assert (run["output"], run["level"]) == ("one two ", "ERROR")
    assert [(span.name, span["level"]) for span in run.children] == [("answer", "ERROR")]


def test_the_bytes_of_files_and_half_a_character_are_not_sent() -> None:
    block = {"type": "image", "base64": base64.b64encode(bytes(1_000)).decode()}
    masked = mask_data(data={"messages": [HumanMessage([block, {"type": "text", "text": "half: \ud83d"}]), AIMessage("Hi")]})
    shown, answer = masked["messages"]
    assert shown["content"] == [
        {"type": "image", "base64": "(1,336 characters)"},
        {"type": "text", "text": "half: \ufffd"},
    ]
    assert answer == {"role": "ai", "content": "Hi"}
