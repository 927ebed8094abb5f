"""From the stored path to a request that every provider accepts, if it is not too long (see context).

Providers refuse a whole conversation for one tool call without its answer. So the pairing is made good here, each time, in
what is sent: the store keeps what really happened.
"""

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from agent import attached
from agent.prompts import BEGINNING, GO_ON
from checkpoints import DamagedMessageError, Message, MessageStatus, files

NOT_CARRIED_OUT = "This call was not carried out: the run was stopped before it."
SENT = "request"  # in the metadata of an answer: what it was asked with (see context)
_ID = re.compile(r"msg_([0-9]+)")
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")


class DamagedPathError(DamagedMessageError):
    """A request would have to carry a message that is damaged: the model would take something for said that never was."""

    def __str__(self) -> str:
        return f"{super().__str__()} Go back to before it, or edit it."


def request(system: str, path: Sequence[Message], *, go_on: bool = False, resume: bool = False) -> list[AnyMessage]:
    """What the model is asked: the instructions and an agent's messages of the path, with every pair complete.

    To `resume`, the last answer's calls are left as they are: some of them are to be carried out now.

    System messages of the path are left out: what a model is told as system comes from the settings alone, and a message
    of that kind came from a file. Raises `DamagedPathError`.
    """
    if (damaged := next((message for message in path if message.damaged), None)) is not None:
        raise DamagedPathError(damaged.thread_id, damaged.id, damaged.depth)
    messages = [message for stored in path if (message := _sendable(stored)) is not None]
    last = _last_calls(messages) if resume else len(messages)
    asked = [*paired(messages[:last]), *messages[last:]]
    if asked and not isinstance(asked[0], HumanMessage):  # an import may begin with an answer; some providers refuse that
        asked.insert(0, HumanMessage(BEGINNING))
    is_cut = go_on and bool(asked) and isinstance(asked[-1], AIMessage)  # after a tool's result there is nothing to add
    return [SystemMessage(system), *asked, *([HumanMessage(GO_ON)] if is_cut else [])]


def _sendable(stored: Message) -> AnyMessage | None:
    message = stored.langchain
    if isinstance(message, AIMessage):
        calls = [] if stored.status is MessageStatus.PARTIAL else _calls(message)
        said = _said(message, calls, id_of(stored.depth)) if message.text.strip() or calls else None
        if said is not None and stored.run_id is None:
            said.response_metadata = {}  # no run of this conversation measured it: a file may say anything
        return said
    if isinstance(message, HumanMessage):
        if not message.text.strip() and not files.parts(message.content):
            return None  # as one that an import brings: text of nothing but white space is refused
        return attached.sendable(message, id_of(stored.depth))
    if isinstance(message, ToolMessage):
        call_id, name, status = message.tool_call_id, message.name, message.status
        return ToolMessage(message.text, tool_call_id=call_id, name=name, status=status, id=id_of(stored.depth))
    return None


def _said(answer: AIMessage, calls: list[ToolCall], identifier: str | None) -> AIMessage:
    """An answer as the model is told it. What is known of its size is for us: providers are not sent it."""
    note = {key: value for key, value in answer.response_metadata.items() if key == SENT}
    text = answer.text if answer.text.strip() else ""
    return AIMessage(text, tool_calls=calls, id=identifier, usage_metadata=answer.usage_metadata, response_metadata=note)


def _last_calls(messages: Sequence[AnyMessage]) -> int:
    """Where the last answer that calls tools stands."""
    calling = (index for index, message in enumerate(messages) if isinstance(message, AIMessage) and message.tool_calls)
    return max(calling, default=len(messages))


def numbered_all(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The same with their numbers before them; what is not on the path has none."""
    return [
        attached.with_number(message, place) if (place := position_of(message)) is not None else message
        for message in messages
    ]


def id_of(position: int) -> str:
    """A message's id while it is part of a request: its position on the path. Providers are not sent it."""
    return f"msg_{position}"


def position_of(message: AnyMessage) -> int | None:
    """Where a message of a request stands on the path; None for one that does not."""
    found = _ID.fullmatch(message.id or "")
    return int(found[1]) if found else None


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
            name = _sendable_name(call["name"])
            calls.append(ToolCall(name=name, args=call["args"], id=identifier))
            answers.append(_answer(identifier, name, found))
        whole += [_said(message, calls, message.id), *answers]
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


def _sendable_name(name: str) -> str:
    """A tool's name as OpenAI takes it: models also call what was never offered, such as `multi_tool_use.parallel`."""
    return _STRANGE.sub("_", name)[:64] or "unknown"


def _free(identifier: str, taken: set[str]) -> str:
    """The id, or the first of its kind that no call of this request has yet; OpenAI takes 40 characters, vLLM makes 46."""
    identifier = _STRANGE.sub("_", identifier)[-34:]
    free, number = identifier, 1
    while free in taken:
        number += 1
        free = f"{identifier}_{number}"
    taken.add(free)
    return free


def _answer(call_id: str, name: str, found: ToolMessage | None) -> ToolMessage:
    if found is None:
        return ToolMessage(NOT_CARRIED_OUT, tool_call_id=call_id, name=name, status="error")
    return ToolMessage(found.content, tool_call_id=call_id, name=name, status=found.status, id=found.id)
