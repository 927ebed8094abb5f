"""A sub-agent's memory: its messages of a path, as its own moves through time left them. Pure functions.

Such a move removes nothing from the path, because messages of other agents lie between the sub-agent's own. The result
of its call carries the move's mark, and the memory is read through these marks. So each change of the head changes the
memory, too. A mark counts the removed messages backwards from its own place, so the memory may be read from its end.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, HumanMessage

from agent.marks import MemoryCheckpointMark, MoveMark
from checkpoints import MAIN, Message
from checkpoints.values import serde


def recall_messages(path: Iterable[Message], agent: str) -> list[Message]:
    """Return an agent's messages of a path, as the agent remembers them."""
    memory: list[Message] = []
    question: Message | None = None
    for message in path:
        if message.agent != agent:
            continue
        if (mark := find_memory_move(message)) is None:
            memory.append(message)
            question = message if message.type == "human" else question
            continue
        del memory[max(0, len(memory) - mark.removed) :]
        memory.append(_build_move_message(message, mark))
        if mark.kind == "rewind" and question is not None:
            # The agent still owes the answer to this question.
            memory.append(question)
    return memory


def recall_path(path: Sequence[Message], agent: str) -> list[Message]:
    """Return an agent's messages as it remembers them, each with the following messages of other agents on the path."""
    if agent == MAIN:
        # The main agent's moves have changed the path itself.
        return [*path]
    following: dict[str, list[Message]] = {"": []}
    last_id = ""
    for message in path:
        last_id = message.id if message.agent == agent else last_id
        following.setdefault(last_id, []).extend([message] if message.agent != agent else [])
    recalled = recall_messages(path, agent)
    return [*following.pop(""), *(each for own in recalled for each in (own, *following.pop(own.id, [])))]


def find_memory_move(message: Message) -> MoveMark | None:
    """Return the mark of a sub-agent's own move, or None for other messages. Moves of the main agent have no result."""
    return MoveMark.of(message) if message.agent != MAIN and message.type == "tool" else None


def number_messages(memory: Sequence[Message]) -> list[Message]:
    """Return the messages at their positions in the memory. A damaged message keeps its position on the path."""
    return [message if message.damaged else replace(message, depth=position) for position, message in enumerate(memory)]


def find_memory_checkpoints(memory: Sequence[Message]) -> dict[str, tuple[int, MemoryCheckpointMark]]:
    """Return the checkpoints of a numbered memory by name.

    A checkpoint's position is the last result of the answer that saved it.
    """
    found: dict[str, tuple[int, MemoryCheckpointMark]] = {}
    for position, message in enumerate(memory):
        mark = MemoryCheckpointMark.of(message) if message.type == "tool" else None
        if mark is not None:
            end = next((at for at in range(position + 1, len(memory)) if memory[at].type != "tool"), len(memory))
            found.pop(mark.name, None)
            found[mark.name] = (end - 1, mark)
    return found


def _build_move_message(result: Message, mark: MoveMark) -> Message:
    """Return the note of a goto, or the new answer of a rewind, from the call's result."""
    message_type = HumanMessage if mark.kind == "goto" else AIMessage
    message = message_type(str(result.langchain.text), additional_kwargs=mark.to_kwargs())
    return replace(result, body=serde.to_body(message))
