"""Limits of input from outside that several entry points share, and the functions that apply them.

A limit of one entry point alone is in its module: of requests in `server`, of tools in `agent.tools`. The table in
docs/limits.md names both.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from . import serde
from .sentence import sentence

# Numbers and names
MAX_NUMBER = 2**53 - 1  # the largest whole number that every reader of JSON knows exactly
MAX_TOKENS = 2**31 - 1  # of one answer, or of a checkpoint: the largest INTEGER of PostgreSQL
MAX_LABEL_CHARS = 500  # of a provider's name for a tool, a call or a model
MAX_NAME_CHARS = 500  # of a title or a name; `names.clean_name` cuts a longer one, so that every export can be imported
MAX_DESCRIPTION_CHARS = 10_000  # of a checkpoint; a longer one is cut

# Messages and their files
MAX_MESSAGE_CHARS = 200_000  # of a text that a user sends
MAX_FILES = 5  # of one message
MAX_FILES_BYTES = 7_000_000  # of all files of one message: a document has a third more for them
MAX_TEXT_FILE_BYTES = 1_000_000
MAX_BINARY_FILE_BYTES = 5_000_000  # of an image or a PDF
MAX_PIXELS = 50_000_000  # a few kilobytes can ask a browser for gigabytes
MAX_FILE_NAME_CHARS = 200

# Answers and results
MAX_ANSWER_CHARS = 500_000  # its calls' arguments included
MAX_CALLS = 128  # of one message: the page shows as many
MAX_ARGUMENT_LEVELS = 80  # in the arguments of a call: an export puts its own levels around them
MAX_ARGUMENT_VALUES = 8_000  # of all calls of one answer
MAX_RESULT_CHARS = 100_000  # of one tool call
MAX_REASONING_CHARS = 500_000  # of one answer's reasoning
MAX_ITEMS_CHARS = 1_000_000  # of the provider's items in it, as JSON
MAX_ITEM_LEVELS = 20  # of objects and lists within one another
MAX_ITEM_VALUES = 8_000  # of all these items
MAX_GRAPH_MESSAGE_CHARS = 2_000_000  # of all texts of a message that a graph of one's own writes

# Settings and instructions
MAX_INSTRUCTIONS_CHARS = 8_000  # of one conversation
MAX_EXTRA_BODY_CHARS = 4_000  # of further fields of each request, as JSON
MAX_SETTING_CHARS = 1_000  # of a key, an address or a name in the form that connects a model
MAX_PROMPT_CHARS = 200_000  # of instructions that are fetched

# Saved prompts
MAX_SAVED_PROMPTS = 500  # of one owner
MAX_SAVED_PROMPT_CHARS = 20_000  # of the text of one

# Links for strangers
MAX_SHARES_OF_THREAD = 50
MAX_SHARE_DAYS = 365

# People of a conversation
MAX_MEMBERS_OF_THREAD = 50
MAX_SHARED_THREADS = 1_000  # that one person is let into
MAX_MEMBER_NAME_CHARS = 200  # as many as a proxy may give a person; an account has fewer

# Documents
MAX_DOCUMENT_BYTES = 10_000_000
MAX_DOCUMENT_MESSAGES = 100_000
MAX_DOCUMENT_PARTS = 100_000  # of the contents of all messages, where they are lists
MAX_CONVERSATIONS = 200  # in one file
MAX_ARCHIVE_FILE_BYTES = 50_000_000  # of an archive of documents that the page imports
MAX_ARCHIVE_BYTES = 200_000_000  # of its documents, unpacked one after the other
MAX_ARCHIVE_CONVERSATIONS = 20_000  # in one archive
MAX_BRANCHES_AND_CHECKPOINTS = 10_000  # together
MAX_ALTERNATIVES = 200  # of one message, the newest of them
MAX_DOCUMENT_VALUES = 1_000_000  # brackets and commas outside of texts
MAX_DOCUMENT_OBJECTS = 250_000  # objects and lists of these values: of the smallest messages, 10 MB have half as many
MAX_DOCUMENT_STATES = 10_000  # of a graph
MAX_STATE_ITEMS = 100_000  # values that one of them names, each item of a list
MAX_STATE_CHARS = 10_000_000  # of these values together
MAX_STATES_ITEMS = 10_000_000  # values that all of them name
MAX_PART_VALUES = 20_000  # of one message, one checkpoint or the settings: each is converted in one call
MAX_SAVED_VALUES = 19_900  # of one message, or the further keys, of a saved state: an export puts its own fields around them
MAX_READ_VALUES = 100_000  # of the messages that a view or a request reads at once, the newest
MAX_MEMORY_MESSAGES = 5_000  # of a sub-agent that moves in its memory
MAX_FILE_LEVELS = 100  # of objects and lists within one another, in a file that is imported
MAX_MESSAGE_LEVELS = MAX_FILE_LEVELS - 3  # of a message in it

# The list of conversations
MAX_SELECTED_THREADS = 1_000  # that one action changes or exports
MAX_TAG_CHARS = 50  # of the name of a tag; a longer one is cut
MAX_TAGS_OF_THREAD = 20
MAX_TAGS = 200  # of one owner, on all conversations

# Search
MAX_QUERY_CHARS = 500  # of a query; a longer one is cut
MAX_QUERY_WORDS = 32
MAX_INDEXED_WORDS = 100_000  # of a message, with its tool calls and attached texts: those that can be found
MAX_SEARCH_HITS = 50  # of one search
MAX_PATH_HITS = 1_000  # messages of the open conversation that are found in it

_SEPARATORS = (b"[", b"{", b",")
_HUNDRED_DIGITS = 332  # in bits
_LONG_NUMBER = 10**100


def to_number(value: Any) -> int | None:
    """Return a whole number from 0 on; None for any other value."""
    return value if type(value) is int and 0 <= value <= MAX_NUMBER else None


def to_tokens(value: Any) -> int | None:
    """Return a count of tokens that can be stored; None for any other value."""
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


def to_label(value: Any) -> str:
    """Return a text that can be stored, cut to the limit; an empty text for any other value."""
    return serde.sanitize_text(value[:MAX_LABEL_CHARS]) if isinstance(value, str) else ""


def describe_excess(body: Mapping[str, Any]) -> str | None:
    """Return why a message is larger than an export may hold, as a predicate; None for any other message."""
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
    """Describe the excess in the tool calls of a message and in the names and ids of them and of a result."""
    if _LABELLED_FIELDS.isdisjoint(data):  # as in most messages
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
    for each in holders:  # it grows on the way
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
    """Return whether JSON consists of more than `limit` values, as `count_values` counts them."""
    return count_values(value, limit) > limit


def has_too_many_separators(raw: bytes, max_values: int) -> bool:
    """Return whether JSON, unparsed, has so many brackets and commas outside of texts that it holds more values.

    It has fewer than two of them, and of quotes four, for each value. JSON of fewer values never has too many.
    """
    if sum(map(raw.count, _SEPARATORS)) <= 2 * max_values:  # also within texts
        return False
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")  # the escapes that could hide the end of a text
    if bare.count(b'"') > 4 * max_values:
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return sum(map(outside.count, _SEPARATORS)) > 2 * max_values


def count_values(value: Any, limit: int) -> int:
    """Count the objects, lists, texts and numbers of JSON, and stop soon after `limit`.

    A number of hundreds of digits counts as one more for each hundred: writing it takes the square of its length.
    """
    holders: list[Any] = [value] if isinstance(value, (dict, list)) else []
    count = 1
    for each in holders:  # it grows on the way
        count += len(each)
        if count > limit:
            break
        for below in each.values() if isinstance(each, dict) else each:
            if isinstance(below, (dict, list)):
                holders.append(below)
            elif type(below) is int and not -_LONG_NUMBER < below < _LONG_NUMBER:
                count += below.bit_length() // _HUNDRED_DIGITS
    return count
