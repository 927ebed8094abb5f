"""What a run of a graph has beside its state: a context of the settings, and LangGraph's `Store`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import SearchItem

from checkpoints import RunState
from extensions.graphs.definitions import GraphDefinition, GraphLoadError
from extensions.graphs.surroundings import make_store
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import hosting

HEAD = """
from dataclasses import dataclass
from typing import TypedDict

from langchain_core.messages import AIMessage
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel
"""
GREETING = """
def answer(state, runtime: Runtime[Context]):
    context = runtime.context
    found = context if isinstance(context, dict) else vars(context)
    return {"messages": [AIMessage(f"{found['name']} {found.get('tone', 'calm')}")]}

graph = StateGraph(MessagesState, context_schema=Context).add_node("answer", answer).add_edge(START, "answer").compile()
"""
SCHEMAS = {
    "a dataclass": '@dataclass\nclass Context:\n    name: str = "Ada"\n    tone: str = "kind"\n',
    "a Pydantic model": 'class Context(BaseModel):\n    name: str = "Ada"\n    tone: str = "kind"\n',
}
REQUIRED = {
    "a dataclass": "@dataclass\nclass Context:\n    name: str\n",
    "a Pydantic model": "class Context(BaseModel):\n    name: str\n",
    "a TypedDict": "class Context(TypedDict):\n    name: str\n",
}
MEMORY = """
def answer(state, runtime: Runtime):
    asked = state["messages"][-1].text
    if asked != "recall":
        get_store().put(("facts",), asked, {"text": asked})
    return {"messages": [AIMessage(" ".join(sorted(each.key for each in runtime.store.search(("facts",)))))]}

graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile()
"""


def play(tmp_path: Path, text: str, story: Callable[[Running], Awaitable[None]], context: dict[str, Any]) -> None:
    async def whole() -> None:
        async with hosting(tmp_path, HEAD + text, context=context) as chat:
            await story(chat)

    asyncio.run(whole())


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(("context", "said"), [({}, "Ada kind"), ({"name": "Bo"}, "Bo kind")])
def test_a_context_has_the_values_of_the_settings_and_else_the_defaults_of_its_schema(
    schema: str, context: dict[str, Any], said: str, tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert chat.said()[-1][-1] == said

    play(tmp_path, SCHEMAS[schema] + GREETING, story, context)


@pytest.mark.parametrize("schema", REQUIRED)
def test_a_name_that_a_context_lacks_is_told_with_the_failure(schema: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        assert run.state is RunState.FAILED
        assert "Its context has no name: waymark.toml can give it, under [graphs.graph] as context." in str(run.error)

    play(tmp_path, REQUIRED[schema] + GREETING, story, {})


@pytest.mark.parametrize("schema", REQUIRED)
def test_a_context_of_the_settings_is_enough(schema: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert chat.said()[-1][-1] == "Cy calm"

    play(tmp_path, REQUIRED[schema] + GREETING, story, {"name": "Cy"})


def test_a_graph_without_a_schema_gets_no_context(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert chat.said()[-1][-1] == "None"

    text = GREETING.replace("context_schema=Context", "").replace("Runtime[Context]", "Runtime")
    text = text.replace("    context = runtime.context\n", "    return {'messages': [AIMessage(str(runtime.context))]}\n")
    play(tmp_path, text, story, {})


def test_a_store_lasts_over_runs_and_no_undo_takes_anything_out_of_it(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("one")
        await chat.say("two")
        assert chat.said()[-1][-1] == "one two"
        chat.store.undo(chat.thread_id)
        await chat.say("recall")
        assert chat.said()[-1][-1] == "one two"

    play(tmp_path, MEMORY, story, {})


def test_a_graph_keeps_its_own_store(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("recall")
        assert chat.said()[-1][-1] == "before"

    own = "from langgraph.store.memory import InMemoryStore\nown = InMemoryStore()\nown.put(('facts',), 'before', {})\n"
    play(tmp_path, own + MEMORY.replace(".compile()", ".compile(store=own)"), story, {})


def test_the_index_of_a_langgraph_json_makes_the_store_searchable_by_meaning(tmp_path: Path) -> None:
    (tmp_path / "embedding.py").write_text("def embed(texts):\n    return [[float('cat' in each), 1.0] for each in texts]\n")
    index = {"embed": "./embedding.py:embed", "dims": 2, "fields": ["text"]}
    store = make_store([GraphDefinition("g", tmp_path / "g.py", "g", folders=[tmp_path], store_index=index)])
    for text in ("a dog", "a cat"):
        store.put(("facts",), text, {"text": text})
    found: list[SearchItem] = store.search(("facts",), query="cat", limit=1)
    assert [each.key for each in found] == ["a cat"]


def test_an_index_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    index = {"embed": "./none.py:embed", "dims": 2}
    with pytest.raises(GraphLoadError, match=r"^The store of the langgraph.json cannot be made\. .*There is no file"):
        make_store([GraphDefinition("g", tmp_path / "g.py", "g", folders=[tmp_path], store_index=index)])
