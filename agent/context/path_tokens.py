"""Estimates the tokens of a part of a path from few of its messages."""

from dataclasses import dataclass

from agent.context.tokens import BYTES_PER_TOKEN, MESSAGE_TOKENS, sum_stored_tokens
from checkpoints import Store
from checkpoints.values.limits import MAX_READ_VALUES

SAMPLE_MESSAGES = 100
# The least number of the agent's messages in a sample. Below it, messages around the agent's previous answer are read, too.
_MIN_SAMPLE_MESSAGES = 20


@dataclass(frozen=True, slots=True)
class _Sample:
    """An agent's sampled messages between two depths."""

    first: int
    before: int
    tokens: int
    count: int


def sum_path_tokens(store: Store, thread_id: str, agent: str, first: int, before: int) -> int:
    """Estimate the tokens of an agent's messages between two depths.

    At most the last SAMPLE_MESSAGES are read. For the others, the JSON's bytes are known, less the sample's average of
    bytes beside the texts. If other agents wrote the last messages, an earlier sample is read as well.
    """
    if first >= before:
        return 0
    with store.database.begin_read():
        parts = [_read_sample(store, thread_id, agent, first, before)]
        if (start := parts[0].first) > first and parts[0].count < _MIN_SAMPLE_MESSAGES:
            answer = store.find_answer(thread_id, agent, -1, before=start)
            if answer is not None and answer.depth >= first:
                parts.insert(0, _read_sample(store, thread_id, agent, first, answer.depth + 1))
        gaps = zip([first, *(part.before for part in parts)], [*(part.first for part in parts), before], strict=True)
        rest = [store.measure_messages(thread_id, agent, first=start, before=end) for start, end in gaps]
        tokens, count = sum(part.tokens for part in parts), sum(size.count for size in rest)
        if count == 0:
            return tokens
        known = [store.measure_messages(thread_id, agent, first=part.first, before=part.before) for part in parts]
    known_bytes, known_count = sum(size.byte_count for size in known), sum(size.count for size in known)
    # The JSON beside the text of one message, in tokens.
    frame = (known_bytes / BYTES_PER_TOKEN - tokens) / max(1, known_count)
    rest_bytes = sum(size.byte_count for size in rest)
    return tokens + max(MESSAGE_TOKENS * count, round(rest_bytes / BYTES_PER_TOKEN - frame * count))


def _read_sample(store: Store, thread_id: str, agent: str, first: int, before: int) -> _Sample:
    """Read an agent's messages among the last SAMPLE_MESSAGES between two depths."""
    count = min(before - first, SAMPLE_MESSAGES)
    read = store.list_messages(thread_id, last=count, before=before, agent=agent, max_values=MAX_READ_VALUES)
    start = read[0].depth if read else before - count
    return _Sample(start, before, sum_stored_tokens(read, agent), len(read))
