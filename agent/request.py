"""From the stored path to a request that every provider accepts.

Providers refuse a whole conversation for one tool call without its answer. So the pairing is made good here, each time, in
what is sent: the store keeps what really happened.
"""

import json
from collections.abc import Iterable, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from agent.prompts import GO_ON
from checkpoints import Message, MessageStatus

NOT_CARRIED_OUT = "This call was not carried out: the run was stopped before it."
CHARACTERS_PER_TOKEN = 4  # a rough guess, on the safe side for English; used only to choose where to cut


def request(system: str, path: Sequence[Message], *, most_tokens: int, go_on: bool = False) -> list[AnyMessage]:
    """What the model is asked: the instructions, and as much of the path's end as fits, with every pair complete.

    System messages of the path are left out: what a model is told as system comes from the settings alone, and a message
    of that kind came from a file.
    """
    messages = [message for stored in path if (message := _sendable(stored)) is not None]
    asked = _cut(_paired(messages), most_tokens)
    return [SystemMessage(system), *asked, *([HumanMessage(GO_ON)] if go_on else [])]


def _sendable(stored: Message) -> AnyMessage | None:
    message = stored.langchain
    if isinstance(message, AIMessage):
        calls = [] if stored.status is MessageStatus.PARTIAL else [*message.tool_calls, *_unreadable_calls(message)]
        return AIMessage(message.text, tool_calls=calls) if message.text or calls else None
    if isinstance(message, HumanMessage):
        return HumanMessage(message.content)
    if isinstance(message, ToolMessage):
        return ToolMessage(message.text, tool_call_id=message.tool_call_id, name=message.name, status=message.status)
    return None


def _unreadable_calls(message: AIMessage) -> list[ToolCall]:
    """Calls whose arguments were not JSON, as calls that are: some servers refuse the whole request otherwise."""
    return [
        ToolCall(name=call["name"] or "unknown", args={"unreadable": call["args"] or ""}, id=call["id"])
        for call in message.invalid_tool_calls
    ]


def _paired(messages: Iterable[AnyMessage]) -> list[AnyMessage]:
    """Each call answered exactly once, right after it; answers to nothing left out."""
    waiting = list(messages)
    answers: dict[int, dict[str, ToolMessage]] = {}
    asking: int | None = None
    for index, message in enumerate(waiting):
        if isinstance(message, AIMessage) and message.tool_calls:
            asking, answers[index] = index, {}
        elif isinstance(message, ToolMessage) and asking is not None:
            answers[asking].setdefault(message.tool_call_id, message)
    paired: list[AnyMessage] = []
    for index, message in enumerate(waiting):
        if isinstance(message, ToolMessage):
            continue
        paired.append(message)
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            paired.append(answers[index].get(call["id"] or "") or _not_carried_out(call))
    return paired


def _not_carried_out(call: ToolCall) -> ToolMessage:
    return ToolMessage(NOT_CARRIED_OUT, tool_call_id=call["id"] or "", name=call["name"], status="error")


def _cut(messages: list[AnyMessage], most_tokens: int) -> list[AnyMessage]:
    """The longest end that fits and begins with a user's message, so that no pair is torn; at least the last turn."""
    turns = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
    sizes = [estimated_tokens(message) for message in messages]
    fitting = [start for start in turns if sum(sizes[start:]) <= most_tokens]
    if not turns or fitting[:1] == turns[:1]:
        return messages
    return messages[fitting[0] if fitting else turns[-1] :]


def estimated_tokens(message: AnyMessage) -> int:
    calls = json.dumps(message.tool_calls) if isinstance(message, AIMessage) and message.tool_calls else ""
    return (len(message.text) + len(calls)) // CHARACTERS_PER_TOKEN + 4
