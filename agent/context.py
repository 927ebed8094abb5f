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

from agent import attached
from agent.request import SENT, position_of
from agent.usage import context_tokens, readable_usage
from checkpoints import MAIN, Message, Store, serde
from checkpoints.limits import to_tokens

BYTES_PER_TOKEN = 4  # of UTF-8: near the truth for English, code and, unlike characters, for Chinese
MESSAGE_TOKENS = 4  # what a message takes beside its text
UNKNOWN_WINDOW = 100_000  # tokens
UNKNOWN_ANSWER = 16_384  # tokens
FIRST_READ = 400  # messages
TAIL = 60  # messages
EMPTIED = "(This result was left out of the request: the conversation is longer than the model can read.)"


@dataclass(frozen=True, slots=True)
class Window:
    """How many tokens a model can read and write at once, and how many of them are kept free for its answer."""

    tokens: int
    answer: int

    @property
    def most(self) -> int:
        """What a request may take."""
        return self.tokens - self.answer


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked: the instructions and the end of a path."""

    messages: list[AnyMessage]
    estimated: int  # tokens of them all
    correction: int  # by how much the estimate was too small for the last answer that told its usage: tools count there
    left_out: int  # how many messages of the path stand before the first one in here

    @property
    def tokens(self) -> int:
        return max(0, self.estimated + self.correction)

    @property
    def note(self) -> dict[str, int]:
        """What is kept with the answer, so that its usage can correct the next estimate."""
        return {"estimated": self.estimated, "left_out": self.left_out}


@dataclass(frozen=True, slots=True)
class Context:
    """How full a model's window is when a conversation goes on."""

    tokens: int
    is_exact: bool  # counted by the provider and not estimated
    messages: int  # of the path
    left_out: int  # of them, from its beginning: the model does not see them any more
    window: Window


