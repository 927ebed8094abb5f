"""An answer's reasoning: a text for people, and the provider's items, which only their source understands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from langchain_core.messages import BaseMessage

from . import limits, serde

# The key in an answer's `additional_kwargs`.
REASONING_KEY = "waymark_reasoning"
Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning of an answer.

    `blocks` are the answer's parts in order: the provider's items, `{"type": "text"}` in place of the answer's text,
    and `{"type": "call"}` in place of each call.
    """

    text: str = ""
    duration_ms: int | None = None
    # The model that made the items (see `agent.models.reasoning`). Empty: they are for no model.
    source: str = ""
    # The Chat Completions field that carried the text.
    text_field: str = ""
    # Unknown fields of the message, and of each call in the order of the stream.
    fields: Item = field(default_factory=dict)
    call_fields: Sequence[Item] = ()
    blocks: Sequence[Item] = ()
    # The `additional_kwargs` of a provider's package.
    extras: Item = field(default_factory=dict)
    # The places of the answer's `invalid_tool_calls` in the stream.
    unreadable_places: Sequence[int] = ()

    @classmethod
    def of(cls, message: BaseMessage) -> Self | None:
        """Parse a message's reasoning; None if it has none. Imported reasoning may have any shape."""
        kept = message.additional_kwargs.get(REASONING_KEY)
        if not isinstance(kept, dict):
            return None
        text = kept.get("text")
        return cls(
            text=text[: limits.MAX_REASONING_CHARS] if isinstance(text, str) else "",
            duration_ms=limits.to_number(kept.get("duration_ms")),
            source=limits.to_label(kept.get("source")),
            text_field=limits.to_label(kept.get("text_field")),
            fields=_to_item(kept.get("fields")),
            call_fields=[_to_item(each) for each in _to_list(kept.get("call_fields"))],
            unreadable_places=[
                each for each in _to_list(kept.get("unreadable_places")) if isinstance(each, int) and each >= 0
            ],
            blocks=[each for each in _to_list(kept.get("blocks")) if isinstance(each, dict)],
            extras=_to_item(kept.get("extras")),
        )

    def to_kwargs(self) -> dict[str, Any]:
        """Return the `additional_kwargs` for this reasoning, empty without any.

        Items that are too large, too deep, too many or not JSON are dropped together: providers refuse a part of them.
        """
        kept = {
            "text": serde.sanitize_text(self.text[:limits.MAX_REASONING_CHARS]),
            "duration_ms": self.duration_ms if self.text.strip() else None,
            "text_field": self.text_field,
            "unreadable_places": list(self.unreadable_places),
            **_bound_items({
                "fields": dict(self.fields),
                "call_fields": [dict(each) for each in self.call_fields] if any(self.call_fields) else [],
                "blocks": [dict(each) for each in self.blocks],
                "extras": dict(self.extras),
            }),
        }  # fmt: skip
        kept = {key: value for key, value in kept.items() if value or value == 0}
        if not kept.keys() - {"duration_ms", "text_field", "unreadable_places"}:
            return {}
        return {REASONING_KEY: {**kept, **({"source": self.source} if self.source else {})}}

    def rename_calls(self, new_ids: Mapping[str, str]) -> "Reasoning":
        """Replace the ids of the answer's calls, given as old to new.

        Google's package keys signatures by call id, and OpenRouter's items carry call ids.
        """
        return replace(
            self,
            fields={name: _rename_items(value, new_ids) for name, value in self.fields.items()},
            extras={name: _rename_keys(value, new_ids) for name, value in self.extras.items()},
        )

    def without_items(self) -> "Reasoning":
        """Return only the text for people, without the provider's items."""
        return replace(self, source="", text_field="", fields={}, call_fields=(), unreadable_places=(), blocks=(), extras={})


NO_REASONING = Reasoning()


def drop_reasoning_entry(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in kwargs.items() if key != REASONING_KEY}


def keep_reasoning_entry(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {REASONING_KEY: kwargs[REASONING_KEY]} if REASONING_KEY in kwargs else {}


def carries_items(kwargs: Mapping[str, Any] | None) -> bool:
    """Return whether an answer's `additional_kwargs` have reasoning to send back to its model. They are not parsed."""
    kept = (kwargs or {}).get(REASONING_KEY)
    return isinstance(kept, dict) and any(kept.get(name) for name in ("text_field", "fields", "blocks"))


def _rename_keys(value: Any, new_ids: Mapping[str, str]) -> Any:
    return {new_ids.get(key, key): each for key, each in value.items()} if isinstance(value, dict) else value


def _rename_items(value: Any, new_ids: Mapping[str, str]) -> Any:
    if not isinstance(value, list):
        return value
    return [
        {**each, "id": new_ids.get(each["id"], each["id"])}
        if isinstance(each, dict) and isinstance(each.get("id"), str)
        else each
        for each in value
    ]


def _bound_items(items: dict[str, Any]) -> dict[str, Any]:
    if limits.has_more_values(items, limits.MAX_ITEM_VALUES):
        return {}
    try:
        exact = serde.require_exact(items)
        is_small = len(serde.to_canonical(exact)) <= limits.MAX_ITEMS_CHARS
    except (ValueError, TypeError, RecursionError):
        return {}
    is_shallow = is_small and not limits.is_deeper(exact, limits.MAX_ITEM_LEVELS)
    return exact if is_shallow and not _has_nul(exact) else {}


# PostgreSQL cannot store NUL.
def _has_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_nul, (*value, *value.values())))
    return any(map(_has_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value


def _to_item(value: Any) -> Item:
    return value if isinstance(value, dict) else {}


def _to_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
