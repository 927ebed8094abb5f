"""Turns a stored path into a request that every provider accepts, if it is not too long (see window).

Providers refuse a whole conversation for one tool call without its result. Each request therefore completes the pairs,
and the store keeps the original messages.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, zip_longest
from typing import TypeVar, get_args

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from agent.context import attachments
from agent.context.answer_notes import has_other_notes, keep_size_note
from agent.context.numbering import NumberStyle
from agent.context.prompts import BEGINNING_TEXT, CONTINUE_TEXT
from agent.fence import Fence
from agent.message_cache import cache_by_message
from checkpoints import DamagedMessageError, Message, MessageStatus
from checkpoints.values import files, serde
from checkpoints.values.reasoning import Reasoning, drop_reasoning_entry, keep_reasoning_entry
from checkpoints.values.sentence import sentence

T = TypeVar("T")

NOT_CARRIED_OUT_TEXT = "This call was not carried out: the run was stopped before it."
# The result of a call whose run wrote none, as when the server was killed. No disk has the call's start, so it may have had
# an effect.
UNKNOWN_RESULT_TEXT = "This call has no result: it may or may not have been carried out. Look before you call it again."
# OpenAI's limit. vLLM makes ids of 46 characters.
MAX_CALL_ID_CHARS = 40
# The event loop itself builds requests within these limits: the number of messages, and the characters of each.
MAX_SHORT_MESSAGES = 50
MAX_SHORT_CHARS = 4_000
_ID = re.compile(r"msg_([0-9]+)")
_UNSENDABLE = re.compile(r"[^a-zA-Z0-9_-]")
_UNKNOWN_RESULT = ToolMessage(UNKNOWN_RESULT_TEXT, tool_call_id="", status="error")
_NO_RESULTS: Iterator[ToolMessage] = iter(())


class DamagedPathError(DamagedMessageError):
    """A request would carry a damaged message, and the model would take its text for genuine."""

    def __str__(self) -> str:
        return sentence("{reason} Go back to before it, or edit it.", reason=super().__str__())


def is_short(messages: Sequence[T], read_content: Callable[[T], object]) -> bool:
    """Return whether messages are so few and small that building a request is faster than a pass to a thread.

    The content of a message with calls is read as None.
    """
    if len(messages) > MAX_SHORT_MESSAGES:
        return False
    contents = map(read_content, messages)
    return all(isinstance(content, str) and len(content) <= MAX_SHORT_CHARS for content in contents)


def build_request(
    system: str,
    path: Sequence[Message],
    *,
    continue_answer: bool = False,
    resume: bool = False,
    convert: Callable[[Message], AnyMessage | None] | None = None,
) -> list[AnyMessage]:
    """Return the request: the instructions and an agent's messages of the path, with every pair complete.

    With `resume`, the last answer's calls stay as they are, because the run runs some of them now. `convert` may replace
    `to_sendable`.

    System messages of the path are left out: they came from a file, and only settings give system text. Raises
    `DamagedPathError`.
    """
    if (damaged := next((message for message in path if message.damaged), None)) is not None:
        raise DamagedPathError(damaged.thread_id, damaged.id, damaged.depth)
    messages = [message for message in map(convert or to_sendable, path) if message is not None]
    last = _find_last_calls(messages) if resume else len(messages)
    request = [*complete_tool_pairs(messages[:last]), *messages[last:]]
    # An import may begin with an answer, which some providers refuse.
    if request and not isinstance(request[0], HumanMessage):
        request.insert(0, HumanMessage(BEGINNING_TEXT))
    # A tool's result needs no addition.
    is_cut = continue_answer and bool(request) and isinstance(request[-1], AIMessage)
    return [SystemMessage(system), *request, *([HumanMessage(CONTINUE_TEXT)] if is_cut else [])]


def to_sendable(stored: Message) -> AnyMessage | None:
    """Return a stored message for a request, or None if no request can hold it."""
    message = stored.langchain
    if isinstance(message, AIMessage):
        calls = [] if stored.status is MessageStatus.PARTIAL else _repair_calls(message)
        answer = _rebuild_answer(message, calls, make_message_id(stored.depth)) if message.text.strip() or calls else None
        # The message comes from a file, so any value is possible.
        if answer is not None and stored.run_id is None:
            answer.response_metadata, answer.additional_kwargs = {}, {}
        return answer
    if isinstance(message, HumanMessage):
        # It comes from an import, and providers refuse white space as text.
        if not message.text.strip() and not files.find_file_parts(message.content):
            return None
        return attachments.name_files(message, make_message_id(stored.depth))
    if isinstance(message, ToolMessage):
        call_id, name, status = message.tool_call_id, message.name, message.status
        return ToolMessage(message.text, tool_call_id=call_id, name=name, status=status, id=make_message_id(stored.depth))
    return None


def _rebuild_answer(answer: AIMessage, calls: list[ToolCall], identifier: str | None) -> AIMessage:
    """Return an answer for a request. It keeps its reasoning and its size note, which providers do not receive."""
    return AIMessage(
        answer.text if answer.text.strip() else "",
        additional_kwargs=keep_reasoning_entry(answer.additional_kwargs),
        tool_calls=calls,
        id=identifier,
        usage_metadata=answer.usage_metadata,
        response_metadata=keep_size_note(answer.response_metadata),
    )


def _is_rebuilt(answer: AIMessage) -> bool:
    """Return whether `_rebuild_answer` would change nothing, as for most answers. A request is completed several times."""
    content = answer.content
    is_plain = isinstance(content, str) and not content.isspace() and not answer.invalid_tool_calls
    return is_plain and not has_other_notes(answer.response_metadata) and not drop_reasoning_entry(answer.additional_kwargs)


def _name_calls(answer: AIMessage) -> list[tuple[str, str | None]]:
    return [(call["name"], call["id"]) for call in answer.tool_calls]


def _find_last_calls(messages: Sequence[AnyMessage]) -> int:
    """Return the index of the last answer with tool calls."""
    calling = (index for index, message in enumerate(messages) if isinstance(message, AIMessage) and message.tool_calls)
    return max(calling, default=len(messages))


def add_numbers(messages: Sequence[AnyMessage], style: NumberStyle) -> list[AnyMessage]:
    """Return the messages with numbers in their texts, except messages outside the path."""
    number = _NUMBER_ONCE[style]
    return [number(message) or message for message in messages]


def _add_number(message: AnyMessage, style: NumberStyle) -> AnyMessage | None:
    """Return a message with its number in the text, or None for a message outside the path."""
    position = read_position(message)
    return None if position is None else attachments.add_number(message, position, style)


def make_message_id(position: int) -> str:
    """Return a message's id within a request: its position on the path. Providers do not receive it."""
    return f"msg_{position}"


