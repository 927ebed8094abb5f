"""Summaries as the page asks for them and shows them: the command in the composer, the card of a note, and what a note of
any kind stands for.
"""

import re
from collections.abc import Mapping
from typing import Any, TypedDict
from urllib.parse import quote

from agent.run.compaction import COMPACTION_MARK, MAX_FOCUS_CHARS, NotCompactedError, SummaryScope
from agent.time_travel import moves
from agent.time_travel.moves import read_sources
from checkpoints import Message, limits

_COMMAND = re.compile(r"\s*/compact(?:\s+(.*))?", re.DOTALL)


class RemovalView(TypedDict):
    removed: int  # messages that it stands for
    before: int  # tokens that these took, about
    after: int  # tokens that it takes, about
    address: str  # of the full text


class SummaryView(RemovalView):
    sources: list[str]  # what it may report that nobody here vouches for (see time_travel.sources)


def parse_compact_command(text: str, *, attached: bool) -> SummaryScope | None:
    """What `/compact`, with what to keep above all, asks for; None for any other text. Raises `NotCompactedError`."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    if attached:
        raise NotCompactedError("Files cannot come along with /compact. Take them out, or send them first.")
    focus = (found[1] or "").strip()
    if len(focus) > MAX_FOCUS_CHARS:
        raise NotCompactedError(f"What to keep is longer than {MAX_FOCUS_CHARS:,} characters.")
    return SummaryScope(focus=focus)


def read_summary_scope(fields: Mapping[str, Any]) -> SummaryScope:
    """What is asked for at a message."""
    return SummaryScope("from" if fields.get("side") == "from" else "up_to", str(fields["message"]))


def describe_summary(stored: Message) -> SummaryView | None:
    """The card of a note; None for any other message."""
    marks = _read_note_marks(stored, COMPACTION_MARK)
    found = _build_removal(stored, marks)
    return None if found is None else {**found, "sources": [name[:40] for name in read_sources(marks)][:5]}


def describe_goto_removal(stored: Message) -> RemovalView | None:
    """What left where the agent went back; None for any other message, and where that is in no one piece."""
    marks = _read_note_marks(stored, moves.TIME_TRAVEL_MARK)
    return _build_removal(stored, marks) if "last" in marks else None


def describe_removal(stored: Message) -> RemovalView | None:
    """What left for a note, of whatever kind; None for any other message."""
    return None if stored.damaged else describe_summary(stored) or describe_goto_removal(stored)


def find_note_marks(stored: Message) -> dict[str, Any]:
    """Where what a note stands for is."""
    return _read_note_marks(stored, COMPACTION_MARK) or _read_note_marks(stored, moves.TIME_TRAVEL_MARK)


def _build_removal(stored: Message, marks: dict[str, Any]) -> RemovalView | None:
    """A file may say anything in the place of numbers."""
    removed, before, after = (limits.to_number(marks.get(name)) for name in ("removed", "before", "after"))
    if removed is None or before is None or after is None:
        return None
    address = f"/api/threads/{quote(stored.thread_id)}/summaries/{quote(stored.id)}"
    return {"removed": removed, "before": before, "after": after, "address": address}


def _read_note_marks(stored: Message, key: str) -> dict[str, Any]:
    marks = (stored.body["data"].get("additional_kwargs") or {}).get(key)
    return marks if isinstance(marks, dict) else {}
