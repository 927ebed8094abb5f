"""The documents of burdens: long ones, and those that cost the most of what is accepted."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from benchmarks import conversation
from checkpoints.interchange import waymark
from checkpoints.values.limits import (
    MAX_ALTERNATIVES,
    MAX_BRANCHES_AND_CHECKPOINTS,
    MAX_CALLS,
    MAX_DOCUMENT_BYTES,
    MAX_DOCUMENT_VALUES,
    MAX_PART_VALUES,
)
from tests.checkpoints import shapes

LARGE_FILES = 12
OBJECT_FILES = 30
TALKS = 6
TALK_MESSAGES = 6_400


def write_talks() -> list[bytes]:
    """Write conversations of as many short messages as a request may hold."""
    turn: list[BaseMessage] = [HumanMessage("And then?"), AIMessage("So it went.")]
    made = json.loads(shapes.following(turn * (TALK_MESSAGES // 2)))
    return [_seal(made, f"Talk {number}").encode() for number in range(TALKS)]


def write_large_files() -> list[bytes]:
    """Write files of 10 MB."""
    made = json.loads(write_long_document(MAX_DOCUMENT_BYTES))
    return [_seal(made, f"Import {number}").encode() for number in range(LARGE_FILES)]


def write_object_files() -> list[bytes]:
    """Write files of as many objects as are accepted, in as few bytes."""
    row = [{} for _ in range(MAX_PART_VALUES - 1_000)]
    count = MAX_DOCUMENT_VALUES // (2 * len(row) + 20)
    made = json.loads(_write_chain([HumanMessage("x", additional_kwargs={"row": row}) for _ in range(count)]))
    return [_seal(made, f"Objects {number}").encode() for number in range(OBJECT_FILES)]


def write_long_document(size: int) -> str:
    """Write a long conversation of about so many bytes."""
    talk = conversation.messages(2_000)
    count = int(size * 0.97 / len(_write_chain(talk)) * len(talk))
    return _write_chain(conversation.messages(count))


def _write_chain(messages: Sequence[BaseMessage]) -> str:
    lines: list[shapes.Line] = []
    for number, message in enumerate(messages):
        lines.append((f"m{number}", f"m{number - 1}" if number else None, message))
    return shapes.written(lines, [lines[-1][0]], [(lines[-1][0], "End")])


def write_branched_document() -> str:
    """Write the most branches that are accepted, on a comb of as many segments, one below the other."""
    return shapes.comb(MAX_BRANCHES_AND_CHECKPOINTS, MAX_BRANCHES_AND_CHECKPOINTS)


def write_calling_document() -> str:
    """Write as many calls of `fork`, and branches of the first, as are accepted."""
    return shapes.calling(MAX_CALLS, MAX_ALTERNATIVES - 1)


def write_dear_document() -> str:
    """Write a window of messages whose Markdown costs the most."""
    text = ("[" * 20_000 + "\n\n```c\n$" + "\t " * 9_000 + "\n```\n")[:45_000]
    return _write_chain([(AIMessage if number % 2 else HumanMessage)(f"{number} {text}") for number in range(200)])


def _seal(made: dict[str, Any], title: str) -> str:
    made = {**made, "thread": {"title": title}}
    return waymark.write_document(made).text
