"""Langfuse as it is told over the wire: the tree of a turn, what is never sent, scores, prompts; nothing without keys."""

import asyncio
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry import trace
from pydantic import SecretStr

from agent.context.prompts import SYSTEM_PROMPT
from agent.tracing.events import Feedback, Prompt, RunBegun
from agent.tracing.run_trace import RunTrace
from app import create_app
from application.settings import Settings, SettingsError
from checkpoints import RunState
from checkpoints.values.limits import MAX_PROMPT_CHARS, MAX_TOKENS
from extensions.tracing.langfuse import MAX_ANSWER_BYTES, LangfuseTracer
from extensions.tracing.span_ids import derive_trace_id
from tests.agent.running import model_at, running
from tests.app_process import PATIENCE, ROOT
from tests.fakes.faults import Frame
from tests.fakes.langfuse import FakeLangfuse, Fault, Span
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say
from tests.fakes.tavily import FakeTavily
from tests.faults.page import PageClient
from tests.servers import Server

PUBLIC, SECRET = "pk-lf-public-0123456789", "sk-lf-secret-0123456789"
MODEL_KEY, SEARCH_KEY = "sk-model-0123456789", "tvly-search-0123456789"
LABELS = {"LANGFUSE_TRACING_ENVIRONMENT": "staging", "LANGFUSE_RELEASE": "1.2.3"}
LABELS |= {"LANGFUSE_USER": "ann", "LANGFUSE_TAGS": "demo, oslo"}
QUESTION, ANSWER = "How warm is Oslo, times two?", "Twice nine is eighteen."


@pytest.fixture
def fake() -> Iterator[FakeLangfuse]:
    with FakeLangfuse() as server:
        yield server


@pytest.fixture
def tracer(fake: FakeLangfuse) -> Iterator[LangfuseTracer]:
    opened = tracer_at(fake)
    yield opened
    opened.close()


def tracer_at(fake: FakeLangfuse) -> LangfuseTracer:
    key = SecretStr(SECRET)
    return LangfuseTracer(public_key=PUBLIC, secret_key=key, host=fake.origin, prompt_label="production", mask=False)


class Told:
    """What Langfuse and the page hold after a turn with two tools, a checkpoint, another turn, a restore and a turn."""

    def __init__(self, folder: Path, fake: FakeLangfuse, **settings: str) -> None:
        with FakeOpenAI() as model, FakeTavily() as tavily:
            search, calculation = Call("web_search", {"query": "Oslo"}), Call("calculator", {"expression": "9 * 2"})
            model.reply(Calls((search, calculation)), Say(ANSWER))
            keys = {"OPENAI_API_KEY": MODEL_KEY, "TAVILY_API_KEY": SEARCH_KEY}
            keys |= {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET}
            addresses = {"OPENAI_BASE_URL": model.base_url, "TAVILY_BASE_URL": tavily.base_url, "LANGFUSE_HOST": fake.origin}
            with Server(folder, MODEL="openai:fake-model", **keys, **addresses, **settings) as server:
                page = PageClient(server.link)
                page.say(QUESTION)
                page.save("Weather")
                page.say("Thanks")
                page.restore(page.checkpoints()[0]["id"])
                page.say("Again")
                self.thread = page.thread
                self.cookies = [*page._http.cookies.values(), str(page.page_key)]
                page.close()
                server.stop()
                self.log = server.log
        self.everything = b"\n".join(fake.received)
        self.traces = fake.traces(self.thread)


@pytest.fixture(scope="module")
def open_traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with FakeLangfuse() as fake:
        yield Told(tmp_path_factory.mktemp("open") / "data", fake, **LABELS)
        assert fake.violations == []


@pytest.fixture(scope="module")
def masked_traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with FakeLangfuse() as fake:
        yield Told(tmp_path_factory.mktemp("masked") / "data", fake, LANGFUSE_MASK="on")


