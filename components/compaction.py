"""Summaries as the page asks for them and shows them: the command in the composer, the card of a note, and what a note of
any kind stands for.
"""

import re
from typing import Any, TypedDict
from urllib.parse import quote

from agent import time_travel
from agent.compaction import KEY, LONGEST_FOCUS, NotCompactedError, Part
from agent.time_travel import sources_of
from checkpoints import Message, limits

_COMMAND = re.compile(r"\s*/compact(?:\s+(.*))?", re.DOTALL)


class GoneView(TypedDict):
    removed: int  # messages that it stands for
    before: int  # tokens that these took, about
    after: int  # tokens that it takes, about
    address: str  # of the full text


class SummaryView(GoneView):
    sources: list[str]  # what it may report that nobody here vouches for (see time_travel.sources)


def command(text: str, *, attached: bool) -> Part | None:
    """What `/compact`, with what to keep above all, asks for; None for any other text. Raises `NotCompactedError`."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    if attached:
        raise NotCompactedError("Files cannot come along with /compact. Take them out, or send them first.")
    focus = (found[1] or "").strip()
    if len(focus) > LONGEST_FOCUS:
        raise NotCompactedError(f"What to keep is longer than {LONGEST_FOCUS:,} characters.")
    return Part(focus=focus)


def part(action: dict[str, Any]) -> Part:
    """What is asked for at a message."""
    return Part("from" if action.get("side") == "from" else "up_to", str(action["message"]))


def shown(stored: Message) -> SummaryView | None:
    """The card of a note; None for any other message."""
    marks = _marks(stored, KEY)
    found = _gone(stored, marks)
    return None if found is None else {**found, "sources": [name[:40] for name in sources_of(marks)][:5]}


def left(stored: Message) -> GoneView | None:
    """What left where the agent went back; None for any other message, and where that is in no one piece."""
    marks = _marks(stored, time_travel.KEY)
    return _gone(stored, marks) if "last" in marks else None


def gone(stored: Message) -> GoneView | None:
    """What left for a note, of whatever kind; None for any other message."""
    return None if stored.damaged else shown(stored) or left(stored)


def marks_of(stored: Message) -> dict[str, Any]:
    """Where what a note stands for is."""
    return _marks(stored, KEY) or _marks(stored, time_travel.KEY)


def _gone(stored: Message, marks: dict[str, Any]) -> GoneView | None:
    """A file may say anything in the place of numbers."""
    removed, before, after = (limits.to_number(marks.get(name)) for name in ("removed", "before", "after"))
    if removed is None or before is None or after is None:
        return None
    address = f"/api/threads/{quote(stored.thread_id)}/summaries/{quote(stored.id)}"
    return {"removed": removed, "before": before, "after": after, "address": address}


def _marks(stored: Message, key: str) -> dict[str, Any]:
    marks = (stored.body["data"].get("additional_kwargs") or {}).get(key)
    return marks if isinstance(marks, dict) else {}
