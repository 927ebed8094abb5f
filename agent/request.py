"""From the stored path to a request that every provider accepts.

Providers refuse a whole conversation for one tool call without its answer. So the pairing is made good here, each time, in
what is sent: the store keeps what really happened.
"""

import json
import re
from collections.abc import Sequence
from itertools import accumulate

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from agent.numbering import numbered
from agent.prompts import GO_ON
from checkpoints import DamagedMessageError, Message, MessageStatus

NOT_CARRIED_OUT = "This call was not carried out: the run was stopped before it."
_ID = re.compile(r"msg_([0-9]+)")
CHARACTERS_PER_TOKEN = 4  # a rough guess, on the safe side for English; used only to choose where to cut


class DamagedPathError(DamagedMessageError):
    """A request would have to carry a message that is damaged: the model would take something for said that never was."""

    def __str__(self) -> str:
        return f"{super().__str__()} Go back to before it, or edit it."


def request(
    system: str, path: Sequence[Message], *, most_tokens: int, go_on: bool = False, resume: bool = False
) -> list[AnyMessage]:
    """What the model is asked: the instructions, and as much of the path's end as fits, with every pair complete.

    To `resume`, the last answer's calls are left as they are: some of them are to be carried out now.

    System messages of the path are left out: what a model is told as system comes from the settings alone, and a message
    of that kind came from a file. Raises `DamagedPathError`.
    """
    if (damaged := next((message for message in path if message.damaged), None)) is not None:
        raise DamagedPathError(damaged.thread_id, damaged.id, damaged.depth)
    messages = [message for stored in path if (message := _sendable(stored)) is not None]
    last = _last_calls(messages) if resume else len(messages)
    asked = _cut([*paired(messages[:last]), *messages[last:]], most_tokens)
    return [SystemMessage(system), *asked, *([HumanMessage(GO_ON)] if go_on else [])]


def _sendable(stored: Message) -> AnyMessage | None:
    message = stored.langchain
    if isinstance(message, AIMessage):
        calls = [] if stored.status is MessageStatus.PARTIAL else _calls(message)
        return AIMessage(message.text, tool_calls=calls, id=id_of(stored.depth)) if message.text or calls else None
    if isinstance(message, HumanMessage):
        return HumanMessage(message.text, id=id_of(stored.depth))
    if isinstance(message, ToolMessage):
        call_id, name, status = message.tool_call_id, message.name, message.status
        return ToolMessage(message.text, tool_call_id=call_id, name=name, status=status, id=id_of(stored.depth))
    return None


def _last_calls(messages: Sequence[AnyMessage]) -> int:
    """Where the last answer that calls tools stands."""
    calling = (index for index, message in enumerate(messages) if isinstance(message, AIMessage) and message.tool_calls)
    return max(calling, default=len(messages))


def numbered_all(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The same with their numbers before them; what is not on the path has none."""
    return [
        message.model_copy(update={"content": numbered(int(found[1]), str(message.text))})
        if (found := _ID.fullmatch(message.id or ""))
        else message
        for message in messages
    ]


def id_of(position: int) -> str:
    """A message's id while it is part of a request: its position on the path. Providers are not sent it."""
    return f"msg_{position}"


def _calls(message: AIMessage) -> list[ToolCall]:
    """All calls; those whose arguments were not JSON as calls that are: some servers refuse the whole request otherwise."""
    unreadable = [
        ToolCall(name=call["name"] or "unknown", args={"unreadable": call["args"] or ""}, id=call["id"])
        for call in message.invalid_tool_calls
    ]
    return [*message.tool_calls, *unreadable]


def paired(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Each call answered exactly once, right after it and under an id of its own; answers to nothing left out.

    Ids are only unique as far as the server that made them cared: some begin anew with "call_0" in each answer.
    """
    taken: set[str] = set()
    whole: list[AnyMessage] = []
    for message, results in _rounds(messages):
        if not (isinstance(message, AIMessage) and _calls(message)):
            whole.append(message)
            continue
        calls, answers = [], []
        for call in _calls(message):
            identifier = _free(call["id"] or "call", taken)
            found = next((result for result in results if result.tool_call_id == (call["id"] or "")), None)
            if found is not None:
                results.remove(found)
            calls.append(ToolCall(name=call["name"], args=call["args"], id=identifier))
            answers.append(_answer(identifier, call["name"], found))
        whole += [AIMessage(message.content, tool_calls=calls, id=message.id), *answers]
    return whole


def _rounds(messages: Sequence[AnyMessage]) -> list[tuple[AnyMessage, list[ToolMessage]]]:
    """Each message that is no result, and with each that calls tools the results up to the next such one."""
    rounds: list[tuple[AnyMessage, list[ToolMessage]]] = []
    results: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        if isinstance(message, AIMessage) and _calls(message):
            results = []
        rounds.append((message, results))
    return rounds


def _free(identifier: str, taken: set[str]) -> str:
    """The id, or the first of its kind that no call of this request has yet."""
    free, number = identifier, 1
    while free in taken:
        number += 1
        free = f"{identifier}_{number}"
    taken.add(free)
    return free


def _answer(call_id: str, name: str, found: ToolMessage | None) -> ToolMessage:
    if found is None:
        return ToolMessage(NOT_CARRIED_OUT, tool_call_id=call_id, name=name, status="error")
    return ToolMessage(found.content, tool_call_id=call_id, name=found.name, status=found.status, id=found.id)


def _cut(messages: list[AnyMessage], most_tokens: int) -> list[AnyMessage]:
    """The longest end that fits and begins with a user's message, so that no pair is torn; at least the last turn."""
    turns = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
    to_end = list(accumulate(map(estimated_tokens, reversed(messages))))[::-1]
    fitting = [start for start in turns if to_end[start] <= most_tokens]
    if not turns or fitting[:1] == turns[:1]:
        return messages
    return messages[fitting[0] if fitting else turns[-1] :]


def estimated_tokens(message: AnyMessage) -> int:
    calls = json.dumps(message.tool_calls) if isinstance(message, AIMessage) and message.tool_calls else ""
    return (len(message.text) + len(calls)) // CHARACTERS_PER_TOKEN + 4


def stored_tokens(message: Message) -> int:
    """The same guess for a stored message, without building it."""
    return len(str(message.body["data"].get("content", ""))) // CHARACTERS_PER_TOKEN + 4
