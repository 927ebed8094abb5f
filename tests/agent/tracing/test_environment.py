"""With every variable that makes a library trace, log or redirect set, a conversation goes where the settings say alone."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from langchain_core.runnables import RunnableLambda

from agent.tracing.environment import PREFIXES, switch_off_library_tracing
from tests.agent.test_terminal_demo import compaction
from tests.app_process import PATIENCE, ROOT
from tests.contacts import CONTACTS_KEY, read_contacts
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.langfuse import FakeLangfuse
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say
from tests.fakes.recording_site import RecordingSite
from tests.fakes.tavily import FakeTavily
from tests.faults.page import PageClient
from tests.servers import Server

pytestmark = pytest.mark.slow

ON = (
    "LANGSMITH_TRACING",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING",
    "LANGCHAIN_TRACING_V2",
    "LANGCHAIN_CALLBACKS_BACKGROUND",
    "LANGSMITH_OTEL_ENABLED",
    "FASTAPI_OTEL_AUTO_CONFIGURE",
    "LANGFUSE_TRACING_ENABLED",
    "LANGFUSE_DEBUG",
    "PYDANTIC_SETTINGS_DEBUG",
    "DASH_DEBUG",
    "DASH_MCP_ENABLED",
)
ADDRESSES = (
    "LANGSMITH_ENDPOINT",
    "LANGCHAIN_ENDPOINT",
    "LANGCHAIN_HANDLER",
    "LANGSMITH_GATEWAY",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    "LANGFUSE_HOST",
    "LANGFUSE_BASE_URL",
    "OPENAI_API_BASE",
    "OPENAI_PROXY",
    "TAVILY_BASE_URL",
    "TAVILY_HTTP_PROXY",
    "TAVILY_HTTPS_PROXY",
    "DASH_PROXY",
    "DASH_ASSETS_EXTERNAL_PATH",
    "ANTHROPIC_PROXY",
    "ANTHROPIC_API_URL",
    "ANTHROPIC_BASE_URL",
)
# A library that calls its maker, wherever that is, comes through the listener as well.
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
KEYS = ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "LANGSMITH_GATEWAY_API_KEY")
LOGS = ("OPENAI_LOG", "ANTHROPIC_LOG")
LIBRARIES = (
    *("langfuse", "openai", "anthropic", "tavily", "plotly", "mcp"),
    *("langgraph", "langchain_openai", "langchain_anthropic"),
)
# Names by which they may trace, log or redirect, in quotes, as a library reads them.
READ = re.compile(
    r"""["']((?:LANGFUSE|OPENAI|ANTHROPIC|TAVILY|PLOTLY|MCP|LANGGRAPH)_"""
    r"""[A-Z_]*(?:LOG|DEBUG|TRAC|TELEMETRY|URL|HOST|PROXY)[A-Z_]*)["']"""
)
CLOUDS = ("AWS", "BEDROCK", "BEDROCK_MANTLE", "FOUNDRY", "GOOGLE_CLOUD", "VERTEX")
HARMLESS = {
    "OPENAI_BASE_URL": "a setting",
    "LANGFUSE_TRACING_ENVIRONMENT": "a setting",
    "LANGFUSE_OTEL_TRACES_EXPORT_PATH": "a path of Langfuse's own tracer, which is not used",
    "ANTHROPIC_OPEN_TELEMETRY": "it can only switch off",
    **{f"ANTHROPIC_{cloud}_BASE_URL": "another class of the package, which is not used" for cloud in CLOUDS},
}
GRAPH = """
import os
from dotenv import load_dotenv

load_dotenv({variables!r})
assert os.environ["LANGSMITH_TRACING"] == "true"

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langsmith import traceable

@traceable
def shout(text):
    return text.upper()

@tool
def multiply(first: int, second: int) -> int:
    "Multiply."
    return first * second

async def answer(state):
    text = shout(state["messages"][-1].content)
    product = await multiply.ainvoke({{"first": 17, "second": 23}})
    model = GenericFakeChatModel(messages=iter([AIMessage(f"{{text}}: {{product}}")]))
    return {{"messages": [await model.ainvoke(state["messages"])]}}

builder = StateGraph(MessagesState)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)
graph = builder.compile()
"""


@pytest.fixture
def listener() -> Iterator[RecordingSite]:
    with closing(RecordingSite()) as listening:
        yield listening


