"""Notes as the page shows them: the card of a summary, and the replaced messages of any note."""

from typing import TypedDict
from urllib.parse import quote

from agent.marks import ExcerptMark, MoveMark, SummaryMark
from agent.preparation.compaction import SUMMARY_PHRASE, extract_summary
from agent.time_travel.excerpts import EXCERPT_PHRASE, extract_excerpt
from agent.time_travel.notes import NOTE_PHRASE, extract_note
from checkpoints import Message, NewMessage
from checkpoints.search.result import NoteRules, NoteText
from checkpoints.values import serde
from checkpoints.values.thread_ids import write_thread_id
from components.views.places import describe_place_name
from components.views.tool_cards import list_sources
from server.addresses import build_address


class RemovalView(TypedDict):
    removed: int
    # The replaced messages took about this many tokens.
    before: int
    # The note takes about this many tokens.
    after: int
    address: str


class SummaryView(RemovalView):
    # The summary has these untrusted sources (see `find_sources` of `agent.time_travel`).
    sources: list[str]


class ExcerptView(TypedDict):
    """The origin of an excerpt, in words, and the address of its place."""

    origin: str
    address: str


def describe_excerpt(stored: Message, text: str) -> tuple[ExcerptView, str] | None:
    """Describe the card of an excerpt, and return its own text; None for any other message.

    If the text is not in our form, as in a file, the whole text is returned.
    """
    mark = ExcerptMark.of(stored)
    if mark is None or stored.type != "human":
        return None
    address = build_address(f"/api/threads/{write_thread_id(stored.thread_id)}/excerpts/{quote(stored.id)}/place")
    return {"origin": describe_place_name(mark.origin), "address": address}, extract_excerpt(text, mark) or text


def describe_summary(stored: Message) -> SummaryView | None:
    """Describe the card of a summary; None for any other message."""
    mark = SummaryMark.of(stored)
    return None if mark is None else {**_build_removal(stored, mark), "sources": list_sources(mark.sources)}


def read_note(stored: Message | NewMessage) -> NoteText | None:
    """Return a note's own text for quoting; None for any other message."""
    if stored.body["type"] != "human":
        return None
    if SummaryMark.of(stored) is not None:
        return NoteText("summary", extract_summary(_read_text(stored)))
    if MoveMark.of(stored) is not None:
        return NoteText("move", extract_note(_read_text(stored)))
    mark = ExcerptMark.of(stored)
    text = "" if mark is None else _read_text(stored)
    return None if mark is None else NoteText("excerpt", extract_excerpt(text, mark) or text)


NOTE_RULES = NoteRules(read_note, {"summary": SUMMARY_PHRASE, "move": NOTE_PHRASE, "excerpt": EXCERPT_PHRASE})


def _read_text(stored: Message | NewMessage) -> str:
    return str(serde.to_message(stored.body).text)


def describe_goto_removal(stored: Message) -> RemovalView | None:
    """Describe the messages removed by a move; None for any other message, or if they are not contiguous."""
    mark = MoveMark.of(stored)
    return None if mark is None or mark.last is None else _build_removal(stored, mark)


def describe_note_removal(stored: Message) -> RemovalView | None:
    """Describe the messages replaced by any note; None for any other message."""
    return None if stored.damaged else describe_summary(stored) or describe_goto_removal(stored)


def find_note_mark(stored: Message) -> SummaryMark | MoveMark | None:
    """Return the mark that locates a note's replaced messages; None for any other message."""
    return SummaryMark.of(stored) or MoveMark.of(stored)


def _build_removal(stored: Message, mark: SummaryMark | MoveMark) -> RemovalView:
    address = build_address(f"/api/threads/{write_thread_id(stored.thread_id)}/summaries/{quote(stored.id)}")
    return {"removed": mark.removed, "before": mark.before, "after": mark.after, "address": address}
