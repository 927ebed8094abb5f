"""How full a path makes a model's window, and how it grew: tokens of the messages that a request reads."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile

from agent.context.recent_messages import read_recent_messages
from agent.context.request import SIZE_NOTE_KEY
from agent.context.tokens import (
    count_answer_tokens,
    estimate_content,
    estimate_stored_tokens,
    read_counted_answer,
    read_size_note,
)
from agent.context.usage import context_tokens, readable_usage
from agent.context.window import Window, find_correction, find_start
from checkpoints import MAIN, Message, Store
from checkpoints.limits import MAX_READ_VALUES
from checkpoints.reasoning import REASONING_KEY

TAIL_MESSAGES = 60


@dataclass(frozen=True, slots=True)
class Context:
    """The use of a model's window when a conversation continues."""

    tokens: int
    is_exact: bool  # counted by the provider and not estimated
    message_count: int  # of the path
    left_out_count: int  # messages from the beginning that the model no longer sees
    window: Window


@dataclass(frozen=True, slots=True)
class TokenChange:
    """The tokens of the next request, before and after a change of the path."""

    before: int  # as the context meter shows it
    after: int  # estimated


def estimate_change(
    context: Context, path: Sequence[Message], removed_ids: Collection[str], added_tokens: int
) -> TokenChange:
    """Estimate the next request after messages of the path are replaced by others.

    Messages that the window left out before come back into the request where there is room.
    """
    sizes = {stored.id: estimate_stored_tokens(stored) for stored in path if stored.agent == MAIN}
    sent = sum(sizes[stored.id] for stored in path if stored.id in sizes and stored.depth >= context.left_out_count)
    kept = sum(size for identifier, size in sizes.items() if identifier not in removed_ids)
    tokens = max(0, context.tokens - sent) + kept + added_tokens
    return TokenChange(context.tokens, min(tokens, context.window.max_request_tokens))


def measure_context(store: Store, thread_id: str, window: Window, system: str, max_messages: int) -> Context | None:
    """Return the use of the window when the conversation continues; None before its first message.

    Where the provider counted one of the last messages, few messages are read. So the cost does not grow with the
    conversation.
    """
    tail = store.list_messages(thread_id, last=TAIL_MESSAGES, max_values=MAX_READ_VALUES)
    if not tail:
        return None
    after = 0
    for index, stored in enumerate(reversed(tail)):
        if (answer := read_counted_answer(stored)) is not None:
            is_sent = _sends_reasoning(stored, is_tool_turn=_is_tool_turn(tail[: len(tail) - index]))
            first = read_size_note(answer, "left_out") or 0
            tokens = count_answer_tokens(answer, sends_reasoning=is_sent) + after
            if tokens <= window.max_request_tokens:
                return Context(tokens, index == 0, tail[-1].depth + 1, first, window)
            left_out, saved_tokens = _measure_left_out(store, thread_id, first, tokens - window.max_request_tokens)
            return Context(tokens - saved_tokens, False, tail[-1].depth + 1, left_out, window)
        after += estimate_stored_tokens(stored) if stored.agent == MAIN else 0
    return _estimate_context(
        read_recent_messages(store, thread_id, window.tokens, max_messages), window, system, tail[-1].depth + 1
    )


def _is_tool_turn(path: Sequence[Message]) -> bool:
    """Return whether the main agent's last turn of a path calls tools."""
    turn = takewhile(lambda stored: not _is_user_message(stored), reversed(path))
    return any(_calls_tools(stored) for stored in turn)


def _is_user_message(stored: Message) -> bool:
    return stored.type == "human" and stored.agent == MAIN


def _calls_tools(stored: Message) -> bool:
    return stored.type == "ai" and stored.agent == MAIN and bool(stored.body["data"].get("tool_calls"))


def _sends_reasoning(stored: Message, *, is_tool_turn: bool) -> bool:
    """Return whether an answer's reasoning goes back to its model: it does within a turn that calls tools."""
    kept = (stored.body["data"].get("additional_kwargs") or {}).get(REASONING_KEY)
    return is_tool_turn and isinstance(kept, dict) and any(kept.get(name) for name in ("text_field", "fields", "blocks"))


def _measure_left_out(store: Store, thread_id: str, first: int, tokens: int) -> tuple[int, int]:
    """Return the first depth of a request that is `tokens` smaller than one from `first` on, and the tokens it saves."""
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


def _estimate_context(path: Sequence[Message], window: Window, system: str, length: int) -> Context:
    """Estimate the use of the window. The path may be empty: an import can hold messages of sub-agents alone."""
    answer_with_usage = next(
        (answer for stored in reversed(path) if (answer := read_counted_answer(stored)) is not None), None
    )
    before = estimate_content(system) + (find_correction([answer_with_usage]) if answer_with_usage else 0)
    sizes = list(map(estimate_stored_tokens, path))
    start = find_start(sizes, [stored.type == "human" for stored in path], window.max_request_tokens - before)
    tokens = max(0, before + sum(sizes[start:]))
    return Context(tokens, False, length, path[start].depth if path else length, window)


def measure_path_growth(path: Sequence[Message]) -> list[int]:
    """Return the tokens of a path after each message: the provider's count at an answer, an estimate between answers."""
    sizes: list[int] = []
    tokens, is_tool_turn = 0, False
    for stored in path:
        if stored.agent == MAIN and not stored.damaged:
            is_tool_turn = not _is_user_message(stored) and (is_tool_turn or _calls_tools(stored))
            answer_tokens = _count_stored_answer(stored, is_tool_turn=is_tool_turn)
            tokens = tokens + estimate_stored_tokens(stored) if answer_tokens is None else answer_tokens
        sizes.append(tokens)
    return sizes


def measure_tokens_at(store: Store, thread_id: str, depth: int) -> int | None:
    """Return the tokens of the path up to a depth; None if no provider counted one of the last answers before it."""
    tail = store.list_messages(thread_id, last=TAIL_MESSAGES, before=depth + 1, max_values=MAX_READ_VALUES)
    is_known = tail and (tail[0].depth == 0 or any(_count_stored_answer(each, is_tool_turn=False) for each in tail))
    return measure_path_growth(tail)[-1] if is_known else None


def _count_stored_answer(stored: Message, *, is_tool_turn: bool) -> int | None:
    """Return the context tokens of an answer that a run made here.

    It builds no message: a long path has thousands.
    """
    data = stored.body["data"]
    usage = readable_usage(data.get("usage_metadata")) if stored.type == "ai" else None
    if (
        usage is None
        or stored.run_id is None
        or not isinstance((data.get("response_metadata") or {}).get(SIZE_NOTE_KEY), dict)
    ):
        return None
    return context_tokens(usage, sends_reasoning=_sends_reasoning(stored, is_tool_turn=is_tool_turn))