@pytest.fixture
def environment(listener: RecordingSite) -> dict[str, str]:
    """The variables that point every library at the listener."""
    variables = dict.fromkeys(ON, "true") | dict.fromkeys(ADDRESSES, listener.address) | dict.fromkeys(KEYS, "key")
    proxies = dict.fromkeys(PROXIES, listener.address) | {"NO_PROXY": "127.0.0.1"}
    others = {"OTEL_TRACES_EXPORTER": "otlp", "PLOTLY_RENDERER": "browser"}
    return variables | proxies | dict.fromkeys(LOGS, "debug") | others


def test_a_turn_of_the_demo_with_a_tool_an_agent_and_the_judge_reaches_nobody(
    tmp_path: Path, listener: RecordingSite, environment: dict[str, str]
) -> None:
    given = environment | {"JUDGE": "on", "DEMO_SECONDS_PER_TOKEN": "0"}
    with Server(tmp_path / "data", **given) as server, closing(PageClient(server.link)) as page:
        page.say("What is 17 * 23?")
        shown = page.say("ask the critic about my secret plan")
        assert shown["messages"][1]["tools"][0]["result"] == "391"
        assert any(tool["work"] for message in shown["messages"] for tool in message["tools"])
        page.until(lambda: any(each["created_by"] == "judge" for each in page.checkpoints()))
        server.stop()  # with what a library would still send at the end
        assert (listener.request_lines, "secret plan" in server.log) == ([], False)


def test_a_turn_with_a_provider_reaches_that_provider_alone(
    tmp_path: Path, listener: RecordingSite, environment: dict[str, str]
) -> None:
    asking = (
        Call("calculator", {"expression": "17*23"}, id="1"),
        Call("ask_agent", {"agent": "critic", "question": "Is it?"}, id="2"),
    )
    with FakeOpenAI() as fake:
        fake.reply(Calls(asking), Say("It is."), Say("391."))
        given = {"MODEL": "openai:some", "OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": fake.base_url, "JUDGE": "on"}
        with Server(tmp_path / "data", **environment | given) as server, closing(PageClient(server.link)) as page:
            assert page.say("Is my secret plan 17 * 23?")["messages"][-1]["text"] == "391."
            fake.wait_for(lambda: len(fake.requests) == 4)  # the last one is the judge's
            server.stop()
            assert (listener.request_lines, "secret plan" in server.log) == ([], False)


def test_a_turn_with_the_package_of_another_provider_reaches_that_provider_alone(
    tmp_path: Path, listener: RecordingSite, environment: dict[str, str]
) -> None:
    pytest.importorskip("langchain_anthropic", reason="requirements-dev.txt installs it")
    with FakeAnthropic() as fake:
        fake.reply(Say("391."))
        del environment["ANTHROPIC_PROXY"], environment["ANTHROPIC_API_URL"]  # documented: that package reads them
        given = {"MODEL": "anthropic:some", "ANTHROPIC_API_KEY": "sk-none", "ANTHROPIC_BASE_URL": fake.origin}
        with Server(tmp_path / "data", **environment | given) as server, closing(PageClient(server.link)) as page:
            assert page.say("Is my secret plan 17 * 23?")["messages"][-1]["text"] == "391."
            server.stop()
            assert (listener.request_lines, "secret plan" in server.log) == ([], False)


