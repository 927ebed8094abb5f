"""Agents as their authors write them, on LangChain's and deepagents' own functions, and what a model says to them."""

from typing import Any

from checkpoints import Store
from checkpoints.langgraph.state_selection import select_latest_state
from checkpoints.langgraph.state_views import list_channels
from checkpoints.rows import state_rows
from tests.agent.running import KEY
from tests.fakes.openai import Call, FakeOpenAI, Say

_MODEL = """
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

@tool
def weather(city: str) -> str:
    "The weather in a city."
    return f"sunny in {{city}}"

@tool
def book(seat: str) -> str:
    "Book a seat."
    return f"booked {{seat}}"

model = ChatOpenAI(model="some", base_url={address!r}, api_key={key!r}, max_retries=0)
"""
_ASKING_MODEL = _MODEL.replace('return f"booked', 'return interrupt("Book?") or f"booked')
CREATE_AGENT = f"""
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
{_MODEL}
graph = create_agent(
    model,
    [weather, book],
    system_prompt="Answer in one sentence.",
    middleware=[HumanInTheLoopMiddleware({{{{"book": True}}}})],
)
"""
DEEP_AGENT = f"""
from deepagents import create_deep_agent
from langchain.agents.middleware import TodoListMiddleware
{_MODEL}
scout = {{{{
    "name": "scout",
    "description": "Knows the weather.",
    "system_prompt": "You are a scout.",
    "tools": [weather],
}}}}
graph = create_deep_agent(
    model=model,
    system_prompt="You plan trips.",
    subagents=[scout],
    middleware=[TodoListMiddleware()],
    interrupt_on={{{{"write_file": True}}}},
)
"""
TRAVELLER = f"""
from langchain.agents import create_agent
from langgraph.types import interrupt
from waymark import goto, list_checkpoints, rewind, save_checkpoint
{_ASKING_MODEL}
graph = create_agent(model, [weather, book, goto, rewind, save_checkpoint, list_checkpoints])
"""
TODOS = [
    {"content": "Ask the scout", "status": "in_progress"},
    {"content": "Write the plan", "status": "pending"},
]
DONE = [{**each, "status": "completed"} for each in TODOS]
PLAN = (  # up to the call that waits
    Call("write_todos", {"todos": TODOS}),
    Call("task", {"description": "How is Ulm?", "subagent_type": "scout"}),
    Call("weather", {"city": "Ulm"}),  # the sub-agent's own
    Say("It is sunny in Ulm."),
    Call("write_file", {"file_path": "/plan.md", "content": "Ulm: sunny"}),
)
AFTER_APPROVAL = (Call("write_todos", {"todos": DONE}), Say("The plan is written."))
CHANGE = (
    Call("edit_file", {"file_path": "/plan.md", "old_string": "sunny", "new_string": "rainy"}),
    Say("The plan is changed."),
)


def write_agent(text: str, fake: FakeOpenAI) -> str:
    """The file of an agent whose model is the fake."""
    return text.format(address=fake.base_url, key=KEY)


def read_identities(store: Store, thread_id: str) -> dict[str, Any]:
    """The hash of each channel where a conversation stands."""
    state_id = store.get_thread(thread_id).state_id
    return {name: each.identity for name, each in list_channels(store.database, thread_id, state_id).items()}


def read_all_identities(store: Store, thread_id: str) -> dict[str, Any]:
    """The hash of each channel where a conversation stands, and of those of its subgraphs by their namespaces."""
    found = read_identities(store, thread_id)
    with store.database.begin_read() as connection:
        states = [each for each in state_rows.select_states(connection, thread_id) if each.namespace]
        latest = {each.namespace: select_latest_state(connection, thread_id, each.namespace) for each in states}
    for namespace, state in latest.items():
        for name, each in list_channels(store.database, thread_id, state.number if state else None).items():
            found[f"{namespace}: {name}"] = each.identity
    return found
