"""From the stored path to a request that every provider accepts, if it is not too long (see context).

Providers refuse a whole conversation for one tool call without its answer. So the pairing is made good here, each time, in
what is sent: the store keeps what really happened.
"""

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from agent.context import attachments
from agent.context.prompts import BEGINNING_TEXT, CONTINUE_TEXT
from checkpoints import DamagedMessageError, Message, MessageStatus, files

NOT_CARRIED_OUT_TEXT = "This call was not carried out: the run was stopped before it."
SIZE_NOTE_KEY = "request"  # in the metadata of an answer: what it was asked with (see context)
_ID = re.compile(r"msg_([0-9]+)")
_UNSENDABLE = re.compile(r"[^a-zA-Z0-9_-]")


class DamagedPathError(DamagedMessageError):
    """A request would have to carry a message that is damaged: the model would take something for said that never was."""

    def __str__(self) -> str:
        return f"{super().__str__()} Go back to before it, or edit it."


def build_request(
    system: str, path: Sequence[Message], *, continue_answer: bool = False, resume: bool = False
) -> list[AnyMessage]:
    """What the model is asked: the instructions and an agent's messages of the path, with every pair complete.

    To `resume`, the last answer's calls are left as they are: some of them are to be carried out now.

    System messages of the path are left out: what a model is told as system comes from the settings alone, and a message
    of that kind came from a file. Raises `DamagedPathError`.
    """
    if (damaged := next((message for message in path if message.damaged), None)) is not None:
        raise DamagedPathError(damaged.thread_id, damaged.id, damaged.depth)
    messages = [message for stored in path if (message := _to_sendable(stored)) is not None]
    last = _find_last_calls(messages) if resume else len(messages)
    asked = [*complete_tool_pairs(messages[:last]), *messages[last:]]
    if asked and not isinstance(asked[0], HumanMessage):  # an import may begin with an answer; some providers refuse that
        asked.insert(0, HumanMessage(BEGINNING_TEXT))
    is_cut = (
        continue_answer and bool(asked) and isinstance(asked[-1], AIMessage)
    )  # after a tool's result there is nothing to add
    return [SystemMessage(system), *asked, *([HumanMessage(CONTINUE_TEXT)] if is_cut else [])]


def _to_sendable(stored: Message) -> AnyMessage | None:
    message = stored.langchain
    if isinstance(message, AIMessage):
        calls = [] if stored.status is MessageStatus.PARTIAL else _repair_calls(message)
        said = _rebuild_answer(message, calls, make_message_id(stored.depth)) if message.text.strip() or calls else None
        if said is not None and stored.run_id is None:
            said.response_metadata = {}  # no run of this conversation measured it: a file may say anything
        return said
    if isinstance(message, HumanMessage):
        if not message.text.strip() and not files.find_file_parts(message.content):
            return None  # as one that an import brings: text of nothing but white space is refused
        return attachments.name_files(message, make_message_id(stored.depth))
    if isinstance(message, ToolMessage):
        call_id, name, status = message.tool_call_id, message.name, message.status
        return ToolMessage(message.text, tool_call_id=call_id, name=name, status=status, id=make_message_id(stored.depth))
    return None


def _rebuild_answer(answer: AIMessage, calls: list[ToolCall], identifier: str | None) -> AIMessage:
    """An answer as the model is told it. What is known of its size is for us: providers are not sent it."""
    note = {key: value for key, value in answer.response_metadata.items() if key == SIZE_NOTE_KEY}
    text = answer.text if answer.text.strip() else ""
    return AIMessage(text, tool_calls=calls, id=identifier, usage_metadata=answer.usage_metadata, response_metadata=note)


def _find_last_calls(messages: Sequence[AnyMessage]) -> int:
    """Where the last answer that calls tools stands."""
    calling = (index for index, message in enumerate(messages) if isinstance(message, AIMessage) and message.tool_calls)
    return max(calling, default=len(messages))


def add_numbers(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The same with their numbers before them; what is not on the path has none."""
    return [
        attachments.add_number(message, place) if (place := read_position(message)) is not None else message
        for message in messages
    ]


def make_message_id(position: int) -> str:
    """A message's id while it is part of a request: its position on the path. Providers are not sent it."""
    return f"msg_{position}"


def read_position(message: AnyMessage) -> int | None:
    """Where a message of a request stands on the path; None for one that does not."""
    found = _ID.fullmatch(message.id or "")
    return int(found[1]) if found else None


def _repair_calls(message: AIMessage) -> list[ToolCall]:
    """All calls; those whose arguments were not JSON as calls that are: some servers refuse the whole request otherwise."""
    unreadable = [
        ToolCall(name=call["name"] or "unknown", args={"unreadable": call["args"] or ""}, id=call["id"])
        for call in message.invalid_tool_calls
    ]
    return [*message.tool_calls, *unreadable]


def complete_tool_pairs(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Each call answered exactly once, right after it and under an id of its own; answers to nothing left out.

    Ids are only unique as far as the server that made them cared: some begin anew with "call_0" in each answer.
    """
    taken: set[str] = set()
    whole: list[AnyMessage] = []
    for message, results in _group_rounds(messages):
        if not (isinstance(message, AIMessage) and _repair_calls(message)):
            whole.append(message)
            continue
        calls, answers = [], []
        for call in _repair_calls(message):
            identifier = _make_unique_id(call["id"] or "call", taken)
            found = next((result for result in results if result.tool_call_id == (call["id"] or "")), None)
            if found is not None:
                results.remove(found)
            name = _clean_tool_name(call["name"])
            calls.append(ToolCall(name=name, args=call["args"], id=identifier))
            answers.append(_make_result(identifier, name, found))
        whole += [_rebuild_answer(message, calls, message.id), *answers]
    return whole


def _group_rounds(messages: Sequence[AnyMessage]) -> list[tuple[AnyMessage, list[ToolMessage]]]:
    """Each message that is no result, and with each that calls tools the results up to the next such one."""
    rounds: list[tuple[AnyMessage, list[ToolMessage]]] = []
    results: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        if isinstance(message, AIMessage) and _repair_calls(message):
            results = []
        rounds.append((message, results))
    return rounds


def _clean_tool_name(name: str) -> str:
    """A tool's name as OpenAI takes it: models also call what was never offered, such as `multi_tool_use.parallel`."""
    return _UNSENDABLE.sub("_", name)[:64] or "unknown"


def _make_unique_id(identifier: str, taken: set[str]) -> str:
    """The id, or the first of its kind that no call of this request has yet; OpenAI takes 40 characters, vLLM makes 46."""
    identifier = _UNSENDABLE.sub("_", identifier)[-34:]
    free, number = identifier, 1
    while free in taken:
        number += 1
        free = f"{identifier}_{number}"
    taken.add(free)
    return free


def _make_result(call_id: str, name: str, result: ToolMessage | None) -> ToolMessage:
    if result is None:
        return ToolMessage(NOT_CARRIED_OUT_TEXT, tool_call_id=call_id, name=name, status="error")
    return ToolMessage(result.content, tool_call_id=call_id, name=name, status=result.status, id=result.id)