def window_of(model: BaseChatModel | None, most: int | None = None) -> Window:
    """A model's window as its package knows it, but no more than `most`; that alone for a model that it does not know."""
    profile = (model.profile if model else None) or {}
    known = (profile.get("max_input_tokens"), most)
    tokens = min((size for size in known if size), default=UNKNOWN_WINDOW)
    # Of some models the answer has to fit in as well, of others not; the packages do not tell which.
    return Window(tokens, min(profile.get("max_output_tokens") or UNKNOWN_ANSWER, tokens // 3))


def fitted(messages: Sequence[AnyMessage], most: int) -> Asked:
    """The instructions and the longest end of the path that fits, from a user's message on, so that no pair is torn.

    The last turn is always in it. Where it alone is too long, its old results are left out, each with a note in its place;
    those that the model has not answered to yet stay.
    """
    system = [message for message in messages if isinstance(message, SystemMessage)]
    path = [message for message in messages if not isinstance(message, SystemMessage)]
    correction = max(_correction(path), -_sum(messages) // 2)  # no file makes a long request a short one
    spare = most - correction - _sum(system)
    kept = _emptied(_cut(path, spare), spare)
    first = next((place for message in kept if (place := position_of(message)) is not None), 0)
    return Asked([*system, *kept], _sum(system) + _sum(kept), correction, first)


def _cut(path: Sequence[AnyMessage], most: int) -> list[AnyMessage]:
    turns = [isinstance(message, HumanMessage) and position_of(message) is not None for message in path]
    return list(path[_start(list(map(estimated_tokens, path)), turns, most) :])


def _start(sizes: Sequence[int], turns: Sequence[bool], most: int) -> int:
    """Where the longest end begins that fits, at a message that begins a turn; with the last turn in it at least."""
    to_end = list(accumulate(reversed(sizes)))[::-1]
    begins = [index for index, is_begin in enumerate(turns) if is_begin]
    if not begins or to_end[0] <= most:
        return 0
    return next((start for start in begins if to_end[start] <= most), begins[-1])


def _emptied(turn: list[AnyMessage], most: int) -> list[AnyMessage]:
    asking = (index for index, message in enumerate(turn) if isinstance(message, AIMessage) and message.tool_calls)
    newest = max(asking, default=0)
    over = _sum(turn) - most
    whole: list[AnyMessage] = []
    for index, message in enumerate(turn):
        if over > 0 and index < newest and isinstance(message, ToolMessage) and len(message.text) > len(EMPTIED):
            emptied = message.model_copy(update={"content": EMPTIED})
            over -= estimated_tokens(message) - estimated_tokens(emptied)
            whole.append(emptied)
        else:
            whole.append(message)
    return whole


def _correction(path: Sequence[AnyMessage]) -> int:
    for message in reversed(path):
        usage = readable_usage(message.usage_metadata) if isinstance(message, AIMessage) else None
        if usage is not None and (estimated := noted(message, "estimated")):
            return usage["input_tokens"] - estimated
    return 0


def noted(answer: BaseMessage, name: str) -> int | None:
    """What was noted of the request for an answer; None for one that was made elsewhere (a file may say anything)."""
    note = answer.response_metadata.get(SENT)
    return to_tokens(note.get(name)) if isinstance(note, dict) else None


def context_of(store: Store, thread_id: str, window: Window, system: str, most_messages: int) -> Context | None:
    """How full the window is when a conversation goes on; None before its first message.

    Where the provider counted one of the last messages, only few are read: asking costs the same in a long conversation.
    """
    tail = store.messages(thread_id, last=TAIL)
    if not tail:
        return None
    after = 0
    for place, stored in enumerate(reversed(tail)):
        if (answer := _counted(stored)) is not None:
            first, tokens = noted(answer, "left_out") or 0, answered_tokens(answer) + after
            if tokens <= window.most:
                return Context(tokens, place == 0, tail[-1].depth + 1, first, window)
            left_out, dropped = _dropped(store, thread_id, first, tokens - window.most)
            return Context(tokens - dropped, False, tail[-1].depth + 1, left_out, window)
        after += stored_tokens(stored) if stored.agent == MAIN else 0
    return _estimated(recent(store, thread_id, window.tokens, most_messages), window, system, tail[-1].depth + 1)


def _dropped(store: Store, thread_id: str, first: int, tokens: int) -> tuple[int, int]:
    """What is left out of a request that has to be that many tokens smaller than one from `first` on, and its size."""
    left_out, dropped, passed, depth = first, 0, 0, first
    while portion := store.messages(thread_id, before=depth + TAIL, last=min(TAIL, store.length(thread_id) - depth)):
        for stored in portion:
            if stored.type == "human" and stored.agent == MAIN:
                left_out, dropped = stored.depth, passed
                if dropped >= tokens:
                    return left_out, dropped
            passed += stored_tokens(stored) if stored.agent == MAIN else 0
        depth = portion[-1].depth + 1
    return left_out, dropped


def _estimated(path: Sequence[Message], window: Window, system: str, length: int) -> Context:
    """The path may be empty: an import can hold the messages of sub-agents alone."""
    counted = next((answer for stored in reversed(path) if (answer := _counted(stored)) is not None), None)
    before = _estimate(system) + (_correction([counted]) if counted else 0)
    sizes = list(map(stored_tokens, path))
    start = _start(sizes, [stored.type == "human" for stored in path], window.most - before)
    tokens = max(0, before + sum(sizes[start:]))
    return Context(tokens, False, length, path[start].depth if path else length, window)


def _counted(stored: Message) -> AIMessage | None:
    """The answer, if it was made here and its provider told its usage. A sub-agent's was counted in a context of its own."""
    if stored.type != "ai" or stored.agent != MAIN or stored.run_id is None or "usage_metadata" not in stored.body["data"]:
        return None
    answer = stored.langchain
    if not isinstance(answer, AIMessage) or noted(answer, "estimated") is None:
        return None
    return answer if readable_usage(answer.usage_metadata) is not None else None


def growth(path: Sequence[Message]) -> list[int]:
    """What a path takes, in tokens, after each of its messages: counted by the provider at an answer, estimated between."""
    sizes: list[int] = []
    tokens = 0
    for stored in path:
        if stored.agent == MAIN and not stored.damaged:
            counted = _told(stored)
            tokens = tokens + stored_tokens(stored) if counted is None else counted
        sizes.append(tokens)
    return sizes


def _told(stored: Message) -> int | None:
    """`answered_tokens` of an answer that was made here, without building it: of a long path there are thousands."""
    data = stored.body["data"]
    usage = readable_usage(data.get("usage_metadata")) if stored.type == "ai" else None
    if usage is None or stored.run_id is None or not isinstance((data.get("response_metadata") or {}).get(SENT), dict):
        return None
    return context_tokens(usage)


def answered_tokens(answer: AIMessage) -> int:
    """`context_tokens` of an answer; 0 where its provider told none."""
    usage = readable_usage(answer.usage_metadata)
    return 0 if usage is None else context_tokens(usage)


def estimated_tokens(message: BaseMessage) -> int:
    return _estimate(message.content, message.tool_calls if isinstance(message, AIMessage) else ())


def stored_tokens(message: Message) -> int:
    """The same guess for a stored message, without building it."""
    data = message.body["data"]
    return _estimate(data.get("content", ""), data.get("tool_calls") or ())


def _estimate(content: str | list[Any], calls: Sequence[Any] = ()) -> int:
    blocks = [content] if isinstance(content, str) else content
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    written = "".join(text for text in texts if isinstance(text, str)) + (serde.canonical(list(calls)) if calls else "")
    return len(written.encode(errors="replace")) // BYTES_PER_TOKEN + attached.tokens(content) + MESSAGE_TOKENS


def _sum(messages: Sequence[AnyMessage]) -> int:
    return sum(map(estimated_tokens, messages))


def recent(store: Store, thread_id: str, most_tokens: int, most_messages: int, agent: str = MAIN) -> list[Message]:
    """The end of an agent's messages on a path, from one that was put to it on: as much as a request can hold, and not all
    of a long conversation.
    """
    count = min(FIRST_READ, most_messages)
    while True:
        path = store.messages(thread_id, last=count)
        own = [message for message in path if message.agent == agent]
        found = sum(map(stored_tokens, own))
        if len(path) < count or count == most_messages or found >= most_tokens:
            break
        missing = count * (most_tokens - found) // max(1, found)  # messages, if the earlier ones are like these
        count = min(most_messages, count + missing * 5 // 4 + 1)
    if not path or path[0].depth == 0:
        return own
    return own[next((index for index, message in enumerate(own) if message.type == "human"), 0) :]
