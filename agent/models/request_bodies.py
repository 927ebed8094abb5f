"""Bodies of requests for OpenAI's client. A message that is sent again is not encoded again."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import PrivateAttr

from agent.models.fallbacks import Attempt


class KeptEntry(dict[str, Any]):
    """The entry of a message in requests, with its JSON. It must not change."""

    __slots__ = ("_json",)
    _json: bytes

    def to_json(self) -> bytes:
        try:
            return self._json
        except AttributeError:
            self._json = _to_json(self)
            return self._json


class KeptEntries(list[Any]):
    """The entries of a long request, with their JSON. They must not change."""

    def __init__(self, entries: Iterable[Any]) -> None:
        super().__init__(entries)
        self.json = _join_entries(self)


class PreparedRequest(HumanMessage):
    """A single message for a whole long request: the library looks at each message many times on the event loop."""

    _messages: list[BaseMessage] = PrivateAttr(default_factory=list)
    _parts: dict[str, Any] = PrivateAttr(default_factory=dict)
    _terms: object = PrivateAttr(default=None)

    @classmethod
    def build(cls, messages: Sequence[BaseMessage], parts: Mapping[str, Any], terms: object) -> "PreparedRequest":
        """Return the request on a server's terms. `parts` are the fields of its body that hold the messages."""
        made = cls(content="")
        made._messages, made._parts, made._terms = list(messages), dict(parts), terms
        return made

    @property
    def messages(self) -> list[BaseMessage]:
        return self._messages

    @property
    def parts(self) -> dict[str, Any]:
        return self._parts

    @property
    def terms(self) -> object:
        return self._terms


def find_prepared(messages: Sequence[BaseMessage]) -> PreparedRequest | None:
    """Return the prepared request that replaces these messages, if any."""
    first = messages[0] if len(messages) == 1 else None
    return first if isinstance(first, PreparedRequest) else None


def list_whole(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return the messages that a prepared request replaces. Other messages stay as they are."""
    prepared = find_prepared(messages)
    return prepared.messages if prepared else messages


def choose_sent(messages: list[BaseMessage], attempt: Attempt[Any]) -> list[BaseMessage]:
    """Return what to send for an attempt: the prepared request, if its messages and terms match."""
    prepared = find_prepared(messages)
    fits = prepared is not None and attempt.messages is prepared.messages and attempt.terms == prepared.terms
    return messages if fits else list(attempt.messages)


def prepare_request(chat: Any, messages: list[Any]) -> list[Any]:
    """Return what to send in place of a long request's messages, if the model can prepare it. Runs on a thread."""
    prepare = getattr(chat, "prepare_request", None)
    return messages if prepare is None else [prepare(messages)]


def write_body(body: Mapping[str, Any]) -> bytes:
    """Return the JSON of a body, as the client would write it, with its messages last."""
    others = dict(body)
    name = "input" if isinstance(others.get("input"), KeptEntries) else "messages"
    entries = others.pop(name, None)
    if not isinstance(entries, list) or not others:
        return _to_json(dict(body))
    messages = entries.json if isinstance(entries, KeptEntries) else _join_entries(entries)
    return b'%b,"%b":[%b]}' % (_to_json(others)[:-1], name.encode(), messages)


def _join_entries(entries: Iterable[Any]) -> bytes:
    return b",".join(each.to_json() if isinstance(each, KeptEntry) else _to_json(each) for each in entries)


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
