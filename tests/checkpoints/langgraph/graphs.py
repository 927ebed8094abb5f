"""Graphs whose nodes are plain functions: no model is asked."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from checkpoints.langgraph import WaymarkSaver

Graph = CompiledStateGraph[Any, Any, Any, Any]


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**old, **new}


class Channels(TypedDict, total=False):
    """Messages, and one channel of each kind that is stored in another way."""

    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]
    files: Annotated[dict[str, str], merge]
    count: int


def answer(state: Channels) -> Channels:
    """Answer the last question. Each kind of question uses other channels."""
    question, count = str(state["messages"][-1].text), state.get("count", 0) + 1
    if question == "forget":
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), AIMessage("Forgotten.")], "count": count}
    if question == "mark":
        state["messages"][0].additional_kwargs["marked"] = count  # in place, as a careless node does
    if question == "approve":
        return {"messages": [AIMessage(f"You said {interrupt({'ask': count})}.")], "count": count}
    if question == "tool":
        call = {"name": "look", "args": {"at": count}, "id": f"call-{count}", "type": "tool_call"}
        return {"messages": [AIMessage("", tool_calls=[call])], "count": count}
    files = {f"file-{count % 3}": question * 100}
    return {"messages": [AIMessage(f"{question}!")], "notes": [question * 60], "files": files, "count": count}


def look(state: Channels) -> Channels:
    call = state["messages"][-1].tool_calls[0]  # type: ignore[union-attr]
    return {"messages": [ToolMessage("seen " * 20, tool_call_id=call["id"]), AIMessage("I looked.")]}


def make_graph(saver: Any, node: Callable[[Channels], Channels] = answer) -> Graph:
    """Make an agent with all kinds of channels."""
    builder = StateGraph(Channels)
    builder.add_node("answer", node)
    builder.add_node("look", look)
    builder.add_edge(START, "answer")
    calls = lambda state: "look" if getattr(state["messages"][-1], "tool_calls", None) else END  # noqa: E731
    builder.add_conditional_edges("answer", calls, ["look", END])
    builder.add_edge("look", END)
    return builder.compile(checkpointer=saver)


def make_config(thread_id: str, run_id: str | None = None) -> RunnableConfig:
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    if run_id is not None:
        config["metadata"] = {"run_id": run_id}
    return config


def ask(graph: Graph, thread_id: str, text: str, run_id: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = graph.invoke(
        {"messages": [HumanMessage(text)]}, make_config(thread_id, run_id), durability="sync"
    )
    return found


def read_channels(graph: Graph, thread_id: str) -> dict[str, Any]:
    """Return the channels where the conversation stands."""
    return dict(graph.get_state(make_config(thread_id)).values)


def read_texts(saver: WaymarkSaver, thread_id: str) -> list[str]:
    """Return the messages as the page shows them."""
    return [str(message.langchain.text) for message in saver.store.list_messages(thread_id)]
