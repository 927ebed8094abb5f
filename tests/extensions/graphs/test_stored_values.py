"""Values that LangGraph's serializer refuses, or gives back as another kind, are named with their channel."""

import logging
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from components.routes.graph_state import NO_PLACE, describe_states
from extensions.graphs.stored_values import LostKinds
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import one_node
from tests.extensions.graphs.test_driving import play

KINDS = """
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field

@dataclass
class Order:
    price: int
    taxed: int = field(init=False, default=0)

@dataclass
class Kept:
    price: int

class Names(dict):
    pass

State.__annotations__["kept"] = Kept

def node(state):
    if state["messages"][-1].text == "more":
        return {"messages": [AIMessage("still there")]}
    return {"thing": THING, "messages": [AIMessage("ok")]}
"""


def read_lost_kinds(chat: Running) -> dict[str, str]:
    shown = describe_states(chat.store, chat.runner, chat.thread_id, "", NO_PLACE)
    return {each["name"]: each["lost_kind"] for each in shown["channels"] if each["lost_kind"]}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("defaultdict(list, a=[1])", "defaultdict"),
        ("Counter('aab')", "Counter"),
        ("OrderedDict(a=1)", "OrderedDict"),
        ("deque([1, 2], maxlen=3)", "deque(maxlen=3)"),
        ("[{'order': Order(10)}]", "Order"),
        ("Names(a=1)", "Names"),
    ],
)
def test_a_kind_that_is_lost_is_named_in_the_state_and_in_the_log(
    value: str, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert read_lost_kinds(chat) == {"thing": kind}
        said = [each.getMessage() for each in caplog.records if "comes back as" in each.getMessage()]
        assert [text.partition("channel thing ")[2] for text in said] == [f"comes back as another type than {kind}"]
        await chat.say("more")
        assert read_lost_kinds(chat) == {"thing": kind}

    caplog.set_level(logging.WARNING)
    play(tmp_path, story, one_node(KINDS.replace("THING", value)))


@pytest.mark.parametrize("value", ["deque([1])", "Kept(1)", "{'a': (1, [2])}", "{1, 2}", "b'x'", "AIMessage('x')"])
def test_a_kind_that_is_kept_is_not_named(value: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert read_lost_kinds(chat) == {}

    play(tmp_path, story, one_node(KINDS.replace("THING", value)))


@pytest.mark.parametrize(
    ("body", "channel"),
    [
        ("    return {'messages': [AIMessage('x')], 'thing': Odd()}", "thing"),
        ("    return {'thing': {'a': [complex(1, 2)]}}", "thing"),
        ("    interrupt(Odd())", "__interrupt__"),
    ],
)
def test_a_value_that_cannot_be_stored_is_told_with_its_channel_and_its_node(
    body: str, channel: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        said = f"The channel {channel}, which the node node wrote, has a value that cannot be stored. TypeError: Type is not"
        assert said in str(run.error)
        assert f"node node, channel {channel}" in caplog.text

    play(tmp_path, story, one_node(f"def node(state):\n{body}"))


def test_an_output_with_half_a_character_is_shown(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert "half: \ufffd" in chat.said()[-1][2]

    play(tmp_path, story, one_node("def node(state):\n    return {'thing': 'half: \\ud800'}"))


def test_a_kind_that_is_lost_in_a_subgraph_is_logged_once_and_named_while_it_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = (
        "from collections import Counter\n\n\ndef count(state):\n    return {'thing': Counter('aab')}\n\n\n"
        "def more(state):\n    return {'thing': Counter(state['thing'])}\n\n\n"
        "def ask(state):\n    return {'messages': [AIMessage(interrupt('sure?'))]}\n\n\n"
        "node = StateGraph(State).add_sequence([count, more, ask]).add_edge(START, 'count').compile()"
    )

    async def story(chat: Running) -> None:
        await chat.say("hello")
        (below,) = describe_states(chat.store, chat.runner, chat.thread_id, "", NO_PLACE)["subgraphs"]
        assert {each["name"]: each["lost_kind"] for each in below["channels"]} == {"messages": "", "thing": "Counter"}
        said = [each.getMessage() for each in caplog.records if "comes back as" in each.getMessage()]
        assert [text.partition("channel thing ")[2] for text in said] == ["comes back as another type than Counter"]

    caplog.set_level(logging.WARNING)
    play(tmp_path, story, one_node(body))


def test_of_a_list_only_new_items_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    found, serde, written = LostKinds(), JsonPlusSerializer(), list[Any]()
    write = serde.dumps_typed

    def note_written(value: Any) -> tuple[str, bytes]:
        written.append(value)
        return write(value)

    monkeypatch.setattr(serde, "dumps_typed", note_written)
    items: list[Any] = [deque([1]), deque([2])]
    assert found.note_state(serde, {"things": items}, {"things"}) == {}
    assert found.note_state(serde, {"things": [*items, deque([3])]}, {"things"}) == {}
    assert written == [items, [deque([3])]]
    items = [*items, deque([3]), Counter("a")]
    assert found.note_state(serde, {"things": items}, {"things"}) == {"things": "Counter"}
    count = len(written)
    assert found.note_state(serde, {"things": [*items, deque([4])]}, {"things"}) == {}
    assert (found.kinds, len(written)) == ({"things": "Counter"}, count)
    assert found.note_state(serde, {"things": [1]}, {"things"}) == {}
    assert found.kinds == {}
