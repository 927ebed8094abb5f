"""How full a path makes a model's window, and how it grew, in tokens of a request's messages."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

from langchain_core.messages import AIMessage

from agent.context.answer_notes import SizeNote, has_size_note
from agent.context.recent_messages import MeasuredEnd, read_measured_end
from agent.context.tokens import (
    count_answer_tokens,
    estimate_content,
    estimate_stored_tokens,
    read_counted_answer,
    sum_stored_tokens,
)
from agent.context.usage import context_tokens, readable_usage
from agent.context.window import Window, find_correction, find_start
from agent.marks import MoveMark, SummaryMark
from checkpoints import MAIN, Message, MessageNotFoundError, Store
from checkpoints.values.limits import MAX_READ_VALUES
from checkpoints.values.reasoning import carries_items

TAIL_MESSAGES = 60
# Read first. After a turn and in the next turn, the provider's count is among them.
LAST_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class Context:
    """The use of a model's window when a conversation continues."""

    tokens: int
    # True if the provider counted the tokens, False for an estimate.
    is_exact: bool
    # Messages of the path, and how many of the oldest messages the model no longer sees.
    message_count: int
    left_out_count: int
    window: Window


@dataclass(frozen=True, slots=True)
class TokenChange:
    """The tokens of the next request, before and after a change of the path."""

    # As the context meter shows it.
    before: int
    # An estimate.
    after: int


def estimate_change(
    context: Context, path: Sequence[Message], removed_ids: Collection[str], added_tokens: int
) -> TokenChange:
    """Estimate the next request after messages of the path are replaced by others.

    Messages that the window had left out return to the request if there is room.
    """
    sizes = {stored.id: estimate_stored_tokens(stored) for stored in path if stored.agent == MAIN}
    sent = sum(sizes[stored.id] for stored in path if stored.id in sizes and stored.depth >= context.left_out_count)
    kept = sum(size for identifier, size in sizes.items() if identifier not in removed_ids)
    tokens = max(0, context.tokens - sent) + kept + added_tokens
    return TokenChange(context.tokens, min(tokens, context.window.max_request_tokens))


def measure_context(store: Store, thread_id: str, window: Window, system: str, max_messages: int) -> Context | None:
    """Return the use of the window when the conversation continues, or None before its first message.

    If the provider counted a recent message, few messages are read, so the cost does not grow with the conversation. The
    beginning of a huge last turn is measured only by its length.
    """
    tail = store.list_messages(thread_id, last=LAST_MESSAGES, max_values=MAX_READ_VALUES)
    counted = _find_last_count(tail)
    # The messages may start in the middle of a turn.
    if len(tail) == LAST_MESSAGES and not (counted and any(map(_is_user_message, tail[: counted[0]]))):
        tail = store.list_messages(thread_id, last=TAIL_MESSAGES, max_values=MAX_READ_VALUES)
        counted = _find_last_count(tail)
    if not tail:
        return None
    if counted is not None:
        return _measure_from_count(store, thread_id, tail, *counted, window)
    end = read_measured_end(store, thread_id, window.tokens, max_messages)
    overhead = estimate_overhead(store, thread_id, end.messages[::-1], system)
    return _estimate_context(end, window, overhead, tail[-1].depth + 1)


def _measure_from_count(
    store: Store, thread_id: str, tail: Sequence[Message], at: int, answer: AIMessage, window: Window
) -> Context:
    """Measure a path from the provider's count of a recent answer, `tail[at]`."""
    is_sent = _sends_reasoning(tail[at], is_tool_turn=_is_tool_turn(tail[: at + 1]))
    note = SizeNote.of(answer)
    first, length = note.left_out if note else 0, tail[-1].depth + 1
    tokens = count_answer_tokens(answer, sends_reasoning=is_sent) + sum_stored_tokens(tail[at + 1 :], MAIN)
    if tokens <= window.max_request_tokens:
        return Context(tokens, tail[at] is tail[-1], length, first, window)
    left_out, saved_tokens = _measure_left_out(store, thread_id, first, tokens - window.max_request_tokens)
    return Context(tokens - saved_tokens, False, length, left_out, window)


def _find_last_count(tail: Sequence[Message]) -> tuple[int, AIMessage] | None:
    """Return the index and the message of the last answer with a provider's count."""
    return next(((at, found) for at in reversed(range(len(tail))) if (found := read_counted_answer(tail[at]))), None)


def _is_tool_turn(path: Sequence[Message]) -> bool:
    """Return whether the main agent's last turn of a path calls tools."""
    turn = takewhile(lambda stored: not _is_user_message(stored), reversed(path))
    return any(_calls_tools(stored) for stored in turn)


def _is_user_message(stored: Message) -> bool:
    return stored.type == "human" and stored.agent == MAIN


def _calls_tools(stored: Message) -> bool:
    return stored.type == "ai" and stored.agent == MAIN and bool(stored.body["data"].get("tool_calls"))


