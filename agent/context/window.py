"""A model's window, and the part of a conversation that fits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from agent.context.answer_notes import SizeNote
from agent.context.request import read_position
from agent.context.tokens import estimate_tokens
from agent.context.usage import readable_usage
from agent.message_cache import cache_by_message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEFAULT_WINDOW_TOKENS = 100_000
DEFAULT_ANSWER_TOKENS = 16_384
# The names of the setting in LangChain's packages.
MAX_TOKENS_FIELDS = ("max_tokens", "max_output_tokens", "num_predict")
# A path goes to the model before each answer.
_estimate_once = cache_by_message(estimate_tokens)
# A message and its estimated tokens.
_Sized = tuple[AnyMessage, int]
LEFT_OUT_TEXT = "(This result was left out of the request: the conversation is longer than the model can read.)"


@dataclass(frozen=True, slots=True)
class Window:
    """A model's window in tokens, and the part that is reserved for the answer."""

    tokens: int
    answer_tokens: int

    @property
    def max_request_tokens(self) -> int:
        return self.tokens - self.answer_tokens


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model: the instructions and the end of a path."""

    messages: list[AnyMessage]
    # Tokens of all messages.
    estimated_tokens: int
    # Tokens that the estimate missed at the last answer with a usage, such as tools.
    correction_tokens: int
    # Number of messages of the path before the request's first message.
    left_out_count: int

    @property
    def tokens(self) -> int:
        return max(0, self.estimated_tokens + self.correction_tokens)

    @property
    def size_note(self) -> SizeNote:
        """Return the note to keep with the answer, so its usage can correct the next estimate."""
        return SizeNote(self.estimated_tokens, self.left_out_count)


def find_window(model: BaseChatModel | None, max_tokens: int | None = None) -> Window:
    """Return a model's window from its package, limited to `max_tokens`. An unknown model has only the limit."""
    profile = (model.profile if model else None) or {}
    sizes = (profile.get("max_input_tokens"), max_tokens)
    tokens = min((size for size in sizes if size), default=DEFAULT_WINDOW_TOKENS)
    # The answer counts for some models and not for others, and the packages do not report which.
    reserved = min(profile.get("max_output_tokens") or DEFAULT_ANSWER_TOKENS, tokens // 3)
    # Servers refuse a request whose answer could not fit. A quarter of the window stays for the request.
    return Window(tokens, max(reserved, min(read_max_tokens(model), tokens * 3 // 4)))


def read_max_tokens(model: BaseChatModel | None) -> int:
    """Return the limit of a model's answer in its settings, or 0 if there is none."""
    values = (getattr(model, name, None) for name in MAX_TOKENS_FIELDS)
    return max((value for value in values if isinstance(value, int)), default=0)


def fit_to_window(messages: Sequence[AnyMessage], max_tokens: int) -> ModelRequest:
    """Return the instructions and the longest fitting end of the path. It begins with a user's message, so no pair is
    split.

    The last turn is always included. If it alone is too long, a note replaces its old results. Unanswered results stay.
    """
    sizes = list(map(_estimate_once, messages))
    system = [message for message in messages if isinstance(message, SystemMessage)]
    path = [sized for sized in zip(messages, sizes, strict=True) if not isinstance(sized[0], SystemMessage)]
    system_tokens = sum(sizes) - _sum_sizes(path)
    # The bound keeps an imported file from making a long request seem short.
    correction = max(find_correction(messages), -sum(sizes) // 2)
    spare = max_tokens - correction - system_tokens
    sent_path = _empty_old_results(_cut_to_fit(path, spare), spare)
    sent = [*system, *(message for message, _ in sent_path)]
    first = next((position for message in sent if (position := read_position(message)) is not None), 0)
    return ModelRequest(sent, system_tokens + _sum_sizes(sent_path), correction, first)


def _sum_sizes(path: Sequence[_Sized]) -> int:
    return sum(size for _, size in path)


def _cut_to_fit(path: Sequence[_Sized], max_tokens: int) -> Sequence[_Sized]:
    # Most paths fit.
    if _sum_sizes(path) <= max_tokens:
        return path

    def begins_turn(index: int) -> bool:
        message, _ = path[index]
        return isinstance(message, HumanMessage) and read_position(message) is not None

    return path[find_start([size for _, size in path], begins_turn, max_tokens) :]


def find_start(sizes: Sequence[int], begins_turn: Callable[[int], bool], max_tokens: int) -> int:
    """Return the start of the longest fitting end. It begins a turn and contains at least the last turn.

    `begins_turn` is called only near that start.
    """
    tokens, first = sum(sizes), 0
    while first < len(sizes) and tokens > max_tokens:
        tokens -= sizes[first]
        first += 1
    if first == 0:
        return 0
    found = next(filter(begins_turn, range(first, len(sizes))), None)
    return found if found is not None else next(filter(begins_turn, range(first - 1, -1, -1)), 0)


def _empty_old_results(turn: Sequence[_Sized], max_tokens: int) -> Sequence[_Sized]:
    if (excess_tokens := _sum_sizes(turn) - max_tokens) <= 0:
        return turn
    call_positions = (
        index for index, (message, _) in enumerate(turn) if isinstance(message, AIMessage) and message.tool_calls
    )
    newest = max(call_positions, default=0)
    kept: list[_Sized] = []
    for index, (message, size) in enumerate(turn):
        if (
            excess_tokens > 0
            and index < newest
            and isinstance(message, ToolMessage)
            and len(message.text) > len(LEFT_OUT_TEXT)
        ):
            empty_result = message.model_copy(update={"content": LEFT_OUT_TEXT})
            kept.append((empty_result, estimate_tokens(empty_result)))
            excess_tokens -= size - kept[-1][1]
        else:
            kept.append((message, size))
    return kept


def find_correction(path: Sequence[AnyMessage]) -> int:
    for message in reversed(path):
        usage = readable_usage(message.usage_metadata) if isinstance(message, AIMessage) else None
        if usage is not None and (note := SizeNote.of(message)) and note.estimated:
            return usage["input_tokens"] - note.estimated
    return 0