def read_position(message: AnyMessage) -> int | None:
    """Return the path position of a request's message, or None for a message outside the path."""
    found = _ID.fullmatch(message.id or "")
    return int(found[1]) if found else None


_NUMBER_ONCE: dict[NumberStyle, Callable[[AnyMessage], AnyMessage | None]] = {
    style: cache_by_message(partial(_add_number, style=style)) for style in get_args(NumberStyle)
}


def _has_calls(message: AIMessage) -> bool:
    return bool(message.tool_calls or message.invalid_tool_calls)


def _repair_calls(message: AIMessage) -> list[ToolCall]:
    """Return all calls in their order, with unreadable arguments as JSON. Some servers would refuse the whole request.

    The order matters to the provider's items, since the first call of an answer may need its signature.
    """
    calls, reasoning = list(message.tool_calls), Reasoning.of(message) if message.invalid_tool_calls else None
    places = reasoning.unreadable_places if reasoning else ()
    for call, place in zip_longest(message.invalid_tool_calls, places[: len(message.invalid_tool_calls)]):
        repaired = ToolCall(name=call["name"] or "unknown", args={"unreadable": call["args"] or ""}, id=call["id"])
        calls.insert(len(calls) if place is None else place, repaired)
    return calls


def complete_tool_pairs(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with a single result right after each call, under a unique id. Drop results without a call.

    Ids are unique only within a server: some servers restart at "call_0" in each answer.
    """
    ids = _UniqueIds()
    completed: list[AnyMessage] = []
    for message, results in _group_rounds(messages):
        if results is None or not isinstance(message, AIMessage):
            completed.append(message)
            continue
        calls, answers, new_ids = [], [], dict[str, str]()
        results_by_id = _group_results(results)
        for call in _repair_calls(message):
            identifier = ids.make_unique(call["id"] or "call")
            new_ids[call["id"] or ""] = identifier
            found = next(results_by_id.get(call["id"] or "", _NO_RESULTS), None)
            name = _clean_tool_name(call["name"])
            calls.append(ToolCall(name=name, args=call["args"], id=identifier))
            answers.append(_make_result(identifier, name, found))
        is_complete = _is_rebuilt(message) and _name_calls(message) == [(call["name"], call["id"]) for call in calls]
        answer = message if is_complete else rename_calls(_rebuild_answer(message, calls, message.id), new_ids)
        completed += [answer, *answers]
    return completed


def rename_calls(answer: AIMessage, new_ids: Mapping[str, str]) -> AIMessage:
    """Return an answer whose reasoning names its calls by their new ids. `new_ids` maps old ids to new ids."""
    reasoning = Reasoning.of(answer) if any(old != new for old, new in new_ids.items()) else None
    if reasoning is None:
        return answer
    kwargs = {**answer.additional_kwargs, **reasoning.rename_calls(new_ids).to_kwargs()}
    return answer.model_copy(update={"additional_kwargs": kwargs})


def write_tools_as_text(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with each call, and the results of each answer, as plain text.

    Some providers and templates refuse calls in a request without tools.
    """
    written: list[AnyMessage] = []
    for is_result, group in groupby(complete_tool_pairs(messages), lambda message: isinstance(message, ToolMessage)):
        # The user's message gets no number, since it is not on the path.
        if is_result:
            results = [Fence(f"result of {message.name}").wrap(message.text) for message in group]
            written.append(HumanMessage("\n".join(results)))
        else:
            written += [_write_calls_as_text(message) for message in group]
    return written


def _write_calls_as_text(message: AnyMessage) -> AnyMessage:
    if not (isinstance(message, AIMessage) and message.tool_calls):
        return message
    calls = [f"({call['name']} was called with {serde.to_canonical(call['args'])}.)" for call in message.tool_calls]
    text = "\n".join([message.text, *calls] if message.text else calls)
    return message.model_copy(update={"content": text, "tool_calls": []})


def _group_rounds(messages: Sequence[AnyMessage]) -> list[tuple[AnyMessage, list[ToolMessage] | None]]:
    """Return each message except results. An answer with calls comes with the results up to the next such answer."""
    rounds: list[tuple[AnyMessage, list[ToolMessage] | None]] = []
    results: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
        elif isinstance(message, AIMessage) and _has_calls(message):
            results = []
            rounds.append((message, results))
        else:
            rounds.append((message, None))
    return rounds


def _clean_tool_name(name: str) -> str:
    """Return a tool's name in OpenAI's alphabet. Models also call unknown tools, such as `multi_tool_use.parallel`."""
    return _UNSENDABLE.sub("_", name)[:64] or "unknown"


class _UniqueIds:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        # The last number of each repeated id.
        self._numbers: dict[str, int] = {}

    def make_unique(self, identifier: str) -> str:
        """Return the id, or a numbered id if another call of this request has it."""
        identifier = _UNSENDABLE.sub("_", identifier)
        free, number = identifier[-MAX_CALL_ID_CHARS:], self._numbers.get(identifier, 1)
        while free in self._taken:
            number += 1
            free = f"{identifier}_{number}"[-MAX_CALL_ID_CHARS:]
        self._numbers[identifier] = number
        self._taken.add(free)
        return free


def _group_results(results: Sequence[ToolMessage]) -> dict[str, Iterator[ToolMessage]]:
    """Return the results of an answer by the id of their call, each to be used once."""
    grouped: dict[str, list[ToolMessage]] = {}
    for result in results:
        grouped.setdefault(result.tool_call_id, []).append(result)
    return {call_id: iter(group) for call_id, group in grouped.items()}


def _make_result(call_id: str, name: str, result: ToolMessage | None) -> ToolMessage:
    if result is None:
        return _UNKNOWN_RESULT.model_copy(update={"tool_call_id": call_id, "name": name})
    # Most results match, since a request is completed again before each answer.
    if (result.tool_call_id, result.name) == (call_id, name) and not (result.additional_kwargs or result.response_metadata):
        return result
    return ToolMessage(result.content, tool_call_id=call_id, name=name, status=result.status, id=result.id)
