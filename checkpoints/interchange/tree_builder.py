"""Tools to convert other formats: a tree of messages in the form of waymark/1, and checked access to fields."""

from typing import Any

from .. import serde
from ..errors import InvalidDocumentError
from ..model import MAIN, MessageStatus
from ..sentence import sentence

_KIND_NAMES: dict[type, str] = {str: sentence("a text"), list: sentence("a list"), dict: sentence("an object")}


class TreeBuilder:
    """The messages of a document, by hash: equal beginnings become one path."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[str, Any]] = {}

    def add_message(
        self, body: dict[str, Any], parent: dict[str, Any] | None, time: str, status: MessageStatus = MessageStatus.DONE
    ) -> dict[str, Any]:
        hash_ = serde.hash_message(body, MAIN, status, parent["hash"] if parent else None)
        if hash_ not in self.messages:
            self.messages[hash_] = {
                "id": hash_.removeprefix(serde.HASH_PREFIX)[:20],
                "parent_id": parent["id"] if parent else None,
                "agent": MAIN,
                "status": status.value,
                "created_at": time,
                "message": body,
                "hash": hash_,
            }
        return self.messages[hash_]


def require_field(holder: Any, key: str, kind: type | tuple[type, ...], field: str) -> Any:
    """Return `holder[key]`, which must be there and of this kind. Raises `InvalidDocumentError`, which names the field."""
    if not isinstance(holder, dict) or key not in holder:
        raise InvalidDocumentError(sentence("is missing"), f"{field}.{key}")
    if not isinstance(holder[key], kind):
        names = [_KIND_NAMES[one] for one in (kind if isinstance(kind, tuple) else (kind,))]
        kinds = names[0] if len(names) == 1 else sentence("{one} or {other}", one=names[0], other=names[1])
        raise InvalidDocumentError(sentence("must be {kinds}", kinds=kinds), f"{field}.{key}")
    return holder[key]
