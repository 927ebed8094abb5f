"""The messages of an export, checked and written row by row: there may be a hundred thousand of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring as quote

from ..rows import thread_rows
from ..rows.message_rows import TreeRow
from ..values import serde
from ..values.errors import DamagedMessageError
from ..values.model import Json, MessageStatus
from ..values.progress import Report, count_steps
from ..values.sentence import sentence


@dataclass(frozen=True, slots=True)
class MessageExport:
    """Messages in the form of an export, and the canonical JSON of each."""

    parts: list[Json] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def find_texts(self, document: Json) -> Mapping[str, Sequence[str]]:
        """Return what is written already of a document: its messages, unless something made others of them."""
        return {"messages": self.texts} if document["messages"] is self.parts else {}


def export_messages(rows: Sequence[TreeRow], reached: Collection[str], report: Report) -> MessageExport:
    """Export the reached ones among the messages of a tree. Raises `DamagedMessageError` for one of them.

    A stored body is canonical JSON, as its hash says: it is passed on as it is.
    """
    made, hashes = MessageExport(), dict[str | None, str]()
    for row in count_steps(rows, report, sentence("Reading"), "messages"):
        # Unpacked: by name, each column would be looked up anew.
        identifier, thread_id, parent_id, _segment, depth, agent, status, body, hash_, _run_id, created_at, *_ = tuple(row)
        if identifier not in reached:
            continue
        hashes[identifier] = hash_
        if serde.hash_canonical_body(body, agent, status, hashes.get(parent_id)) != hash_:
            raise DamagedMessageError(thread_id, identifier, depth)
        time = thread_rows.to_time(created_at).isoformat()
        part = {
            "id": identifier,
            "parent_id": parent_id,
            "agent": agent,
            "status": MessageStatus(status),
            "created_at": time,
            "message": serde.parse_canonical(body),
            "hash": hash_,
        }
        parent = "null" if parent_id is None else quote(parent_id)
        made.parts.append(part)
        made.texts.append(
            f'{{"agent":{quote(agent)},"created_at":"{time}","hash":"{hash_}","id":{quote(identifier)},"message":{body},'
            f'"parent_id":{parent},"status":"{status}"}}'
        )
    return made
