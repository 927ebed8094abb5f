"""Notes as the page shows them: the card of a summary, and the messages that a note of any kind replaces."""

from typing import Any, TypedDict
from urllib.parse import quote

from agent.run.compaction import COMPACTION_MARK
from agent.time_travel.moves import read_sources
from agent.time_travel.notes import TIME_TRAVEL_MARK
from checkpoints import Message, limits


class RemovalView(TypedDict):
    removed: int  # messages that the note replaces
    before: int  # tokens that these took, about
    after: int  # tokens that it takes, about
    address: str  # of the full text


class SummaryView(RemovalView):
    sources: list[str]  # untrusted sources of the summary (see time_travel.sources)


def describe_summary(stored: Message) -> SummaryView | None:
    """Describe the card of a summary; None for any other message."""
    marks = _read_note_marks(stored, COMPACTION_MARK)
    found = _build_removal(stored, marks)
    return None if found is None else {**found, "sources": [name[:40] for name in read_sources(marks)][:5]}


def describe_goto_removal(stored: Message) -> RemovalView | None:
    """Describe the messages that a move removed; None for any other message, and where they are not contiguous."""
    marks = _read_note_marks(stored, TIME_TRAVEL_MARK)
    return _build_removal(stored, marks) if "last" in marks else None


def describe_removal(stored: Message) -> RemovalView | None:
    """Describe the messages that a note of any kind replaced; None for any other message."""
    return None if stored.damaged else describe_summary(stored) or describe_goto_removal(stored)


def find_note_marks(stored: Message) -> dict[str, Any]:
    """Return the marks that locate the messages that a note replaced."""
    return _read_note_marks(stored, COMPACTION_MARK) or _read_note_marks(stored, TIME_TRAVEL_MARK)


def _build_removal(stored: Message, marks: dict[str, Any]) -> RemovalView | None:
    """Build the view, unless the marks of an imported message are no numbers."""
    removed, before, after = (limits.to_number(marks.get(name)) for name in ("removed", "before", "after"))
    if removed is None or before is None or after is None:
        return None
    address = f"/api/threads/{quote(stored.thread_id)}/summaries/{quote(stored.id)}"
    return {"removed": removed, "before": before, "after": after, "address": address}


def _read_note_marks(stored: Message, key: str) -> dict[str, Any]:
    marks = (stored.body["data"].get("additional_kwargs") or {}).get(key)
    return marks if isinstance(marks, dict) else {}
