"""Notes as the page shows them: the card of a summary, and the messages that a note of any kind replaces."""

from typing import TypedDict
from urllib.parse import quote

from agent.marks import MoveMark, SummaryMark
from checkpoints import Message
from components.views.tool_cards import list_sources


class RemovalView(TypedDict):
    removed: int  # messages that the note replaces
    before: int  # tokens that these took, about
    after: int  # tokens that it takes, about
    address: str  # of the full text


class SummaryView(RemovalView):
    sources: list[str]  # untrusted sources of the summary (see `find_sources` of `agent.time_travel`)


def describe_summary(stored: Message) -> SummaryView | None:
    """Describe the card of a summary; None for any other message."""
    mark = SummaryMark.of(stored)
    return None if mark is None else {**_build_removal(stored, mark), "sources": list_sources(mark.sources)}


def describe_goto_removal(stored: Message) -> RemovalView | None:
    """Describe the messages that a move removed; None for any other message, and where they are not contiguous."""
    mark = MoveMark.of(stored)
    return None if mark is None or mark.last is None else _build_removal(stored, mark)


def describe_note_removal(stored: Message) -> RemovalView | None:
    """Describe the messages that a note of any kind replaced; None for any other message."""
    return None if stored.damaged else describe_summary(stored) or describe_goto_removal(stored)


def find_note_mark(stored: Message) -> SummaryMark | MoveMark | None:
    """Return the mark that locates the messages that a note replaced; None for any other message."""
    return SummaryMark.of(stored) or MoveMark.of(stored)


def _build_removal(stored: Message, mark: SummaryMark | MoveMark) -> RemovalView:
    address = f"/api/threads/{quote(stored.thread_id)}/summaries/{quote(stored.id)}"
    return {"removed": mark.removed, "before": mark.before, "after": mark.after, "address": address}
