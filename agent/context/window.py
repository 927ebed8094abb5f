"""How much of a conversation a model is asked with: its window, what a message takes of it, and where the path is cut.

Sizes are estimates: a tokenizer would have to download its tables, and every provider has its own. The provider's count for
an earlier answer of the same path corrects them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agent.context import attachments
from agent.context.request import SIZE_NOTE_KEY, read_position
from agent.context.usage import context_tokens, readable_usage
from checkpoints import MAIN, Message, Store, serde
from checkpoints.limits import to_tokens

BYTES_PER_TOKEN = 4  # of UTF-8: near the truth for English, code and, unlike characters, for Chinese
MESSAGE_TOKENS = 4  # what a message takes beside its text
DEFAULT_WINDOW_TOKENS = 100_000  # tokens
DEFAULT_ANSWER_TOKENS = 16_384  # tokens
FIRST_READ_MESSAGES = 400  # messages
TAIL_MESSAGES = 60  # messages
LEFT_OUT_TEXT = "(This result was left out of the request: the conversation is longer than the model can read.)"


@dataclass(frozen=True, slots=True)
class Window:
    """How many tokens a model can read and write at once, and how many of them are kept free for its answer."""

    tokens: int
    answer_tokens: int

    @property
    def max_request_tokens(self) -> int:
        """What a request may take."""
        return self.tokens - self.answer_tokens


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked: the instructions and the end of a path."""

    messages: list[AnyMessage]
    estimated_tokens: int  # tokens of them all
    correction_tokens: (
        int  # by how much the estimate was too small for the last answer that told its usage: tools count there
    )
    left_out_count: int  # how many messages of the path stand before the first one in here

    @property
    def tokens(self) -> int:
        return max(0, self.estimated_tokens + self.correction_tokens)

    @property
    def size_note(self) -> dict[str, int]:
        """What is kept with the answer, so that its usage can correct the next estimate."""
        return {"estimated": self.estimated_tokens, "left_out": self.left_out_count}


@dataclass(frozen=True, slots=True)
class Context:
    """How full a model's window is when a conversation goes on."""

    tokens: int
    is_exact: bool  # counted by the provider and not estimated
    message_count: int  # of the path
    left_out_count: int  # of them, from its beginning: the model does not see them any more
    window: Window