@contextmanager
def tools_at_an_address() -> Iterator[str]:
    """A program that offers its tools at an address, as `waymark.toml` names it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    program = subprocess.Popen([sys.executable, "-m", "tests.fakes.mcp", str(port)], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        while True:
            with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port))):
                break
            assert program.poll() is None
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        program.terminate()
        program.wait()


def test_a_server_with_everything_on_contacts_what_the_operator_named_and_nothing_else(
    tmp_path: Path, listener: RecordingSite, environment: dict[str, str]
) -> None:
    """The table “Data flow” in docs/operations.md, as the process itself reports it, whatever a library would contact."""
    contacts, folder = tmp_path / "contacts", tmp_path / "data"
    folder.mkdir(mode=0o700)
    for name in ("TAVILY_HTTP_PROXY", "TAVILY_HTTPS_PROXY"):  # documented: Tavily's client reads them
        del environment[name]
    asking = Call("web_search", {"query": "Oslo"}, id="1"), Call("far__add", {"a": 1, "b": 2}, id="2")
    with FakeOpenAI() as model, FakeTavily() as search, FakeLangfuse() as langfuse, tools_at_an_address() as tools:
        (folder / "waymark.toml").write_text(f'[mcp.far]\nurl = "http://{tools}/mcp"\napproval = false\n')
        given = {"MODEL": "openai:some", "OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": model.base_url}
        given |= {"TAVILY_API_KEY": "tvly-none", "TAVILY_BASE_URL": search.base_url, "LANGFUSE_HOST": langfuse.origin}
        given |= {"LANGFUSE_PUBLIC_KEY": "pk-lf-none", "LANGFUSE_SECRET_KEY": "sk-lf-none", CONTACTS_KEY: str(contacts)}
        with Server(folder, **environment | given) as server, closing(PageClient(server.link)) as page:
            page.until(lambda: page.say("Hello") and "far__add" in str(model.requests[-1]["tools"]), PATIENCE)
            model.reply(Calls(asking), Say("Cold, and 3."))
            shown = page.say("How warm is it in Oslo, and what is 1 + 2?")["messages"]
            results = [tool["result"] for message in shown for tool in message["tools"]]
            assert "3" in results[1]
            assert "Oslo" in results[0]
            exported = page.get(f"/api/threads/{page.thread}/export").content
            page.import_file(exported)
            server.stop()
        named = {urlsplit(each).netloc for each in (model.base_url, search.base_url, langfuse.origin)} | {tools}
        assert langfuse.spans
    assert listener.request_lines == []
    assert read_contacts(contacts) - {"127.0.0.1"} == named  # an address that is looked up as a name


def test_the_demonstration_in_the_terminal_reaches_nobody(
    tmp_path: Path, listener: RecordingSite, environment: dict[str, str]
) -> None:
    code, _ = compaction(tmp_path, **environment)
    assert (code, listener.request_lines) == (0, [])


def test_a_turn_of_an_authors_graph_reaches_nobody(
    tmp_path: Path, listener: RecordingSite, environment: dict[str, str]
) -> None:
    """Also where the graph's file reads the variables once more, as many projects do."""
    graph, variables = tmp_path / "theirs.py", tmp_path / ".env"
    variables.write_text("".join(f"{name}={value}\n" for name, value in environment.items()))
    graph.write_text(GRAPH.format(variables=str(variables)))
    with Server(tmp_path / "data", GRAPH=f"{graph}:graph", **environment) as server:
        with closing(PageClient(server.link)) as page:
            assert page.say("my secret plan")["messages"][-1]["text"] == "MY SECRET PLAN: 391"
        server.stop()
        assert (listener.request_lines, "secret plan" in server.log.lower()) == ([], False)


def test_what_a_library_has_read_before_is_off_as_well(
    monkeypatch: pytest.MonkeyPatch, listener: RecordingSite, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    switch_off_library_tracing()
    monkeypatch.setenv("LANGSMITH_TRACING", "true")  # as if it had been read, and remembered, at an import
    monkeypatch.setenv("LANGSMITH_ENDPOINT", environment["LANGSMITH_ENDPOINT"])
    assert asyncio.run(RunnableLambda(lambda given: given).ainvoke("my secret plan")) == "my secret plan"
    asyncio.run(asyncio.to_thread(RunnableLambda(lambda given: given).invoke, "my secret plan"))
    assert listener.request_lines == []


def test_every_variable_that_a_library_may_trace_log_or_redirect_by_is_set_here(environment: dict[str, str]) -> None:
    found = set[str]()
    for library in filter(find_spec, LIBRARIES):
        for folder in find_spec(library).submodule_search_locations:  # type: ignore[union-attr]
            for file in Path(folder).rglob("*.py"):
                found.update(READ.findall(file.read_text(errors="replace")))
    assert "LANGFUSE_DEBUG" in found
    assert [name for name in sorted(found) if not (name.startswith(PREFIXES) or name in {**environment, **HARMLESS})] == []


def test_the_network_stays_as_the_machine_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    network = {"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "127.0.0.1", "SSL_CERT_FILE": "/etc/ssl/cert.pem"}
    given = network | {"LANGSMITH_TRACING": "true", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    environment = dict(given)
    switch_off_library_tracing(environment)
    assert set(given) - set(environment) == {"LANGSMITH_TRACING"}
