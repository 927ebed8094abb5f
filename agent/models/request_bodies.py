"""Bodies of requests for OpenAI's client. The JSON of a message that goes to the model again is not written again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage


class KeptEntry(dict[str, Any]):
    """The entry of a message in requests, with its JSON. It is not changed."""

    __slots__ = ("_json",)
    _json: bytes

    def to_json(self) -> bytes:
        try:
            return self._json
        except AttributeError:
            self._json = _to_json(self)
            return self._json


def prepare_entries(chat: Any, messages: Sequence[BaseMessage]) -> None:
    """Convert a request's messages and write their JSON, where their model keeps both. On a thread, the loop is spared."""
    if getattr(chat, "keeps_entries", False) and not chat.use_responses_api:
        for entry in chat._get_request_payload(list(messages))["messages"]:
            if isinstance(entry, KeptEntry):
                entry.to_json()


def write_body(body: Mapping[str, Any]) -> bytes:
    """Return the JSON of a body, as the client itself would write it, with its messages last."""
    others = dict(body)
    entries = others.pop("messages", None)
    if not isinstance(entries, list) or not others:
        return _to_json(dict(body))
    messages = b",".join(each.to_json() if isinstance(each, KeptEntry) else _to_json(each) for each in entries)
    return b'%b,"messages":[%b]}' % (_to_json(others)[:-1], messages)


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
