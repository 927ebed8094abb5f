"""Tools to convert other formats: a document of waymark/1 that grows by messages, and checked access to fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..values import serde
from ..values.errors import InvalidDocumentError
from ..values.limits import MAX_DOCUMENT_BYTES
from ..values.model import MAIN, Json, MessageStatus
from ..values.sentence import sentence
from . import waymark

_MIN_MESSAGE_BYTES = 250  # of a message with its hash, ids and time
_KIND_NAMES: dict[type, str] = {str: sentence("a text"), list: sentence("a list"), dict: sentence("an object")}


class ByteBudget:
    """The bytes that the documents of one file may have together once they are converted.

    Without it, a small message of another format would become ten times as large, and its export could not be imported.
    """

    def __init__(self) -> None:
        self._left = MAX_DOCUMENT_BYTES

    def spend(self, count: int) -> None:
        """Raises `InvalidDocumentError`."""
        self._left -= count
        self.require(0)

    def require(self, count: int) -> None:
        """Raise `InvalidDocumentError` if so many bytes would be too many."""
        if self._left < count:
            limit = MAX_DOCUMENT_BYTES // 1_000_000
            raise InvalidDocumentError(
                sentence("As conversations of Waymark, the file is larger than {limit} MB.", limit=limit)
            )

    def require_messages(self, count: int) -> None:
        """Refuse so many messages before the first of them is converted."""
        self.require(count * _MIN_MESSAGE_BYTES)


@dataclass(frozen=True, slots=True)
class Place:
    """A message in a document."""

    id: str
    hash: str
    time: str


class TreeBuilder:
    """A document of messages by hash: equal beginnings become one path. All methods raise `InvalidDocumentError`."""

    def __init__(self, budget: ByteBudget) -> None:
        self._lists: dict[str, list[Json]] = {"messages": [], "branches": [], "checkpoints": []}
        self._budget = budget
        self._places: dict[str, Place] = {}

    def add_message(self, body: Json, parent: Place | None, time: str, status: MessageStatus = MessageStatus.DONE) -> Place:
        hash_ = serde.hash_message(body, MAIN, status, parent.hash if parent else None)
        if hash_ not in self._places:
            place = self._places[hash_] = Place(hash_.removeprefix(serde.HASH_PREFIX)[:20], hash_, time)
            message = {
                "id": place.id,
                "parent_id": parent.id if parent else None,
                "agent": MAIN,
                "status": status.value,
                "created_at": time,
                "message": body,
                "hash": hash_,
            }
            self._add_item("messages", message)
        return self._places[hash_]

    def add_checkpoint(self, checkpoint: Json) -> None:
        self._add_item("checkpoints", checkpoint)

    def make_document(self, title: str, branches: Sequence[Json]) -> Json:
        """Return the document. The first branch is the current one."""
        for branch in branches:
            self._add_item("branches", branch)
        made = {"format": waymark.FORMAT, "thread": {"title": title}, "active": branches[0]["id"], **self._lists}
        return {**made, "exported_at": datetime.now(UTC).isoformat(), "sha256": serde.hash_document(made)}

    def _add_item(self, name: str, item: Json) -> None:
        self._lists[name].append(item)
        self._budget.spend(len(serde.to_canonical(item).encode()))


def require_field(holder: Any, key: str, kind: type | tuple[type, ...], field: str) -> Any:
    """Return `holder[key]`, which must be there and of this kind. Raises `InvalidDocumentError`, which names the field."""
    if not isinstance(holder, dict) or key not in holder:
        raise InvalidDocumentError(sentence("is missing"), f"{field}.{key}")
    if not isinstance(holder[key], kind):
        names = [_KIND_NAMES[one] for one in (kind if isinstance(kind, tuple) else (kind,))]
        kinds = names[0] if len(names) == 1 else sentence("{one} or {other}", one=names[0], other=names[1])
        raise InvalidDocumentError(sentence("must be {kinds}", kinds=kinds), f"{field}.{key}")
    return holder[key]
