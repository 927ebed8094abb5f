"""The end of a path that fits a request, found before any message is built. Pure functions.

The cost of a request depends on the messages in the model's window, rather than on the stored messages. A file of 10 MB
may hold 100,000 calls, or a million values.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from agent.context.answer_notes import SizeNote
from agent.context.request import UNKNOWN_RESULT_TEXT
from agent.context.tokens import estimate_content, read_counted_answer
from agent.context.usage import readable_usage
from checkpoints import MAIN, Message, MessageStatus
from checkpoints.values.limits import MAX_READ_VALUES, count_values

_SENT_TYPES = frozenset({"human", "ai", "tool"})
_MISSING_RESULT_TOKENS = estimate_content(UNKNOWN_RESULT_TEXT)


def is_question(message: Message, agent: str) -> bool:
    """Return whether a message begins a turn of an agent."""
    return message.type == "human" and message.agent == agent


def find_end(path: Sequence[Message], sizes: Sequence[int], max_size: int, agent: str) -> int:
    """Return the start of the longest end within `max_size`. It always contains the agent's last question."""
    sums = list(accumulate(reversed(sizes)))
    start = len(path) - max(min(1, len(path)), bisect_right(sums, max_size))
    if any(is_question(message, agent) for message in path[start:]):
        return start
    return next((index for index in range(start - 1, -1, -1) if is_question(path[index], agent)), start)


def count_message_values(message: Message) -> int:
    """Count the values of a message's JSON, but stop soon after MAX_READ_VALUES."""
    return count_values(message.body, MAX_READ_VALUES)


def cut_values(path: Sequence[Message], agent: str) -> list[Message]:
    """Return the end of a path with at most MAX_READ_VALUES, by the rule of `find_end`."""
    return list(path[find_end(path, list(map(count_message_values, path)), MAX_READ_VALUES, agent) :])


def cut_tokens(path: Sequence[Message], tokens: Sequence[int], max_tokens: int) -> list[Message]:
    """Return the end of a path from which `fit_to_window` chooses. `tokens` are the main agent's tokens of each message.

    If the provider counts fewer tokens than the estimate, more messages fit, at most twice as many.
    """
    spare_tokens = max_tokens + min(max_tokens, max(0, -_find_path_correction(path)))
    missing_tokens = _measure_missing_results(path)
    sizes = [
        size + missing if message.body["type"] in _SENT_TYPES else 0
        for message, size, missing in zip(path, tokens, missing_tokens, strict=True)
    ]
    return list(path[find_end(path, sizes, spare_tokens, MAIN) :])


def _find_path_correction(path: Sequence[Message]) -> int:
    """Return the tokens that the estimate of the last counted request missed."""
    for stored in reversed(path):
        answer = read_counted_answer(stored)
        if answer is not None and (usage := readable_usage(answer.usage_metadata)):
            note = SizeNote.of(answer)
            return usage["input_tokens"] - (note.estimated if note else 0)
    return 0


def _measure_missing_results(path: Sequence[Message]) -> list[int]:
    """Return the tokens that a request adds to each message for calls without a result.

    The last calls are left out, since a run may be running them.
    """
    found, results, is_last = [0] * len(path), 0, True
    for index in range(len(path) - 1, -1, -1):
        message = path[index]
        if message.agent != MAIN or (kind := message.body["type"]) == "human":
            continue
        if kind == "tool":
            results += 1
        elif (calls := len(message.body["data"].get("tool_calls") or ())) and message.status is MessageStatus.DONE:
            found[index] = 0 if is_last else max(0, calls - results) * _MISSING_RESULT_TOKENS
            results, is_last = 0, False
    return found
