"""Loading a user graph: everything that LangGraph's own server takes, and one sentence for what cannot be used."""

import asyncio
import errno
import inspect
import sys
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig

from extensions.graphs import importing
from extensions.graphs.definitions import GraphDefinition, GraphLoadError
from extensions.graphs.opening import load_user_graph

BUILDER = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph

class Count(TypedDict):
    n: int

builder = StateGraph(Count)
builder.add_node("add", lambda state: {"n": state["n"] + 1})
builder.add_edge(START, "add")
builder.add_edge("add", END)
"""
NO_ENTRY = "theirs.py, line 2: ValueError: Graph must have an entrypoint: add at least one edge from START to another node."
CONFIG: RunnableConfig = {"configurable": {"user": "Ada"}}


def define(tmp_path: Path, text: str, variable: str = "graph") -> GraphDefinition:
    path = tmp_path / "theirs.py"
    path.write_text(text)
    return GraphDefinition(variable, path, variable)


def run(definition: GraphDefinition) -> int:
    async def invoke() -> int:
        async with load_user_graph(definition).open_graph(CONFIG) as graph:
            found = await graph.ainvoke({"n": 1})
            return int(found["n"])

    return asyncio.run(invoke())


@pytest.mark.parametrize(
    "definition",
    [
        "graph = builder.compile()",
        "graph = builder",
        "def graph(): return builder.compile()",
        "def graph(config): return builder.compile() if config['configurable']['user'] == 'Ada' else None",
        "async def graph(): return builder",
        "from langgraph_sdk.runtime import ServerRuntime\n"
        "def graph(runtime: ServerRuntime): return builder.compile() if runtime.execution_runtime else None",
        "from langchain_core.runnables import RunnableConfig\nfrom langgraph_sdk.runtime import ServerRuntime\n"
        "async def graph(c: RunnableConfig, r: ServerRuntime): return builder if c['configurable'] and r.store else None",
        "from contextlib import asynccontextmanager\n@asynccontextmanager\nasync def graph(): yield builder.compile()",
        "from contextlib import asynccontextmanager\n@asynccontextmanager\nasync def graph(config): yield builder",
        "from contextlib import contextmanager\n@contextmanager\ndef graph(): yield builder",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING: from nothing_of_theirs import Config\n"
        "def graph(config: 'Config'): return builder if config['configurable'] else None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING: from langgraph_sdk.runtime import ServerRuntime\n"
        "def graph(r: 'ServerRuntime'): return builder if r.execution_runtime else None",
    ],
)
def test_a_graph_or_whatever_makes_one_is_taken(definition: str, tmp_path: Path) -> None:
    assert run(define(tmp_path, f"{BUILDER}\n{definition}\n")) == 2


def test_a_factory_is_called_for_each_run_and_its_resources_are_released_after_it(tmp_path: Path) -> None:
    text = """
from contextlib import asynccontextmanager
calls = []

@asynccontextmanager
async def graph():
    calls.append("open")
    yield builder.compile()
    calls.append("closed")
