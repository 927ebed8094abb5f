"""The label above a message: a move, a note, a question to an agent, or an answer of a model without tools."""

from collections.abc import Sequence

from agent.context.answer_notes import is_without_tools
from agent.marks import ExcerptMark, InputsMark, MoveMark, QuestionMark
from checkpoints import MAIN, Message
from checkpoints.values.limits import MAX_LABEL_CHARS
from checkpoints.values.text import shorten_line
from components.views.places import describe_place_name
from components.views.tool_cards import list_sources
from components.views.value_tree import describe_on_line
from words import N_, _, ngettext

WITHOUT_TOOLS_LABEL = N_("answered without tools: this model takes none")


def build_label(stored: Message, *, is_note: bool) -> str | None:
    """Return the label of a message, or None. It names a move, a note, the author, or a model without tools."""
    if (mark := MoveMark.of(stored)) is not None:
        return _build_move_label(mark)
    if (excerpt := ExcerptMark.of(stored)) is not None:
        return _("note from {origin}", origin=describe_place_name(excerpt.origin)) + _name_sources(excerpt.sources)
    if (inputs := InputsMark.of(stored)) is not None:
        values = " · ".join(f"{name}: {describe_on_line(value)}" for name, value in inputs.values.items())
        return shorten_line(_("with {values}", values=values), MAX_LABEL_CHARS)
    if is_note:
        return _("written by the graph") if stored.is_by_graph else _("note")
    if is_without_tools(stored.body["data"].get("response_metadata")):
        return _(WITHOUT_TOOLS_LABEL)
    return _build_question_label(stored)


def _build_question_label(stored: Message) -> str | None:
    mark = QuestionMark.of(stored)
    if mark is None:
        return None
    return _("asked by the main agent") if mark.call.agent == MAIN else _("asked by {agent}", agent=mark.call.agent)


def _build_move_label(mark: MoveMark) -> str:
    """Label a move with its effect, and the sources read by the agent before."""
    did = (
        _("the agent replaced an answer at this point") if mark.kind == "rewind" else _("the agent went back to this point")
    )
    removed = ngettext("{count:,} message removed", "{count:,} messages removed", mark.removed)
    return f"{did} · {removed}{_name_sources(mark.sources)}"


def _name_sources(sources: Sequence[str]) -> str:
    read = list_sources(sources)
    return f" · {_('after reading {sources}', sources=', '.join(read))}" if read else ""