@pytest.mark.slow
def test_a_turn_with_two_tools_and_a_restore_is_a_tree_in_the_threads_session(open_traces: Told) -> None:
    run, save, thanks, restore, again = open_traces.traces
    assert run.tree().splitlines()[:2] == ["agent run", "  generation answer"]
    assert sorted(run.tree().splitlines()[2:4]) == ["  tool calculator", "  tool web_search"]
    assert run.tree().splitlines()[4:] == ["  generation answer"]
    assert (save.tree(), save["input"], save["metadata.actor"]) == ("event save", "Weather", "user")
    assert (restore.tree(), restore["input"], restore["metadata.messages"]) == ("event restore", "Weather", "2")
    assert thanks["metadata.rewound_from"] is None
    assert again["metadata.checkpoint"] == "Weather"
    assert again["metadata.rewound_from"]
    assert {span["session.id"] for trace in open_traces.traces for span in (trace, *trace.children)} == {open_traces.thread}


@pytest.mark.slow
def test_the_settings_label_every_span(open_traces: Told, masked_traces: Told) -> None:
    spans = [span for trace in open_traces.traces for span in (trace, *trace.children)]
    names = ("environment", "release", "user.id", "tags")
    assert {str([span[name] for name in names]) for span in spans} == {"['staging', '1.2.3', 'ann', ['demo', 'oslo']]"}
    assert {trace["environment"] for trace in masked_traces.traces} == {None}


@pytest.mark.slow
def test_each_step_has_its_input_output_and_times(open_traces: Told) -> None:
    run = open_traces.traces[0]
    assert (run["input"], run["output"], run["metadata.state"]) == (QUESTION, ANSWER, "done")
    assert run["metadata.branch"] == "main"
    asked, *tools, answered = run.children
    assert "web_search" in str(asked["output"])
    calculator = next(tool for tool in tools if tool.name == "calculator")
    assert (json.loads(str(calculator["input"])), calculator["output"]) == ({"expression": "9 * 2"}, "18")
    assert answered["model.name"] == "fake-model"
    assert answered["metadata.finish_reason"] == "stop"
    assert json.loads(str(answered["usage_details"]))["total"] > 0
    assert answered["completion_start_time"]
    assert all(run.began <= step.began <= step.ended <= run.ended for step in run.children)


@pytest.mark.slow
def test_no_key_and_no_cookie_is_ever_sent(open_traces: Told, masked_traces: Told) -> None:
    for told in (open_traces, masked_traces):
        assert told.cookies
        for secret in (SECRET, MODEL_KEY, SEARCH_KEY, *told.cookies):
            assert secret.encode() not in told.everything
            assert secret not in told.log
        assert PUBLIC not in told.log


@pytest.mark.slow
def test_with_the_mask_only_sizes_are_sent(open_traces: Told, masked_traces: Told) -> None:
    written = (QUESTION, ANSWER, "Oslo", "9 * 2", "Thanks", "Weather", "first page says", SYSTEM_PROMPT[:30])
    assert [text for text in written if text.encode() in masked_traces.everything] == []
    assert QUESTION.encode() in open_traces.everything  # so the search above can find something
    run = masked_traces.traces[0]
    assert run["input"] == f"({len(QUESTION)} characters)"
    assert [trace.tree() for trace in masked_traces.traces][1:] == [trace.tree() for trace in open_traces.traces][1:]
    assert str(run.children[-1]["input"]).endswith(" characters)")


def test_a_thumb_is_a_score_on_the_trace_of_its_run_and_can_be_turned_and_taken_back(
    fake: FakeLangfuse, tracer: LangfuseTracer
) -> None:
    tracer.record(Feedback("run", "message", True))
    fake.wait_for(lambda: len(fake.scores) == 1)
    score = next(iter(fake.scores.values()))
    assert (score["traceId"], score["name"], score["value"]) == (derive_trace_id("run"), "user-feedback", 1)
    assert score["metadata"] == {"message": "message"}
    tracer.record(Feedback("run", "message", False))
    fake.wait_for(lambda: [each["value"] for each in fake.scores.values()] == [0])
    tracer.record(Feedback("run", "message", None))
    fake.wait_for(lambda: not fake.scores)


def test_the_link_leads_to_the_trace_of_the_run(fake: FakeLangfuse, tracer: LangfuseTracer) -> None:
    fake.wait_for(lambda: bool(tracer.link_run("run")))
    assert tracer.link_run("run") == f"{fake.origin}/project/project-1/traces/{derive_trace_id('run')}"