def find_window(model: BaseChatModel | None, max_tokens: int | None = None) -> Window:
    """A model's window as its package knows it, but no more than `most`; that alone for a model that it does not know."""
    profile = (model.profile if model else None) or {}
    known = (profile.get("max_input_tokens"), max_tokens)
    tokens = min((size for size in known if size), default=DEFAULT_WINDOW_TOKENS)
    # Of some models the answer has to fit in as well, of others not; the packages do not tell which.
    return Window(tokens, min(profile.get("max_output_tokens") or DEFAULT_ANSWER_TOKENS, tokens // 3))


def fit_to_window(messages: Sequence[AnyMessage], max_tokens: int) -> ModelRequest:
    """The instructions and the longest end of the path that fits, from a user's message on, so that no pair is torn.

    The last turn is always in it. Where it alone is too long, its old results are left out, each with a note in its place;
    those that the model has not answered to yet stay.
    """
    system = [message for message in messages if isinstance(message, SystemMessage)]
    path = [message for message in messages if not isinstance(message, SystemMessage)]
    correction = max(_find_correction(path), -_sum_tokens(messages) // 2)  # no file makes a long request a short one
    spare = max_tokens - correction - _sum_tokens(system)
    kept = _empty_old_results(_cut_to_fit(path, spare), spare)
    first = next((place for message in kept if (place := read_position(message)) is not None), 0)
    return ModelRequest([*system, *kept], _sum_tokens(system) + _sum_tokens(kept), correction, first)


def _cut_to_fit(path: Sequence[AnyMessage], max_tokens: int) -> list[AnyMessage]:
    turns = [isinstance(message, HumanMessage) and read_position(message) is not None for message in path]
    return list(path[_find_start(list(map(estimate_tokens, path)), turns, max_tokens) :])


def _find_start(sizes: Sequence[int], turns: Sequence[bool], max_tokens: int) -> int:
    """Where the longest end begins that fits, at a message that begins a turn; with the last turn in it at least."""
    to_end = list(accumulate(reversed(sizes)))[::-1]
    begins = [index for index, is_begin in enumerate(turns) if is_begin]
    if not begins or to_end[0] <= max_tokens:
        return 0
    return next((start for start in begins if to_end[start] <= max_tokens), begins[-1])


def _empty_old_results(turn: list[AnyMessage], max_tokens: int) -> list[AnyMessage]:
    asking = (index for index, message in enumerate(turn) if isinstance(message, AIMessage) and message.tool_calls)
    newest = max(asking, default=0)
    over = _sum_tokens(turn) - max_tokens
    whole: list[AnyMessage] = []
    for index, message in enumerate(turn):
        if over > 0 and index < newest and isinstance(message, ToolMessage) and len(message.text) > len(LEFT_OUT_TEXT):
            emptied = message.model_copy(update={"content": LEFT_OUT_TEXT})
            over -= estimate_tokens(message) - estimate_tokens(emptied)
            whole.append(emptied)
        else:
            whole.append(message)
    return whole


def _find_correction(path: Sequence[AnyMessage]) -> int:
    for message in reversed(path):
        usage = readable_usage(message.usage_metadata) if isinstance(message, AIMessage) else None
        if usage is not None and (estimated := read_size_note(message, "estimated")):
            return usage["input_tokens"] - estimated
    return 0


def read_size_note(answer: BaseMessage, name: str) -> int | None:
    """What was noted of the request for an answer; None for one that was made elsewhere (a file may say anything)."""
    note = answer.response_metadata.get(SIZE_NOTE_KEY)
    return to_tokens(note.get(name)) if isinstance(note, dict) else None


def measure_context(store: Store, thread_id: str, window: Window, system: str, max_messages: int) -> Context | None:
    """How full the window is when a conversation goes on; None before its first message.

    Where the provider counted one of the last messages, only few are read: asking costs the same in a long conversation.
    """
    tail = store.list_messages(thread_id, last=TAIL_MESSAGES)
    if not tail:
        return None
    after = 0
    for place, stored in enumerate(reversed(tail)):
        if (answer := _read_counted_answer(stored)) is not None:
            first, tokens = read_size_note(answer, "left_out") or 0, count_answer_tokens(answer) + after
            if tokens <= window.max_request_tokens:
                return Context(tokens, place == 0, tail[-1].depth + 1, first, window)
            left_out, dropped = _measure_left_out(store, thread_id, first, tokens - window.max_request_tokens)
            return Context(tokens - dropped, False, tail[-1].depth + 1, left_out, window)
        after += estimate_stored_tokens(stored) if stored.agent == MAIN else 0
    return _estimate_context(
        read_recent_messages(store, thread_id, window.tokens, max_messages), window, system, tail[-1].depth + 1
    )


def _measure_left_out(store: Store, thread_id: str, first: int, tokens: int) -> tuple[int, int]:
    """What is left out of a request that has to be that many tokens smaller than one from `first` on, and its size."""
    left_out, dropped, passed, depth = first, 0, 0, first
    while portion := store.list_messages(
        thread_id, before=depth + TAIL_MESSAGES, last=min(TAIL_MESSAGES, store.count_messages(thread_id) - depth)
    ):
        for stored in portion:
            if stored.type == "human" and stored.agent == MAIN:
                left_out, dropped = stored.depth, passed
                if dropped >= tokens:
                    return left_out, dropped
            passed += estimate_stored_tokens(stored) if stored.agent == MAIN else 0
        depth = portion[-1].depth + 1
    return left_out, dropped


def _estimate_context(path: Sequence[Message], window: Window, system: str, length: int) -> Context:
    """The path may be empty: an import can hold the messages of sub-agents alone."""
    counted = next((answer for stored in reversed(path) if (answer := _read_counted_answer(stored)) is not None), None)
    before = _estimate_content(system) + (_find_correction([counted]) if counted else 0)
    sizes = list(map(estimate_stored_tokens, path))
    start = _find_start(sizes, [stored.type == "human" for stored in path], window.max_request_tokens - before)
    tokens = max(0, before + sum(sizes[start:]))
    return Context(tokens, False, length, path[start].depth if path else length, window)


def _read_counted_answer(stored: Message) -> AIMessage | None:
    """The answer, if it was made here and its provider told its usage. A sub-agent's was counted in a context of its own."""
    if stored.type != "ai" or stored.agent != MAIN or stored.run_id is None or "usage_metadata" not in stored.body["data"]:
        return None
    answer = stored.langchain
    if not isinstance(answer, AIMessage) or read_size_note(answer, "estimated") is None:
        return None
    return answer if readable_usage(answer.usage_metadata) is not None else None


def measure_path_growth(path: Sequence[Message]) -> list[int]:
    """What a path takes, in tokens, after each of its messages: counted by the provider at an answer, estimated between."""
    sizes: list[int] = []
    tokens = 0
    for stored in path:
        if stored.agent == MAIN and not stored.damaged:
            counted = _count_stored_answer(stored)
            tokens = tokens + estimate_stored_tokens(stored) if counted is None else counted
        sizes.append(tokens)
    return sizes


def _count_stored_answer(stored: Message) -> int | None:
    """`answered_tokens` of an answer that was made here, without building it: of a long path there are thousands."""
    data = stored.body["data"]
    usage = readable_usage(data.get("usage_metadata")) if stored.type == "ai" else None
    if (
        usage is None
        or stored.run_id is None
        or not isinstance((data.get("response_metadata") or {}).get(SIZE_NOTE_KEY), dict)
    ):
        return None
    return context_tokens(usage)


def count_answer_tokens(answer: AIMessage) -> int:
    """`context_tokens` of an answer; 0 where its provider told none."""
    usage = readable_usage(answer.usage_metadata)
    return 0 if usage is None else context_tokens(usage)


def estimate_tokens(message: BaseMessage) -> int:
    return _estimate_content(message.content, message.tool_calls if isinstance(message, AIMessage) else ())


def estimate_stored_tokens(message: Message) -> int:
    """The same guess for a stored message, without building it."""
    data = message.body["data"]
    return _estimate_content(data.get("content", ""), data.get("tool_calls") or ())


def _estimate_content(content: str | list[Any], calls: Sequence[Any] = ()) -> int:
    blocks = [content] if isinstance(content, str) else content
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    written = "".join(text for text in texts if isinstance(text, str)) + (serde.to_canonical(list(calls)) if calls else "")
    return (
        len(written.encode(errors="replace")) // BYTES_PER_TOKEN + attachments.estimate_file_tokens(content) + MESSAGE_TOKENS
    )


def _sum_tokens(messages: Sequence[AnyMessage]) -> int:
    return sum(map(estimate_tokens, messages))


def read_recent_messages(
    store: Store, thread_id: str, max_tokens: int, max_messages: int, agent: str = MAIN
) -> list[Message]:
    """The end of an agent's messages on a path, from one that was put to it on: as much as a request can hold, and not all
    of a long conversation.
    """
    count = min(FIRST_READ_MESSAGES, max_messages)
    while True:
        path = store.list_messages(thread_id, last=count)
        own = [message for message in path if message.agent == agent]
        found = sum(map(estimate_stored_tokens, own))
        if len(path) < count or count == max_messages or found >= max_tokens:
            break
        missing = count * (max_tokens - found) // max(1, found)  # messages, if the earlier ones are like these
        count = min(max_messages, count + missing * 5 // 4 + 1)
    if not path or path[0].depth == 0:
        return own
    return own[next((index for index, message in enumerate(own) if message.type == "human"), 0) :]
