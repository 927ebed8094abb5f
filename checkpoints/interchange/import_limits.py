"""The limits of a document: an import refuses a document beyond one, and an export says so before its file leaves.

The counts are here; `strict_json` limits values and nesting, `state_checks` the states.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..values.errors import InvalidDocumentError
from ..values.limits import (
    MAX_ALTERNATIVES,
    MAX_BRANCHES_AND_CHECKPOINTS,
    MAX_DOCUMENT_BYTES,
    MAX_DOCUMENT_MESSAGES,
    MAX_DOCUMENT_PARTS,
    describe_call_excess,
)
from ..values.model import Json
from ..values.sentence import sentence
from . import image_parts, strict_json
from .state_checks import check_state_sizes
from .waymark import WrittenDocument


def describe_exceeded_limit(document: Json, written: WrittenDocument) -> str | None:
    """Return the sentence with which an import would refuse an export; None if no limit is exceeded.

    The written document is not parsed.
    """
    try:
        _check_limits(document, written)
    except InvalidDocumentError as error:
        return f"{str(error).rstrip('.')}."
    return None


def _check_limits(document: Json, written: WrittenDocument) -> None:
    check_byte_count(len(written.text))  # a character has one byte at least
    check_message_count(len(document["messages"]))
    contents = [message["message"]["data"].get("content") for message in document["messages"]]
    check_part_count(sum(len(content) for content in contents if isinstance(content, list)))
    check_branch_and_checkpoint_count(len(document["branches"]), len(document["checkpoints"]))
    check_alternatives([message["parent_id"] for message in document["messages"]])
    for index, (message, content) in enumerate(zip(document["messages"], contents, strict=True)):
        if excess := describe_call_excess(message["message"]["data"]):
            raise InvalidDocumentError(excess, f"messages[{index}].message")
        if isinstance(content, list):
            check_content(message["message"], f"messages[{index}].message")
    raw = written.text.encode()
    check_byte_count(len(raw))
    strict_json.check_value_count(raw)
    strict_json.check_part(document["thread"], "thread")
    for name in ("messages", "checkpoints", "states", "state_writes"):
        strict_json.check_parts(document.get(name, ()), written.list_texts(name), name)
    values, texts = document.get("states", ()), document.get("state_values", ())
    check_state_sizes([part["values"] for part in values], [part["json"] for part in texts])
    if any(map(strict_json.may_be_deep, written.list_texts())):
        strict_json.check_levels(document)


def check_byte_count(count: int) -> None:
    """Raise `InvalidDocumentError` for a file that is too large. So do the other checks, for the document in it."""
    if count > MAX_DOCUMENT_BYTES:
        raise InvalidDocumentError(sentence("The file is larger than {limit} MB.", limit=MAX_DOCUMENT_BYTES // 1_000_000))


def check_message_count(count: int) -> None:
    if count > MAX_DOCUMENT_MESSAGES:
        raise InvalidDocumentError(
            sentence("should have at most {limit} items, not {count}", limit=MAX_DOCUMENT_MESSAGES, count=count), "messages"
        )


def check_part_count(count: int) -> None:
    """Limit the parts of all contents: each is checked by itself."""
    if count > MAX_DOCUMENT_PARTS:
        raise InvalidDocumentError(
            sentence("have more than {limit:,} parts in their contents, which is too many", limit=MAX_DOCUMENT_PARTS),
            "messages",
        )


def count_parts(message: Any) -> int:
    """Count the parts of a message's content. The message may have any form."""
    for name in ("message", "data", "content"):
        message = message.get(name) if isinstance(message, dict) else None
    return len(message) if isinstance(message, list) else 0


def check_branch_and_checkpoint_count(branches: int, checkpoints: int) -> None:
    if branches + checkpoints > MAX_BRANCHES_AND_CHECKPOINTS:
        field = "branches" if branches > checkpoints else "checkpoints"
        raise InvalidDocumentError(
            sentence(
                "are too many: at most {limit:,} branches and checkpoints can be imported",
                limit=MAX_BRANCHES_AND_CHECKPOINTS,
            ),
            field,
        )


def check_alternatives(parents: Sequence[str | None]) -> None:
    """Limit the alternatives of a message: the page offers all of them."""
    following = Counter(parents)
    for index, parent in enumerate(parents):
        if following[parent] > MAX_ALTERNATIVES:
            reason = sentence(
                "is one of {number:,} alternatives, and there may be {limit}",
                number=following[parent],
                limit=MAX_ALTERNATIVES,
            )
            raise InvalidDocumentError(reason, f"messages[{index}]")


def check_calls(body: dict[str, Any], field: str) -> None:
    """Limit the tool calls of a message, and the names and ids of these calls and of a result."""
    if excess := describe_call_excess(body["data"]):
        raise InvalidDocumentError(excess, field)


def check_content(body: dict[str, Any], field: str) -> None:
    """Allow text, reasoning, tool calls, attached files and whole images: no address that could be fetched."""
    content = body["data"].get("content")
    for part in content if isinstance(content, list) else ():
        if not image_parts.is_portable(part, body["type"]):
            raise InvalidDocumentError(
                sentence("holds something other than text, which cannot be imported"), f"{field}.data.content"
            )