"""
    definition = define(tmp_path, BUILDER + text)
    run(definition)
    run(definition)
    calls = inspect.unwrap(load_user_graph(definition).entry).__globals__["calls"]
    assert calls == ["open", "closed", "open", "closed"]


def test_a_file_finds_its_neighbours_and_a_file_of_a_package_its_package(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_theirs.py").write_text("WORD = 1")
    assert run(define(tmp_path, f"{BUILDER}\nimport neighbour_of_theirs\ngraph = builder")) == 2
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text(BUILDER)
    (package / "graph.py").write_text("from .parts import builder\nfrom their_package.parts import Count")
    assert run(GraphDefinition("builder", package / "graph.py", "builder")) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import nothing_of_this_name", "theirs.py, line 1: ModuleNotFoundError: No module named 'nothing_of_this_name'."),
        ("x = 1\n\nx = = 2", "theirs.py, line 3: SyntaxError: invalid syntax."),
        ("def f():\n    raise KeyError('API_KEY')\n\nf()", "theirs.py, line 2: KeyError: 'API_KEY'."),
        ("import sys\nsys.exit('no')", "theirs.py, line 2: SystemExit: no."),
        ("class Skip(BaseException): pass\nraise Skip('no')", "theirs.py, line 2: Skip: no."),
        ("x = 1", "theirs.py has no variable 'graph'."),
        (f"{BUILDER}", "theirs.py has no variable 'graph'. It has builder."),
        ("\ngraph = {}", "theirs.py, line 2: graph is an object of the type dict, and not a graph of LangGraph."),
        ("\ngraph={}", "theirs.py, line 2: graph is an object of the type dict, and not a graph of LangGraph."),
        ("if True:\n  graph = {}", "theirs.py, line 2: graph is an object of the type dict, and not a graph of LangGraph."),
        (
            "from string import digits as graph",
            "theirs.py, line 1: graph is an object of the type str, and not a graph of LangGraph.",
        ),
        (
            "def __getattr__(name):\n    if name == 'graph': raise OSError(name)\n    raise AttributeError",
            "theirs.py, line 2: OSError: graph.",
        ),
        (
            "from langgraph.graph import MessagesState, StateGraph\ngraph = StateGraph(MessagesState)\n",
            NO_ENTRY,
        ),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence_with_the_file_and_the_line(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(GraphLoadError) as refused:
        load_user_graph(define(tmp_path, text))
    assert str(refused.value).endswith(sentence)
    assert str(tmp_path) in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(GraphLoadError, match=r"^There is no file .*/none\.py\.$"):
        load_user_graph(GraphDefinition("graph", tmp_path / "none.py", "graph"))


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(GraphLoadError, match=r"^/.*/none\.py cannot be read \(Permission denied\)\.$"):
        load_user_graph(GraphDefinition("graph", tmp_path / "none.py", "graph"))


def test_a_file_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    with pytest.raises(GraphLoadError, match=r"theirs\.py: (MemoryError|RecursionError)|theirs\.py, line 1: SyntaxError"):
        load_user_graph(define(tmp_path, f"x = {'-' * 100_000}1"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "def graph():\n    return {}",
            "theirs.py, line 1: graph made an object of the type dict, and not a graph of LangGraph.",
        ),
        ("async def graph():\n    pass", "theirs.py, line 1: graph made None, and not a graph of LangGraph."),
        (
            "from langgraph.graph import MessagesState, StateGraph\ndef graph():\n    return StateGraph(MessagesState)",
            NO_ENTRY,
        ),
        ("def graph():\n    return 1 / 0", "theirs.py, line 2: ZeroDivisionError: division by zero."),
        ("def graph(*, config): raise OSError", "theirs.py, line 1: OSError."),
    ],
)
def test_a_factory_that_fails_is_one_sentence_of_its_run(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(GraphLoadError) as refused:
        run(define(tmp_path, text))
    assert str(refused.value).endswith(sentence)


def test_a_module_that_has_the_name_of_one_of_waymark_is_named(tmp_path: Path) -> None:
    (tmp_path / "checkpoints.py").write_text("theirs = 1")
    with pytest.raises(GraphLoadError, match=r"Waymark itself has a module 'checkpoints', which hides yours"):
        load_user_graph(define(tmp_path, "from checkpoints import theirs"))


def test_a_file_that_failed_is_not_kept(tmp_path: Path) -> None:
    before = {name for name in sys.modules if name.startswith("waymark_user_graph_")}
    with pytest.raises(GraphLoadError):
        load_user_graph(define(tmp_path, "1 / 0"))
    assert {name for name in sys.modules if name.startswith("waymark_user_graph_")} == before


@pytest.mark.parametrize("body", ["while True:\n    pass", "import time\ntime.sleep(600)"])
def test_an_import_that_never_ends_is_one_sentence_with_its_line(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(importing, "LATE_SECONDS", 0.05)
    monkeypatch.setattr(importing, "MAX_IMPORT_SECONDS", 0.1)
    # A hook ends the endless thread after the test: it would take a processor from the others.
    text = f"import sys\nhere = sys.modules[__name__]\nhere.ended = False\n{body}\n".replace("pass", "if ended: break")
    with pytest.raises(GraphLoadError, match=r"theirs.py, line [45]: the import did not end within 0.1 seconds\. A module"):
        load_user_graph(define(tmp_path, text))
    assert [text.partition(": ")[2] for text in caplog.messages] == ["the import has not ended after 0.05 seconds."]
    for name, module in list(sys.modules.items()):
        if name.startswith("waymark_user_graph_") and getattr(module, "ended", None) is False:
            vars(module)["ended"] = True


def test_a_file_may_ask_for_the_event_loop_when_it_is_imported(tmp_path: Path) -> None:
    assert run(define(tmp_path, f"{BUILDER}\nimport asyncio\nasyncio.get_event_loop()\ngraph = builder")) == 2
