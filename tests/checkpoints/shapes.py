"""Documents of extreme shapes, as somebody could write them who means harm: each is small, and accepted or refused."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from checkpoints.interchange import waymark
from checkpoints.values import serde

TIME = "2025-01-01T00:00:00+00:00"
Line = tuple[str, str | None, BaseMessage]  # the message's id, its parent's, and itself


def comb(levels: int, branches: int, marks: Sequence[tuple[str, str]] = ()) -> str:
    """Each message is the second child of the one before: as many segments as branches, one below the other."""
    lines: list[Line] = [("m0", None, HumanMessage("x"))]
    for n in range(1, levels):
        lines += [(f"f{n}", f"m{n - 1}", HumanMessage("f")), (f"m{n}", f"m{n - 1}", HumanMessage("x"))]
    return written(lines, [f"m{levels - 1}", *(f"f{levels - n}" for n in range(1, branches))], marks)


def calling(calls: int, branches: int) -> str:
    """One answer that claims so many calls of `fork`, and branches of the first of them."""
    asked = [{"name": "fork", "args": {}, "id": f"call_{n}"} for n in range(calls)]
    lines: list[Line] = [("q", None, HumanMessage("q")), ("a", "q", AIMessage("", tool_calls=asked))]
    marks = [{"fork": {"call": "call_0", "number": n}} for n in range(1, branches + 1)]
    lines += [(f"w{n}", "q", HumanMessage("w", additional_kwargs=mark)) for n, mark in enumerate(marks)]
    return written(lines, ["a", *(f"w{n}" for n in range(branches))])


def marked(names: Sequence[str]) -> str:
    """So many checkpoints of one message."""
    return written([("q", None, HumanMessage("q")), ("a", "q", AIMessage("a"))], ["a"], [("a", name) for name in names])


def saying(texts: Sequence[str]) -> str:
    """So many answers, one after the other."""
    return following([AIMessage(text) for text in texts])


def following(messages: Sequence[BaseMessage]) -> str:
    lines: list[Line] = [(f"m{n}", f"m{n - 1}" if n else None, message) for n, message in enumerate(messages)]
    return written(lines, [f"m{len(lines) - 1}"])


def split(alternatives: int) -> str:
    """So many answers to one question."""
    answers: list[Line] = [(f"a{n}", "q", AIMessage(f"a{n}")) for n in range(alternatives)]
    return written([("q", None, HumanMessage("q")), *answers], [f"a{n}" for n in range(min(alternatives, 1_000))])


def written(
    lines: Sequence[Line],
    heads: Sequence[str],
    marks: Sequence[tuple[str, str]] = (),
    agents: Mapping[str, str] | None = None,
) -> str:
    """Write a document. `agents` are those of messages that are not the main agent's."""
    agents = {f"{len(lines)}-{identifier}": agent for identifier, agent in (agents or {}).items()}
    own = f"{len(lines)}-"  # an id stands for one message, whatever the file
    lines = [(own + identifier, parent and own + parent, message) for identifier, parent, message in lines]
    hashes, lengths = dict[str | None, str | None]({None: None}), dict[str | None, int]({None: 0})
    messages: list[dict[str, Any]] = []
    for identifier, parent, message in lines:
        body, lengths[identifier] = serde.to_body(message), lengths[parent] + 1
        agent = agents.get(identifier, "main")
        hashes[identifier] = serde.hash_message(body, agent, "done", hashes[parent])
        stands = {"id": identifier, "parent_id": parent, "agent": agent, "status": "done", "created_at": TIME}
        messages.append({**stands, "message": body, "hash": hashes[identifier]})
    made = {
        "format": waymark.FORMAT,
        "exported_at": TIME,
        "thread": {"title": "Shape"},
        "messages": messages,
        "branches": [{"id": f"b{n}", "name": f"b{n}", "head": own + head} for n, head in enumerate(heads)],
        "checkpoints": [
            {"id": f"{len(marks)}-{n}", "name": name, "timestamp": TIME, "branch": "b0"}
            | {"message_id": own + on, "message_count": lengths[own + on]}
            for n, (on, name) in enumerate(marks)
        ],
        "active": "b0",
    }
    return waymark.write_document(made).text


def stateful(states: int, values: int = 1, turns: int = 1) -> str:
    """So many states of a graph after the last message, one after the other, each with a list of the same values."""
    made = json.loads(following([HumanMessage("q"), AIMessage("a")] * turns))
    last, ids = made["messages"][-1]["id"], [f"s{number:06d}" for number in range(states)]
    made["states"] = [
        {"id": identifier, "namespace": "", "parent": ids[number - 1] if number else None, "run_id": "r", "message": last}
        | {"v": 4, "ts": TIME, "source": "loop", "step": number, "parents": {}, "updated": None, "resumed": False}
        | {"versions": {"list": number + 1}, "seen": {}, "values": {"list": ["r", [[0, values - 1]]]}, "left_out": []}
        for number, identifier in enumerate(ids)
    ]
    made["state_values"] = [{"json": str(number)} for number in range(values)]
    made["branches"][0]["state"] = ids[-1]
    del made["sha256"]
    return waymark.write_document(made).text
