"""An export says beforehand which limit of an import it exceeds, in the import's own words."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from checkpoints import InvalidDocumentError, NewMessage, Store
from checkpoints.interchange import import_limits, reading, strict_json
from checkpoints.interchange.import_limits import describe_exceeded_limit
from checkpoints.interchange.transfer import Export, write_export
from checkpoints.interchange.waymark import write_document
from checkpoints.values import limits, serde
from checkpoints.values.limits import MAX_BRANCHES_AND_CHECKPOINTS, count_values, is_deeper
from tests.checkpoints import shapes
from tests.checkpoints.conversations import new, talked

COUNTS: dict[str, Callable[[str], int]] = {  # of an export, by the limit
    "MAX_DOCUMENT_BYTES": lambda text: len(text.encode()),
    "MAX_DOCUMENT_VALUES": lambda text: sum(map(text.count, "[{,")),
    "MAX_DOCUMENT_MESSAGES": lambda text: len(json.loads(text)["messages"]),
    "MAX_DOCUMENT_PARTS": lambda _: 2,
    "MAX_BRANCHES_AND_CHECKPOINTS": lambda text: sum(len(json.loads(text)[name]) for name in ("branches", "checkpoints")),
    "MAX_ALTERNATIVES": lambda _: 2,
    "MAX_CALLS": lambda _: 1,
    "MAX_LABEL_CHARS": lambda _: len("call"),
    "MAX_PART_VALUES": lambda text: max(_count_values(each) for each in json.loads(text)["messages"]),
    "MAX_FILE_LEVELS": lambda text: next(levels for levels in range(99) if not is_deeper(json.loads(text), levels)),
}


def _count_values(value: object) -> int:
    return count_values(value, 10**6)


def write_all_kinds(store: Store) -> Export:
    """Export a conversation with two alternatives, two branches, a checkpoint, a content of two parts, and a call with two
    levels of arguments.
    """
    thread_id = talked(store, "é")
    call = {"name": "look", "args": {"at": {"x": 1}}, "id": "call"}
    messages = [AIMessage(["a", "b"], tool_calls=[call]), ToolMessage("ok", tool_call_id="call")]
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in messages])
    store.save(thread_id)
    store.fork(thread_id, None)
    store.append(thread_id, new("another beginning"))
    return write_export(store, thread_id)


def exceeded_limit(document: dict[str, Any]) -> str | None:
    return describe_exceeded_limit(document, write_document(document))


def import_error(text: str) -> str | None:
    try:
        reading.read_document(text)
    except InvalidDocumentError as error:
        return f"{str(error).rstrip('.')}."
    return None


@pytest.mark.parametrize("limit", COUNTS)
def test_an_export_names_a_limit_exactly_when_an_import_refuses_it(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    made = write_all_kinds(memory_store)
    count = COUNTS[limit](made.text)
    module = next(each for each in (strict_json, import_limits, limits) if hasattr(each, limit))
    for most in (count, count - 1):
        monkeypatch.setattr(module, limit, most)
        refusal = exceeded_limit(json.loads(made.text))
        assert refusal == import_error(made.text)
        assert (refusal is None) == (most == count), refusal


def test_an_export_with_an_image_of_a_graph_says_that_no_import_takes_it() -> None:
    text = shapes.following([AIMessage([{"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}])])
    assert exceeded_limit(json.loads(text)) == import_error(text)


def test_no_limit_is_looked_for_in_the_text_by_parsing_it(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("the text was parsed"))
    made = {"thread": {}, "messages": [], "branches": [{}] * MAX_BRANCHES_AND_CHECKPOINTS, "checkpoints": [{}]}
    sentence = "branches are too many: at most 10,000 branches and checkpoints can be imported."
    assert exceeded_limit(made) == sentence
    assert exceeded_limit({**made, "checkpoints": []}) is None
