"""The limits of a document: an import refuses a document beyond one, and an export says so before its file leaves."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import InvalidDocumentError
from ..limits import (
    MAX_ALTERNATIVES,
    MAX_BRANCHES_AND_CHECKPOINTS,
    MAX_CALLS,
    MAX_DOCUMENT_BYTES,
    MAX_DOCUMENT_MESSAGES,
    MAX_DOCUMENT_PARTS,
    MAX_LABEL_CHARS,
)
from ..model import Json
from . import strict_json


def describe_exceeded_limit(document: Json, text: str) -> str | None:
    """Return the sentence with which an import would refuse an export; None if no limit is exceeded.

    `text` is the written document. It is not parsed.
    """
    try:
        _check_limits(document, text)
    except InvalidDocumentError as error:
        return f"{str(error).rstrip('.')}."
    return None


def _check_limits(document: Json, text: str) -> None:
    check_byte_count(len(text))  # a character has one byte at least
    check_message_count(len(document["messages"]))
    check_part_count(document["messages"])
    check_branch_and_checkpoint_count(len(document["branches"]), len(document["checkpoints"]))
    check_alternatives([message["parent_id"] for message in document["messages"]])
    for index, message in enumerate(document["messages"]):
        check_calls(message["message"], f"messages[{index}].message")
    raw = text.encode()
    check_byte_count(len(raw))
    strict_json.check_value_count(raw)
    strict_json.check_part(document["thread"], "thread")
    for name in ("messages", "checkpoints"):
        for index, part in enumerate(document[name]):
            strict_json.check_part(part, f"{name}[{index}]")
    strict_json.check_levels(document)


def check_byte_count(count: int) -> None:
    """Raise `InvalidDocumentError` for a file that is too large. So do the other checks, for the document in it."""
    if count > MAX_DOCUMENT_BYTES:
        raise InvalidDocumentError(f"The file is larger than {MAX_DOCUMENT_BYTES // 1_000_000} MB.")


def check_message_count(count: int) -> None:
    if count > MAX_DOCUMENT_MESSAGES:
        raise InvalidDocumentError(f"should have at most {MAX_DOCUMENT_MESSAGES} items, not {count}", "messages")


def check_part_count(messages: Iterable[Any]) -> None:
    """Limit the parts of all contents: each is checked by itself. The messages may have any form."""
    if sum(map(_count_parts, messages)) > MAX_DOCUMENT_PARTS:
        raise InvalidDocumentError(
            f"have more than {MAX_DOCUMENT_PARTS:,} parts in their contents, which is too many", "messages"
        )


def _count_parts(message: Any) -> int:
    for name in ("message", "data", "content"):
        message = message.get(name) if isinstance(message, dict) else None
    return len(message) if isinstance(message, list) else 0


def check_branch_and_checkpoint_count(branches: int, checkpoints: int) -> None:
    if branches + checkpoints > MAX_BRANCHES_AND_CHECKPOINTS:
        field = "branches" if branches > checkpoints else "checkpoints"
        raise InvalidDocumentError(
            f"are too many: at most {MAX_BRANCHES_AND_CHECKPOINTS:,} branches and checkpoints can be imported", field
        )


def check_alternatives(parents: Sequence[str | None]) -> None:
    """Limit the alternatives of a message: the page offers all of them."""
    following = Counter(parents)
    for index, parent in enumerate(parents):
        if following[parent] > MAX_ALTERNATIVES:
            reason = f"is one of {following[parent]:,} alternatives, and there may be {MAX_ALTERNATIVES}"
            raise InvalidDocumentError(reason, f"messages[{index}]")


def check_calls(body: dict[str, Any], field: str) -> None:
    """Limit the tool calls of a message, and the names and ids of these calls and of a result."""
    data = body["data"]
    lists = [data.get(kind) for kind in ("tool_calls", "invalid_tool_calls")]
    calls = [call for each in lists if isinstance(each, list) for call in each]
    if len(calls) > MAX_CALLS:
        raise InvalidDocumentError(f"makes more than {MAX_CALLS} tool calls, which is too many", field)
    labels = [data.get("name"), data.get("tool_call_id")]
    labels += [call.get(part) for call in calls if isinstance(call, dict) for part in ("name", "id")]
    if any(isinstance(label, str) and len(label) > MAX_LABEL_CHARS for label in labels):
        raise InvalidDocumentError(f"has a name or an id of more than {MAX_LABEL_CHARS} characters", field)