def _sends_reasoning(stored: Message, *, is_tool_turn: bool) -> bool:
    """Return whether an answer's reasoning goes back to its model, as it does within a turn that calls tools."""
    return is_tool_turn and carries_items(stored.body["data"].get("additional_kwargs"))


def _measure_left_out(store: Store, thread_id: str, first: int, tokens: int) -> tuple[int, int]:
    """Return the first depth of a request that is `tokens` smaller than from `first` on, and the saved tokens."""
    left_out, saved_tokens, seen_tokens, depth = first, 0, 0, first
    while portion := store.list_messages(
        thread_id, before=depth + TAIL_MESSAGES, last=min(TAIL_MESSAGES, store.count_messages(thread_id) - depth)
    ):
        for stored in portion:
            if stored.type == "human" and stored.agent == MAIN:
                left_out, saved_tokens = stored.depth, seen_tokens
                if saved_tokens >= tokens:
                    return left_out, saved_tokens
            seen_tokens += estimate_stored_tokens(stored) if stored.agent == MAIN else 0
        depth = portion[-1].depth + 1
    return left_out, saved_tokens


def estimate_overhead(store: Store, thread_id: str, messages: Iterable[Message], system: str) -> int:
    """Estimate a request's tokens beside its messages: the instructions, and the provider's count beyond the estimate,
    such as for tools.

    The count comes from the first counted answer among the messages, or else from the last answer before the note that
    replaced it.
    """
    listed = list(messages)
    counted = _find_counted_answer(listed) or _find_replaced_answer(store, thread_id, listed)
    return estimate_content(system) + (find_correction([counted]) if counted else 0)


def _find_counted_answer(messages: Iterable[Message]) -> AIMessage | None:
    return next((answer for stored in messages if (answer := read_counted_answer(stored)) is not None), None)


def _find_replaced_answer(store: Store, thread_id: str, messages: Iterable[Message]) -> AIMessage | None:
    """Return the last counted answer among the messages that a note replaced. A copy of the conversation may lack it."""
    marks = (SummaryMark.of(stored) or MoveMark.of(stored) for stored in messages)
    head_id = next((mark.head for mark in marks if mark and mark.head), None)
    if head_id is None:
        return None
    with suppress(MessageNotFoundError):
        return _find_counted_answer(reversed(store.list_messages_to(thread_id, head_id, last=TAIL_MESSAGES)))
    return None


def _estimate_context(end: MeasuredEnd, window: Window, overhead: int, length: int) -> Context:
    """Estimate the use of the window. The end may be empty, since an import can hold messages of sub-agents alone."""
    path = end.messages
    sizes = list(map(estimate_stored_tokens, path))
    # A request keeps the last turn whole.
    if end.unread_tokens:
        return Context(max(0, overhead + end.unread_tokens + sum(sizes)), False, length, end.first_depth or 0, window)
    start = find_start(sizes, lambda index: path[index].type == "human", window.max_request_tokens - overhead)
    tokens = max(0, overhead + sum(sizes[start:]))
    return Context(tokens, False, length, path[start].depth if path else length, window)


def measure_path_growth(path: Sequence[Message], overhead: int = 0) -> list[int]:
    """Return the tokens of a path after each message: the provider's count at an answer, an estimate in between.

    `overhead` comes from `estimate_overhead`, for the messages before the first count.
    """
    sizes: list[int] = []
    tokens, is_tool_turn = max(0, overhead), False
    for stored in path:
        if stored.agent == MAIN and not stored.damaged:
            is_tool_turn = not _is_user_message(stored) and (is_tool_turn or _calls_tools(stored))
            answer_tokens = _count_stored_answer(stored, is_tool_turn=is_tool_turn)
            tokens = tokens + estimate_stored_tokens(stored) if answer_tokens is None else answer_tokens
        sizes.append(tokens)
    return sizes


def measure_tokens_at(store: Store, thread_id: str, depth: int, system: str) -> int | None:
    """Return the tokens of the path up to a depth, or None if no provider counted any of the last answers before it."""
    tail = store.list_messages(thread_id, last=TAIL_MESSAGES, before=depth + 1, max_values=MAX_READ_VALUES)
    is_known = tail and (tail[0].depth == 0 or any(_count_stored_answer(each, is_tool_turn=False) for each in tail))
    return measure_path_growth(tail, estimate_overhead(store, thread_id, tail, system))[-1] if is_known else None


def _count_stored_answer(stored: Message, *, is_tool_turn: bool) -> int | None:
    """Return the context tokens of an answer from a run of this store.

    It builds no message, since a long path has thousands.
    """
    data = stored.body["data"]
    usage = readable_usage(data.get("usage_metadata")) if stored.type == "ai" else None
    if usage is None or stored.run_id is None or not has_size_note(data):
        return None
    return context_tokens(usage, sends_reasoning=_sends_reasoning(stored, is_tool_turn=is_tool_turn))