def test_the_prompt_with_the_label_takes_the_place_of_the_built_in_text(fake: FakeLangfuse) -> None:
    fake.prompts[("system", "production")] = ("Answer like a pirate.", 7)
    fake.prompts[("system", "latest")] = ("Not this one.", 8)
    tracer = tracer_at(fake)
    fake.wait_for(lambda: tracer.find_prompt("system", "built in").version == 7)

    async def story(model: FakeOpenAI) -> None:
        async with model_at(model) as client, running(client, tracer=tracer) as chat:
            await chat.say("hello")

    with FakeOpenAI() as model:
        asyncio.run(story(model))
        assert model.requests[0]["messages"][0]["content"] == "Answer like a pirate."
    tracer.close()
    answer: Span = fake.traces()[0].children[0]
    assert (answer["prompt.name"], answer["prompt.version"]) == ("system", 7)


def test_without_a_prompt_there_the_built_in_text_counts(fake: FakeLangfuse, tracer: LangfuseTracer) -> None:
    fake.wait_for(lambda: any(b"/prompts/system" in each for each in fake.received))
    tracer.close()  # after what it was asked for
    assert tracer.find_prompt("system", "built in").text == "built in"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_prompt_that_says_nothing_is_none(fake: FakeLangfuse, text: str) -> None:
    fake.prompts[("system", "production")] = (text, 1)
    tracer = tracer_at(fake)
    tracer.close()
    assert tracer.find_prompt("system", "built in").text == "built in"


def test_half_a_surrogate_in_a_prompt_cannot_fail_a_turn(fake: FakeLangfuse) -> None:
    fake.prompts[("system", "production")] = ("\ud800 is half of a pair.", 1)
    tracer = tracer_at(fake)
    tracer.close()
    assert tracer.find_prompt("system", "").text == "\ufffd is half of a pair."


def test_a_prompt_at_its_limits_is_used_whole(fake: FakeLangfuse) -> None:
    for version, stored in ((MAX_TOKENS, MAX_TOKENS), (MAX_TOKENS + 1, None)):
        fake.prompts[("system", "production")] = ("\u2028" * (MAX_PROMPT_CHARS - 1) + "x", version)
        tracer = tracer_at(fake)
        tracer.close()
        found = tracer.find_prompt("system", "built in")
        assert (len(found.text), found.version) == (MAX_PROMPT_CHARS, stored)


PROMPT = {"type": "text", "name": "system", "prompt": "x", "version": 1, "config": {}, "labels": [], "tags": []}
LONG_ANSWER = json.dumps({**PROMPT, "config": "y" * MAX_ANSWER_BYTES}).encode()


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (LONG_ANSWER, {}),
        (gzip.compress(LONG_ANSWER), {"content-encoding": "gzip"}),
        (json.dumps({**PROMPT, "prompt": "x" * (MAX_PROMPT_CHARS + 1)}).encode(), {}),
        (b'{"prompt": ' + b"[" * 100_000, {}),
        (b"\xff\xfe", {}),
    ],
    ids=["long", "compressed", "a long text", "deep", "no UTF-8"],
)
def test_an_answer_that_is_no_usual_prompt_is_not_used_and_a_long_one_not_parsed(
    fake: FakeLangfuse, monkeypatch: pytest.MonkeyPatch, body: bytes, headers: dict[str, str]
) -> None:
    fake.prompts[("system", "production")] = ("", 1)
    perform, parse, sizes = fake._performance, httpx.Response.json, [0]
    monkeypatch.setattr(
        fake, "_performance", lambda _, status, given, fault: perform([Frame(body)], status, given | headers, fault)
    )

    def note_size(response: httpx.Response) -> object:
        sizes.append(len(response.content))
        return parse(response)

    monkeypatch.setattr(httpx.Response, "json", note_size)
    tracer = tracer_at(fake)
    fake.wait_for(lambda: any(b"/prompts/system" in each for each in fake.received))
    tracer.close()
    assert tracer.find_prompt("system", "built in").text == "built in"
    assert max(sizes) <= MAX_ANSWER_BYTES


