"""Repairs a server's events, so the library can read them and loses nothing of the answer.

Compatible servers leave out fields, or send values of other types. The library drops such an event, or fails.
"""

import json
from typing import Any

from checkpoints.values.limits import to_tokens

_ITEM_EVENTS = ("response.output_item.added", "response.output_item.done")
_ANSWER_EVENTS = ("response.created", "response.completed", "response.incomplete")
_PIECE_ENDS = (".delta", ".added", ".done")
# Kinds of items by a part of their events' names. The other events are of messages.
_ITEM_KINDS = (("reasoning", ".reasoning_"), ("function_call", ".function_call_"))
# OpenAI's names.
_TOKEN_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens")


class EventRepairer:
    """The repairs of a stream of Chat Completions or Responses."""

    def __init__(self) -> None:
        # Index and id of the newest call.
        self._call_index = -1
        self._call_id: str | None = None
        # Keys are the indexes of calls.
        self._names: dict[int, str] = {}
        self._items = _ResponseItems()

    def repair(self, event: dict[str, Any]) -> None:
        drop_unreadable_usage(event)
        _repair_response_event(event)
        self._items.add_index(event)
        # Open models send this event, but the library reads only summaries.
        if event.get("type") == "response.reasoning_text.delta":
            event.update(type="response.reasoning_summary_text.delta", summary_index=event.get("content_index") or 0)
        choices = event.get("choices")
        if choices is None:
            return
        event["choices"] = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
        for choice in event["choices"]:
            # Some servers send a whole answer as one event.
            delta = choice.get("delta", choice.get("message"))
            choice["delta"] = delta if isinstance(delta, dict) else {}
            self._repair_delta(choice["delta"])

    def _repair_delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if isinstance(content, list):
            delta["content"] = [part for part in content if isinstance(part, (str, dict))]
        elif not isinstance(content, (str, type(None))):
            delta["content"] = None
        # The library makes messages of other kinds from other roles.
        if "role" in delta:
            delta["role"] = "assistant"
        if not isinstance(delta.get("function_call"), dict):
            delta.pop("function_call", None)
        # The library drops refusals.
        if isinstance(delta.get("refusal"), str) and delta["refusal"] and not isinstance(delta.get("content"), list):
            delta["content"] = (delta.get("content") or "") + delta.pop("refusal")
        if calls := delta.get("tool_calls"):
            found = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
            delta["tool_calls"] = found
            for call in found:
                self._repair_call(call)

    def _repair_call(self, call: dict[str, Any]) -> None:
        function = call.get("function")
        call["function"] = function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        # Some servers send the object instead of its text.
        if isinstance(arguments, dict):
            function["arguments"] = json.dumps(arguments)
        elif not isinstance(arguments, str):
            function["arguments"] = None
        for holder, name in ((call, "id"), (function, "name")):
            if not isinstance(holder.get(name), str):
                holder[name] = None
        if type(call.get("index")) is int:
            self._call_index = max(self._call_index, call["index"])
            # Ollama gives all calls the same index.
            is_same_call = call["id"] in (None, self._call_id)
            # The library would append a repeated name to the first.
            if is_same_call and function["name"] and function["name"] == self._names.get(call["index"]):
                function["name"] = None
            elif function["name"]:
                self._names[call["index"]] = function["name"]
        else:
            self._add_index(call, function)
        self._call_id = call["id"] or self._call_id

    def _add_index(self, call: dict[str, Any], function: dict[str, Any]) -> None:
        """Give a piece of a call an index. A new id or name begins a call. Other pieces continue the newest call."""
        begins = call["id"] != self._call_id if call["id"] else bool(function["name"])
        if begins or self._call_index < 0:
            self._call_index += 1
            self._call_id = None
        else:
            # The library would append a repeated name to the first.
            function["name"] = None
        call["index"] = self._call_index


class _ResponseItems:
    """The indexes of a response's items, for servers that leave them out. The library joins items of one index."""

    def __init__(self) -> None:
        self._count = 0
        # Keys are the ids of items, and kinds, which stand for their newest item.
        self._indexes: dict[str, int] = {}

    def add_index(self, event: dict[str, Any]) -> None:
        kind = str(event.get("type"))
        if not kind.startswith("response.") or not kind.endswith(_PIECE_ENDS):
            return
        found = event.get("item")
        item = found if isinstance(found, dict) else {}
        item_id = event.get("item_id") or item.get("id")
        item_kind = str(item.get("type") or next((name for name, part in _ITEM_KINDS if part in kind), "message"))
        index = event.get("output_index")
        if type(index) is not int:
            is_new = kind == "response.output_item.added" and not item_id
            known = self._count if is_new else self._indexes.get(item_kind, self._count)
            index = self._indexes.get(str(item_id), self._count) if item_id else known
            event["output_index"] = index
        self._count = max(self._count, index + 1)
        self._indexes |= {item_kind: index, **({str(item_id): index} if item_id else {})}


def _repair_response_event(event: dict[str, Any]) -> None:
    """Fill the fields of a Responses event that the library reads without a check."""
    kind = str(event.get("type"))
    if kind.startswith("response.") and kind.endswith(_PIECE_ENDS):
        if kind.endswith(".delta"):
            event["delta"] = event["delta"] if isinstance(event.get("delta"), str) else ""
        # The library would join all items whose id is an empty text.
        for name, value in (("item_id", None), ("content_index", 0), ("summary_index", 0)):
            event.setdefault(name, value)
    if kind in _ITEM_EVENTS:
        event["item"] = item = event["item"] if isinstance(event.get("item"), dict) else {"type": "unknown"}
        if item.get("type") == "reasoning" and not isinstance(item.get("summary"), list):
            item["summary"] = []
    elif kind in _ANSWER_EVENTS:
        found = event["response"] if isinstance(event.get("response"), dict) else {}
        event["response"] = {"id": "", "output": [], "status": kind.removeprefix("response."), **found}


def drop_unreadable_usage(event: dict[str, Any]) -> None:
    """Remove usage values from an event of OpenAI's streams if the library would fail on them and lose the answer."""
    within = event.get("response")
    for holder in (event, within) if isinstance(within, dict) else (event,):
        usage = holder.get("usage")
        if usage is None:
            continue
        counts = [to_tokens(usage[name]) for name in _TOKEN_COUNTS if name in usage] if isinstance(usage, dict) else []
        if not counts or None in counts:
            holder["usage"] = None
            continue
        for details in (value for name, value in usage.items() if name.endswith("_tokens_details") and value):
            if not isinstance(details, dict):
                holder["usage"] = None
                break
            # Set them to zero, since the library requires some of them.
            details.update({name: 0 for name, value in details.items() if value is not None and to_tokens(value) is None})
