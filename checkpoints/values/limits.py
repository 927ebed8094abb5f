"""Limits of outside input shared by several entry points, and functions to apply them.

A limit of a single entry point is in its module: requests in `server`, tools in `agent.tools`. The table in
docs/limits.md names both.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from . import serde
from .sentence import sentence

# Numbers and names. Every JSON reader knows whole numbers up to MAX_NUMBER exactly. MAX_TOKENS, for an answer or a
# checkpoint, is PostgreSQL's largest INTEGER. A label is a provider's name for a tool, a call or a model. Longer names,
# titles and checkpoint descriptions are cut, so every export can be imported.
MAX_NUMBER = 2**53 - 1
MAX_TOKENS = 2**31 - 1
MAX_LABEL_CHARS = 500
MAX_NAME_CHARS = 500
MAX_DESCRIPTION_CHARS = 10_000

# Messages and their files. A document needs a third more room for the files of a message. An image of a few kilobytes
# can make a browser use gigabytes, so its pixels are limited.
MAX_MESSAGE_CHARS = 200_000
MAX_FILES = 5
MAX_FILES_BYTES = 7_000_000
MAX_TEXT_FILE_BYTES = 1_000_000
MAX_BINARY_FILE_BYTES = 5_000_000
MAX_PIXELS = 50_000_000
MAX_FILE_NAME_CHARS = 200

# Answers and results. MAX_ANSWER_CHARS includes the arguments of calls. The page shows MAX_CALLS calls of a message.
# MAX_ARGUMENT_LEVELS applies to each call, because an export adds levels around the arguments. MAX_ARGUMENT_VALUES applies
# to all calls of an answer together. MAX_ITEMS_CHARS (as JSON), MAX_ITEM_LEVELS and MAX_ITEM_VALUES apply to the provider's
# items in an answer's reasoning. MAX_GRAPH_MESSAGE_CHARS counts all texts of a message from a user's own graph.
MAX_ANSWER_CHARS = 500_000
MAX_CALLS = 128
MAX_ARGUMENT_LEVELS = 80
MAX_ARGUMENT_VALUES = 8_000
MAX_RESULT_CHARS = 100_000
MAX_REASONING_CHARS = 500_000
MAX_ITEMS_CHARS = 1_000_000
MAX_ITEM_LEVELS = 20
MAX_ITEM_VALUES = 8_000
MAX_GRAPH_MESSAGE_CHARS = 2_000_000

# Settings and instructions: those of a conversation, and those of a person for every conversation. The extra body is JSON:
# further fields of each request. A setting is a key, an address or a name in the form that connects a model. A prompt is
# fetched from outside.
MAX_INSTRUCTIONS_CHARS = 8_000
MAX_EXTRA_BODY_CHARS = 4_000
MAX_SETTING_CHARS = 1_000
MAX_PROMPT_CHARS = 200_000

# Saved prompts. MAX_SAVED_PROMPTS applies to an owner.
MAX_SAVED_PROMPTS = 500
MAX_SAVED_PROMPT_CHARS = 20_000

# Links for strangers.
MAX_SHARES_OF_THREAD = 50
MAX_SHARE_DAYS = 365

# People of a conversation. MAX_SHARED_THREADS limits the conversations of others a person may enter. A proxy may give
# names of MAX_MEMBER_NAME_CHARS; accounts have shorter names.
MAX_MEMBERS_OF_THREAD = 50
MAX_SHARED_THREADS = 1_000
MAX_MEMBER_NAME_CHARS = 200

# Documents, and archives of documents imported by the page. MAX_ARCHIVE_BYTES is the size of the unpacked documents, which
# are unpacked one after the other. Branches and checkpoints are counted together.
MAX_DOCUMENT_BYTES = 10_000_000
MAX_DOCUMENT_MESSAGES = 100_000
# The parts of all messages whose content is a list.
MAX_DOCUMENT_PARTS = 100_000
# Conversations in a file.
MAX_CONVERSATIONS = 200
MAX_ARCHIVE_FILE_BYTES = 50_000_000
MAX_ARCHIVE_BYTES = 200_000_000
MAX_ARCHIVE_CONVERSATIONS = 20_000
MAX_BRANCHES_AND_CHECKPOINTS = 10_000
# The newest alternatives of a message.
MAX_ALTERNATIVES = 200
# The brackets and commas outside of texts: 10 MB of the smallest messages have 370,000.
MAX_DOCUMENT_VALUES = 500_000
# States of graphs in a document. MAX_STATE_ITEMS and MAX_STATE_CHARS apply to the values of a single state, and
# MAX_STATES_ITEMS to all states together. Each item of a list counts as a value. MAX_STATES_VALUES counts the values within
# those of all states and waiting steps.
MAX_DOCUMENT_STATES = 10_000
MAX_STATE_ITEMS = 100_000
MAX_STATE_CHARS = 10_000_000
MAX_STATES_ITEMS = 10_000_000
MAX_STATES_VALUES = 1_000_000
# A message, a checkpoint or the settings are each converted in one call.
MAX_PART_VALUES = 20_000
# A message, or the further keys of a saved state. An export adds its own fields around them.
MAX_SAVED_VALUES = 19_900
# The newest messages that a view or a request reads at once.
MAX_READ_VALUES = 100_000
# The memory of a sub-agent that moves in it.
MAX_MEMORY_MESSAGES = 5_000
# Nested objects and lists in an imported file, and in a message of it.
MAX_FILE_LEVELS = 100
MAX_MESSAGE_LEVELS = MAX_FILE_LEVELS - 3

# The list of conversations. One action changes or exports MAX_SELECTED_THREADS. Longer tag names are cut.
# MAX_TAGS applies to an owner's conversations together.
MAX_SELECTED_THREADS = 1_000
MAX_TAG_CHARS = 50
MAX_TAGS_OF_THREAD = 20
MAX_TAGS = 200

# Search. Longer queries are cut. The indexed words of a message include its tool calls and attached texts.
# MAX_PATH_HITS limits the messages found within the open conversation.
MAX_QUERY_CHARS = 500
MAX_QUERY_WORDS = 32
MAX_INDEXED_WORDS = 100_000
MAX_SEARCH_HITS = 50
MAX_PATH_HITS = 1_000

_SEPARATORS = (b"[", b"{", b",")
# The bits of a number of a hundred digits.
_HUNDRED_DIGITS = 332
_LONG_NUMBER = 10**100


def to_number(value: Any) -> int | None:
    """Return a whole number from 0 to MAX_NUMBER, or None for any other value."""
    return value if type(value) is int and 0 <= value <= MAX_NUMBER else None


def to_tokens(value: Any) -> int | None:
    """Return a storable token count, or None for any other value."""
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


def to_label(value: Any) -> str:
    """Return a storable text, cut to the limit. Any other value gives an empty text."""
    return serde.sanitize_text(value[:MAX_LABEL_CHARS]) if isinstance(value, str) else ""


def describe_excess(body: Mapping[str, Any]) -> str | None:
    """Return, as a predicate, why a message is too large for an export, or None if it fits."""
    texts = (len(each) for each in iterate_values(body) if isinstance(each, str))
    if excess := describe_call_excess(body["data"]):
        return excess
    if has_more_values(body, MAX_SAVED_VALUES):
        return sentence("holds more than {limit:,} values, which is too many", limit=MAX_SAVED_VALUES)
    if is_deeper(body, MAX_MESSAGE_LEVELS):
        return sentence("is nested deeper than {limit} levels", limit=MAX_MESSAGE_LEVELS)
    if sum(texts) > MAX_GRAPH_MESSAGE_CHARS:
        return sentence("has more than {limit:,} characters", limit=MAX_GRAPH_MESSAGE_CHARS)
    return None


_LABELLED_FIELDS = frozenset({"tool_calls", "invalid_tool_calls", "name", "tool_call_id"})


def describe_call_excess(data: Mapping[str, Any]) -> str | None:
    """Describe the excess in a message's tool calls, or in the names and ids of its calls or result."""
    if _LABELLED_FIELDS.isdisjoint(data):
        # Most messages have none of these fields.
        return None
    lists = [data.get(kind) for kind in ("tool_calls", "invalid_tool_calls")]
    calls = [call for each in lists if isinstance(each, list) for call in each]
    if len(calls) > MAX_CALLS:
        return sentence("makes more than {limit} tool calls, which is too many", limit=MAX_CALLS)
    labels = [data.get("name"), data.get("tool_call_id")]
    labels += [call.get(part) for call in calls if isinstance(call, dict) for part in ("name", "id")]
    if any(isinstance(label, str) and len(label) > MAX_LABEL_CHARS for label in labels):
        return sentence("has a name or an id of more than {limit} characters", limit=MAX_LABEL_CHARS)
    return None


