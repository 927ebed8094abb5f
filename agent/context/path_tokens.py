"""The tokens of a part of a path, estimated from few of its messages."""

from agent.context.tokens import BYTES_PER_TOKEN, MESSAGE_TOKENS, sum_stored_tokens
from checkpoints import Store
from checkpoints.values.limits import MAX_READ_VALUES

SAMPLE_MESSAGES = 100


def sum_path_tokens(store: Store, thread_id: str, agent: str, first: int, before: int) -> int:
    """Estimate the tokens of an agent's messages between two depths.

    Of more than SAMPLE_MESSAGES, the last are read. The others are estimated from the bytes of their JSON, less the bytes
    beside the texts in the JSON of those that were read.
    """
    if first >= before:
        return 0
    count = min(before - first, SAMPLE_MESSAGES)
    with store.database.begin_read():
        read = store.list_messages(thread_id, last=count, before=before, agent=agent, max_values=MAX_READ_VALUES)
        tokens, start = sum_stored_tokens(read, agent), read[0].depth if read else before - count
        rest = store.measure_messages(thread_id, agent, first=first, before=start)
        if rest.count == 0:
            return tokens
        known = store.measure_messages(thread_id, agent, first=start, before=before)
    frame = (known.byte_count / BYTES_PER_TOKEN - tokens) / max(1, known.count)  # of one message, in tokens
    return tokens + max(MESSAGE_TOKENS * rest.count, round(rest.byte_count / BYTES_PER_TOKEN - frame * rest.count))
