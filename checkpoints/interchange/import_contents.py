"""The contents of a document as they are stored. Making them needs no database: an import does so before the lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..rows import thread_rows
from ..rows.message_inserts import MessageContent
from ..rows.value_rows import Value
from ..values import files, serde
from ..values.graph_state import RowValues, SplitBody, split_body
from ..values.model import Json
from .state_values import can_convert
from .typed_values import parse_stored
from .waymark import Document, MessagePart, StatePart, WritePart


@dataclass(frozen=True, slots=True)
class StateContents:
    """The states of a document, parents first. Their bodies name messages and values as the document does."""

    values: Sequence[Value] = ()  # of the channels
    parts: Sequence[StatePart] = ()
    bodies: Sequence[SplitBody] = ()  # one of each part
    writes: Sequence[WritePart] = ()  # of steps that wait


@dataclass(frozen=True, slots=True)
class ImportContents:
    messages: Mapping[str, MessageContent]  # by their ids in the document
    states: StateContents


def make_message_content(doc: Document, part: MessagePart) -> MessageContent:
    named = files.find_file_parts(part.message["data"].get("content"))
    return MessageContent(
        agent=part.agent,
        status=part.status,
        body=serde.to_canonical(part.message),
        hash=part.hash,  # computed again and compared where the document was read
        created_at=thread_rows.from_time(part.created_at),
        files=tuple(doc.files_by_hash[file_part["file"]] for file_part in named),
    )


def make_state_contents(doc: Document) -> StateContents:
    """Make the contents of all states; none without LangGraph's package for values."""
    if not can_convert:
        return StateContents()
    values = [Value.of(*parse_stored(part.json, "", is_typed=part.typed)[0]) for part in doc.state_values]
    return StateContents(values, doc.states, [_make_split_body(part) for part in doc.states], doc.state_writes)


def _make_split_body(part: StatePart) -> SplitBody:
    body: Json = {
        "v": part.v,
        "ts": part.ts,
        "values": part.values,
        "versions": part.versions,
        "seen": part.seen,
        "updated": part.updated,
        "metadata": {"source": part.source, "step": part.step, "parents": part.parents, "run_id": part.run_id},
        "resumed": part.resumed,
    }
    return split_body(body, RowValues(part.id, part.run_id, (part.message,) if part.message else None))
