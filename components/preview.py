"""What is in a file that may be imported, for its dialog. Pure, and text only: nothing of the file is rendered."""

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component
from langchain_core.messages import AIMessage

from checkpoints import MAIN, counted, files, serde
from checkpoints.document import Document, MessagePart
from checkpoints.transfer import Preview

_PREVIEWED = 3  # messages from each end
_LISTED = 20  # conversations of one file
_SPEAKERS = {"human": "You", "ai": "Agent", "tool": "Tool result", "function": "Tool result"}


def question(name: str, docs: Sequence[Document], previews: Sequence[Preview], open_here: bool) -> list[Component]:
    """What is in the file, shown as text and nothing else."""
    source = html.P(f"From {name}. Nothing that is here now will be changed.", className="quiet")
    warnings = [html.P(text) for text in dict.fromkeys(text for preview in previews for text in preview.warnings)]
    if len(docs) == 1:
        return [*_one(docs[0], previews[0], open_here), *warnings, source]
    titles = [html.Li([html.Strong(preview.title), f" · {_facts(preview)}"]) for preview in previews[:_LISTED]]
    more = [html.Li(f"and {len(docs) - _LISTED} more", className="quiet")] if len(docs) > _LISTED else []
    return [html.P(f"{len(docs)} conversations:"), html.Ul([*titles, *more], className="preview"), *warnings, source]


def _one(doc: Document, preview: Preview, open_here: bool) -> list[Component]:
    path = list(enumerate(doc.path(), 1))
    cut = len(path) > 2 * _PREVIEWED
    shown = [*path[:_PREVIEWED], None, *path[-_PREVIEWED:]] if cut else path
    notes = []
    if preview.existing:
        notes.append(f"This file is here already, as “{preview.existing.title}”: a new conversation will be that one.")
    if open_here and preview.here:
        notes.append(f"{preview.here:,} of its {counted(preview.messages, 'message')} are in this conversation already.")
    return [
        html.P([html.Strong(preview.title), f" · {_facts(preview)}"]),
        html.Ol([_line(entry) for entry in shown], className="preview"),
        html.Ul([html.Li(c.name) for c in doc.checkpoints[:10]], className="preview-checkpoints"),
        *(html.P(note) for note in notes),
    ]


def _facts(preview: Preview) -> str:
    checkpoints, branches = counted(preview.checkpoints, "checkpoint"), counted(preview.branches, "branch", "branches")
    attached = f" · {counted(preview.files, 'attached file')}" if preview.files else ""
    return f"{counted(preview.messages, 'message')} · {checkpoints} · {branches}{attached}"


def _line(entry: tuple[int, MessagePart] | None) -> Component:
    """A message with its number on the path, which a gap before it must not change."""
    if entry is None:
        return html.Li("…", className="quiet preview-gap")
    number, part = entry
    message = serde.to_message(part.message)
    calls = [call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    named = ", ".join(each["name"] for each in files.parts(message.content))
    text = str(message.text)[:140] or named or (f"(calls {', '.join(calls)})" if calls else "(no text)")
    speaker = _SPEAKERS.get(message.type, "Note") if part.agent == MAIN else part.agent
    return html.Li([html.B(speaker), " ", text], value=str(number))
