"""The preview of an import: pure functions, and plain text only. Nothing of the file is rendered."""

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component
from langchain_core.messages import AIMessage, BaseMessage

from checkpoints import MAIN, NewMessage
from checkpoints.interchange.transfer import ImportPreview
from checkpoints.interchange.waymark import Document, MessagePart
from checkpoints.search.result import NoteText
from checkpoints.values import files, serde
from checkpoints.values.graph_author import is_by_graph
from checkpoints.values.text import find_plain_text, shorten
from components.views.notes import read_note
from components.views.shown_text import MAX_BEGINNING_CHARS
from words import N_, _, ngettext, say

# This many messages are shown from each end.
MAX_END_MESSAGES = 3
# This many conversations and checkpoints of one file are listed.
MAX_LISTED_NAMES = 20
_NOTE_NAMES = {"note": N_("Note"), "summary": N_("Summary")}
_SPEAKERS = {"human": N_("You"), "ai": N_("Agent"), "tool": N_("Tool result"), "function": N_("Tool result")}


def build_import_preview(
    name: str, docs: Sequence[Document], previews: Sequence[ImportPreview], open_here: bool
) -> list[Component]:
    """Show what the import changes, then the file's content as plain text. `docs` is empty for an archive."""
    source = html.P(_("From {name}. Importing changes nothing that is already here.", name=name), className="quiet")
    warnings = [html.P(say(text)) for text in dict.fromkeys(text for preview in previews for text in preview.warnings)]
    if len(docs) == len(previews) == 1:
        return [*_build_single_preview(docs[0], previews[0], open_here, warnings), source]
    titles = [
        html.Li([html.Strong(preview.title), f" · {_describe_contents(preview)}"]) for preview in previews[:MAX_LISTED_NAMES]
    ]
    others = len(previews) - MAX_LISTED_NAMES
    more = [html.Li(_("and {others:,} more", others=others), className="quiet")] if others > 0 else []
    return [
        *warnings,
        html.P(ngettext("{count:,} conversation:", "{count:,} conversations:", len(previews))),
        html.Ul([*titles, *more], className="preview"),
        source,
    ]


def _build_single_preview(
    doc: Document, preview: ImportPreview, open_here: bool, warnings: Sequence[Component]
) -> list[Component]:
    path = list(enumerate(doc.current_messages(), 1))
    cut = len(path) > 2 * MAX_END_MESSAGES
    shown = [*path[:MAX_END_MESSAGES], None, *path[-MAX_END_MESSAGES:]] if cut else path
    return [
        html.P([html.Strong(preview.title), f" · {_describe_contents(preview)}"]),
        *(html.P(note) for note in _describe_known_parts(preview, open_here)),
        *warnings,
        html.Ol(
            [_build_message_item(entry) for entry in shown],
            className="preview",
            style={"--digits": len(str(len(path)))},
        ),
        *_build_checkpoints(doc),
    ]


def _describe_known_parts(preview: ImportPreview, open_here: bool) -> list[str]:
    """Describe what is here already of the file."""
    notes = []
    if preview.existing_thread:
        notes.append(
            _(
                "This file was already imported as “{title}”. Importing it again opens that conversation.",
                title=preview.existing_thread.title,
            )
        )
    if open_here and preview.known_messages:
        known, count = preview.known_messages, preview.messages
        notes.append(
            _(
                "{known:,} of its {count:,} messages are already in this conversation, which shows none now. "
                "Merging shows them again.",
                known=known,
                count=count,
            )
            if preview.is_target_empty
            else ngettext(
                "{known:,} of its {count:,} message are already in this conversation.",
                "{known:,} of its {count:,} messages are already in this conversation.",
                count,
                known=known,
            )
        )
    return notes


def _build_checkpoints(doc: Document) -> list[Component]:
    if not doc.checkpoints:
        return []
    names = [html.Li(each.name) for each in doc.checkpoints[:MAX_LISTED_NAMES]]
    others = len(doc.checkpoints) - MAX_LISTED_NAMES
    more = [html.Li(_("and {others:,} more", others=others), className="quiet")] if others > 0 else []
    return [
        html.H3(_("Checkpoints"), className="preview-heading"),
        html.Ul([*names, *more], className="preview-checkpoints"),
    ]


def _describe_contents(preview: ImportPreview) -> str:
    checkpoints, branches = (
        ngettext("{count:,} checkpoint", "{count:,} checkpoints", preview.checkpoints),
        ngettext("{count:,} branch", "{count:,} branches", preview.branches),
    )
    attached = (
        f" · {ngettext('{count:,} attached file', '{count:,} attached files', preview.files)}" if preview.files else ""
    )
    return f"{ngettext('{count:,} message', '{count:,} messages', preview.messages)} · {checkpoints} · {branches}{attached}"


def _build_message_item(entry: tuple[int, MessagePart] | None) -> Component:
    """Build the line of a message with its number on the path. A gap before it does not change the number."""
    if entry is None:
        return html.Li("…", className="quiet preview-gap")
    number, part = entry
    message = serde.to_message(part.message)
    calls = [call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    named = ", ".join(each["name"] for each in files.find_file_parts(message.content))
    note = read_note(NewMessage(part.message))
    shorten_text = find_plain_text if note or isinstance(message, AIMessage) else shorten
    text = shorten_text(note.text if note else str(message.text), MAX_BEGINNING_CHARS)
    text = text or named or (_("(calls {names})", names=", ".join(calls)) if calls else _("(no text)"))
    return html.Li([html.B(_name_speaker(part, message, note)), " ", text], value=str(number))


def _name_speaker(part: MessagePart, message: BaseMessage, note: NoteText | None) -> str:
    if part.agent != MAIN:
        return part.agent
    if is_by_graph(part.message):
        return _("Graph")
    return _(_NOTE_NAMES[note.role] if note else _SPEAKERS.get(message.type, "Note"))
