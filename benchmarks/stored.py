"""Stored conversations for the page: in Waymark's database, and as files of roles and texts for the other programs."""

import json
from collections.abc import Mapping
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from benchmarks import conversation
from checkpoints import Database, NewMessage, Store
from checkpoints.values import serde

CHECKPOINT_EVERY = {10: 1, 1_000: 10, 10_000: 1_000}  # messages, by the length of the conversation


def end_of(name: str) -> str:
    """Return the last words of the conversation with this name."""
    return f"The end of conversation {name}."


def store_conversations(data: Path, lengths: Mapping[str, int]) -> dict[str, str]:
    """Store conversations of these lengths in Waymark's database, and return their ids by the same names."""
    database = Database.open_file(data / "waymark.db")
    store = Store(database)
    threads = {}
    for name, length in lengths.items():
        talk = conversation.messages(length - 1)
        talk.append(AIMessage(f"{talk[0].text} {end_of(name)}", response_metadata={"finish_reason": "stop"}))
        threads[name] = store.create_thread(title=f"Conversation {name}").id
        step = CHECKPOINT_EVERY[length]
        for start in range(0, length, step):
            store.append(threads[name], [NewMessage(serde.to_body(message)) for message in talk[start : start + step]])
            store.save(threads[name], name=name_checkpoint(start + step))
    while store.index_portion():  # else the server indexes large appends while it is measured
        pass
    database.close()
    return threads


def name_checkpoint(messages: int) -> str:
    return f"After {messages} messages"


def read_checkpoint_texts(length: int) -> dict[int, str]:
    """Return the last texts of earlier checkpoints by their numbers of messages, newest first; without results of tools."""
    talk = conversation.messages(length - 1)
    ends = range(length - CHECKPOINT_EVERY[length], 0, -CHECKPOINT_EVERY[length])
    return {end: talk[end - 1].text for end in ends if not isinstance(talk[end - 1], ToolMessage) and talk[end - 1].text}


def write_conversations(folder: Path, lengths: Mapping[str, int]) -> None:
    """Write conversations of these lengths as JSON: questions and answers, as the peers have no messages of tools."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, length in lengths.items():
        talk = conversation.messages(2 * length)
        said = [each for each in talk if isinstance(each, HumanMessage) or (isinstance(each, AIMessage) and each.text)]
        messages = [_describe(each.text, "user" if isinstance(each, HumanMessage) else "assistant") for each in said]
        ending = _describe(f"{talk[0].text} {end_of(name)}", "assistant")
        text = json.dumps([*messages[: length - 1], ending])
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


def _describe(text: str, role: str) -> dict[str, str]:
    return {"role": role, "content": text}