def test_a_text_that_was_cut_in_mid_character_loses_no_trace(fake: FakeLangfuse) -> None:
    tracer = tracer_at(fake)
    trace = RunTrace(tracer, "run", Prompt("system", ""), RunBegun("run", "thread", time.time_ns(), "go", None))
    trace.record_start()
    trace.on_request("some-model", [])
    trace.on_token("half: \ud83d")
    trace.on_end(RunState.STOPPED, None)
    tracer.close()
    run = fake.traces()[0]
    assert run.trace == derive_trace_id("run")
    assert (run["output"], run["metadata.state"], run["level"]) == ("half: \ufffd", "stopped", "WARNING")


def test_moves_of_the_agent_and_forks_are_events_that_say_from_where_to_where(fake: FakeLangfuse) -> None:
    async def story(model: FakeOpenAI) -> None:
        model.reply(Say("Hi."), Call("goto", {"position": "msg_0", "message": "Once more."}), Say("Fine."))
        model.reply(Call("rewind", {"n": 1, "content": "Better."}), Call("fork", {"prompts": ["one", "two"]}))
        async with model_at(model) as client, running(client, tracer=tracer, time_travel="allow") as chat:
            for _ in range(4):
                await chat.say("hello")
            tracer.record(chat.store.fork(chat.thread_id, chat.path()[0].id, name="Elsewhere").operation)

    tracer = tracer_at(fake)
    with FakeOpenAI() as model:
        asyncio.run(story(model))
    tracer.close()
    _, went, rewound, *others = fake.traces()
    agents, fork = (trace for trace in others if trace.name == "fork")
    assert went.tree().splitlines() == ["agent run", "  generation answer", "  event goto", "  generation answer"]
    goto, rewind = (next(span for span in run.children if span.name in ("goto", "rewind")) for run in (went, rewound))
    names = ("metadata.from", "metadata.to", "metadata.removed")
    assert ([goto[name] for name in names], goto["input"]) == (["3", "0", "3"], "Once more.")
    assert ([rewind[name] for name in names], rewind["input"]) == (["4", "2", "3"], "Better.")
    assert int(str(rewind["metadata.tokens_saved"])) > 0
    assert (agents.tree(), agents["metadata.actor"]) == ("event fork", "agent")
    assert json.loads(str(agents["input"])) == {"subject": "branches", "branches": 2}
    assert (fork.tree(), fork["input"], fork["metadata.to"]) == ("event fork", "Elsewhere", fork["metadata.result"])


def test_no_tracer_of_the_process_is_touched(tracer: LangfuseTracer) -> None:
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    assert not trace.get_current_span().get_span_context().is_valid


def test_one_run_after_the_other_with_new_tracers_and_the_same_keys(fake: FakeLangfuse) -> None:
    async def story(model: FakeOpenAI, tracer: LangfuseTracer) -> RunState:
        async with model_at(model) as client, running(client, tracer=tracer) as chat:
            return (await chat.say("hello")).state

    for number in (1, 2):
        with FakeOpenAI() as model:
            tracer = tracer_at(fake)
            assert asyncio.run(story(model, tracer)) is RunState.DONE
            tracer.close()
        assert len(fake.traces()) == number


@pytest.mark.slow
def test_without_keys_nothing_of_it_is_imported(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from app import create_app; from application.settings import Settings;"
        f"create_app(Settings(data_dir=Path({str(tmp_path / 'data')!r}), model='demo'), port=8050);"
        "print([name for name in sys.modules if name.startswith(('langfuse', 'opentelemetry.exporter'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout.strip() == "[]"


def test_one_key_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="LANGFUSE_SECRET_KEY must both be set"):
        create_app(Settings(data_dir=tmp_path / "data", model="demo", langfuse_public_key=SecretStr(PUBLIC)), port=8050)


def test_telling_does_not_wait_for_the_server(fake: FakeLangfuse) -> None:
    fake.trouble = Fault("hang")
    tracer = tracer_at(fake)
    began = time.monotonic()
    for number in range(1_000):
        tracer.record(Feedback("run", str(number), True))
        tracer.find_prompt("system", "")
        tracer.link_run("run")
    assert time.monotonic() - began < 60  # a thousand waits would be many times that
    tracer.close()
