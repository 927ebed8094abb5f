"""Graphs that are right and unusual, as their authors would write them. Each answers after one question or more."""

HEAD = """
import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.config import get_store, get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel


def say(text):
    return {"messages": [AIMessage(text)]}
"""
ONE_NODE = 'graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()\n'
STRANGE_GRAPHS = {
    "a state without messages": """
class State(TypedDict, total=False):
    dish: str
    orders: Annotated[list[str], operator.add]

class Input(TypedDict):
    dish: str

def node(state):
    return {"orders": [f"{state['dish']} {interrupt('sure?')}"]}

graph = StateGraph(State, input_schema=Input).add_node("node", node).add_edge(START, "node").compile()
""",
    "messages under another key": """
class State(TypedDict, total=False):
    text: str
    chat: Annotated[list[AnyMessage], add_messages]

class Input(TypedDict):
    text: str

def node(state):
    answered = AIMessage(f"{len(state.get('chat', []))} {state['text']} {interrupt('sure?')}")
    return {"chat": [HumanMessage(state["text"]), answered]}

graph = StateGraph(State, input_schema=Input).add_node("node", node).add_edge(START, "node").compile()
""",
    "a question in a subgraph": """
class State(MessagesState, total=False):
    turns: Annotated[int, operator.add]

def ask(state):
    return {**say(f"{state['messages'][-1].text} {interrupt('sure?')}"), "turns": 1}

inner = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
graph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()
""",
    "a subgraph with a memory of its own": """
class Inner(TypedDict, total=False):
    seen: Annotated[list[str], operator.add]

def remember(state):
    return {"seen": [interrupt("sure?")]}

inner = StateGraph(Inner).add_node("remember", remember).add_edge(START, "remember").compile(checkpointer=True)

def node(state):
    seen = inner.invoke({"seen": [state["messages"][-1].text]})["seen"]
    return say(" ".join(seen))

State = MessagesState
"""
    + ONE_NODE,
    "two questions at once": """
class State(MessagesState, total=False):
    answers: Annotated[list[str], operator.add]

def first(state):
    return {"answers": ["first " + interrupt("first?")]}

def second(state):
    return {"answers": ["second " + interrupt("second?")]}

def last(state):
    return say(f"{state['messages'][-1].text}: {sorted(state['answers'])}")

builder = StateGraph(State).add_node("first", first).add_node("second", second).add_node("last", last, defer=True)
builder.add_edge(START, "first").add_edge(START, "second")
graph = builder.add_edge(["first", "second"], "last").compile()
""",
    "commands that go to a node": """
class State(MessagesState, total=False):
    way: list[str]

def choose(state):
    return Command(goto="far" if "far" in interrupt("where?") else "near", update={"way": [*state.get("way", []), "choose"]})

def near(state):
    return {**say(f"near {state['messages'][-1].text}"), "way": [*state["way"], "near"]}

builder = StateGraph(State).add_node("choose", choose, destinations=("near", "far")).add_node("near", near)
graph = builder.add_node("far", near).add_edge(START, "choose").compile()
""",
    "parts that are sent to many tasks": """
class State(MessagesState, total=False):
    parts: Annotated[list[str], operator.add]

def split(state):
    return [Send("work", {"part": part}) for part in state["messages"][-1].text.split()]

def work(task):
    return {"parts": [task["part"] + " " + interrupt(task["part"])]}

def join(state):
    return say(", ".join(state["parts"]))

builder = StateGraph(State).add_node("work", work).add_node("join", join)
graph = builder.add_conditional_edges(START, split, ["work"]).add_edge("work", "join").compile()
""",
    "messages that are removed": """
def draft(state):
    return say(f"{state['messages'][-1].text} {interrupt('sure?')}")

def correct(state):
    last = state["messages"][-1]
    return {"messages": [RemoveMessage(last.id), AIMessage(f"{last.text}!")]}

builder = StateGraph(MessagesState).add_node("draft", draft).add_node("correct", correct)
graph = builder.add_edge(START, "draft").add_edge("draft", "correct").compile()
""",
    "reducers of the author's": """
def merge(old, new):
    return {**(old or {}), **new}

class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], lambda old, new: [*(old or []), *new]]
    notes: Annotated[dict[str, int], merge]
    names: Annotated[set[str], operator.or_]

def node(state):
    text = state["messages"][-1].text
    return {**say(f"{text} {interrupt('sure?')}"), "notes": {text: len(state.get("notes", {}))}, "names": {text}}
"""
    + ONE_NODE,
    "a function that is an entrypoint": """
@task
def ask(text):
    return f"{text} {interrupt('sure?')}"

@entrypoint()
def graph(text, *, previous=None):
    answered = [*(previous or []), ask(text).result()]
    return entrypoint.final(value=answered[-1], save=answered)
""",
    "a store and a context": """
@dataclass
class Context:
    tone: str = "calm"

State = MessagesState

def node(state, runtime: Runtime[Context]):
    text = state["messages"][-1].text
    answered = interrupt("sure?")
    runtime.store.put(("asked",), text, {"text": text})
    return say(f"{runtime.context.tone} {get_store().get(('asked',), text).value['text']} {answered}")

graph = StateGraph(State, context_schema=Context).add_node("node", node).add_edge(START, "node").compile()
""",
    "values that it streams itself": """
State = MessagesState

def node(state):
    get_stream_writer()({"looking for": state["messages"][-1].text})
    return say(f"{state['messages'][-1].text} {interrupt('sure?')}")
"""
    + ONE_NODE,
    "a stop before a node": """
State = MessagesState

def node(state):
    return say(f"{len(state['messages'])} {state['messages'][-1].text}")

graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(interrupt_before=["node"])
""",
    "a state that is a Pydantic model": """
class State(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    turns: int = 0

def node(state):
    return {**say(f"{state.messages[-1].text} {interrupt('sure?')}"), "turns": state.turns + 1}
"""
    + ONE_NODE,
}