def iterate_values(value: Any) -> Iterator[Any]:
    """Yield the values of JSON, without recursion."""
    holders: list[Any] = [value] if isinstance(value, (dict, list)) else []
    # The list grows during the loop.
    for each in holders:
        for below in each.values() if isinstance(each, dict) else each:
            yield below
            if isinstance(below, (dict, list)):
                holders.append(below)


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether JSON nests more than `levels` objects and lists."""
    level = [value]
    for _ in range(levels + 1):
        holders = [each for each in level if isinstance(each, (dict, list))]
        level = [below for each in holders for below in (each.values() if isinstance(each, dict) else each)]
        if not holders:
            return False
    return True


def has_more_values(value: Any, limit: int) -> bool:
    return count_values(value, limit) > limit


def has_too_many_separators(raw: bytes, max_values: int) -> bool:
    """Return whether unparsed JSON has too many brackets and commas outside of texts for `max_values` values.

    Each value needs fewer than two separators, so smaller JSON is never refused.
    """
    return has_more_separators(raw, 2 * max_values)


def has_more_separators(raw: bytes, limit: int) -> bool:
    """Return whether unparsed JSON has more brackets and commas outside of texts. Each may have four quotes."""
    # This count includes separators within texts.
    if sum(map(raw.count, _SEPARATORS)) <= limit:
        return False
    # Escapes could hide the end of a text.
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * limit:
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return sum(map(outside.count, _SEPARATORS)) > limit


def count_values(value: Any, limit: int) -> int:
    """Count the objects, lists, texts and numbers of JSON, and stop soon after `limit`.

    A number counts once more for each hundred digits, because writing it takes the square of its length.
    """
    holders: list[Any] = [value] if isinstance(value, (dict, list)) else []
    count = 1
    # The list grows during the loop.
    for each in holders:
        count += len(each)
        if count > limit:
            break
        for below in each.values() if isinstance(each, dict) else each:
            if isinstance(below, (dict, list)):
                holders.append(below)
            elif type(below) is int and not -_LONG_NUMBER < below < _LONG_NUMBER:
                count += below.bit_length() // _HUNDRED_DIGITS
    return count
