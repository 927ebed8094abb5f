"""The export as a self-contained HTML file for reading, without scripts and without anything to load."""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

from checkpoints import MAIN, Message, Store, get_acting_owner
from checkpoints.interchange.export_options import WHOLE_EXPORT, ExportOptions
from checkpoints.interchange.readable import ReadableCheckpoint, ReadableConversation, read_conversation
from checkpoints.values import files
from checkpoints.values.errors import ExportTooLargeError
from checkpoints.values.files import FilePart
from checkpoints.values.image_header import detect_image_type, read_image_size
from checkpoints.values.progress import Report, StepCounter, ignore_progress
from checkpoints.values.sentence import sentence
from components.views import history_svg
from components.views.directions import write_direction
from components.views.message_html import MessageFrame, name_speaker, write_message
from components.views.message_view import MessageExtras, MessageView, describe_messages
from components.views.names import DocumentNames
from components.views.shown_text import UncutBudget
from components.views.subagent_work import WorkView
from components.workers.rendering import Renderer
from words import N_, _, get_language, ngettext, say_moment

# A larger file is refused.
MAX_HTML_CHARS = 50_000_000
# The limit counts a file's images, beside its texts. Further images are only named.
MAX_IMAGES_CHARS = 20_000_000
# All texts of a file may take this much processor time. Further texts are not formatted.
MAX_FORMATTING_SECONDS = 120.0
# This many messages are described at once, up to the end of their last turn.
_PORTION_MESSAGES = 100
# A graph with more rows is folded at first.
_MAX_OPEN_ROWS = 30
_ASSETS = Path(__file__).parents[2] / "assets"
_STYLES = (
    "modules/controls/tokens.css",
    *(f"modules/message/{name}.css" for name in ("prose", "table", "formula", "footnotes")),
)
# The latin letters of the page's font are enough: a reader's own font has the others.
_FONT = re.compile(r'@font-face \{[^}]*url\("(fonts/inter-latin\.woff2)"\)[^}]*\}')
_DARK = re.compile(r'\[data-bs-theme="dark"\] (\{.*?\})', re.DOTALL)


class EmbeddedImages:
    """The images of a document. `chars` counts their length so far."""

    def __init__(self, store: Store, max_chars: int) -> None:
        self._store = store
        self._max_chars = max_chars
        self.chars = 0

    def write_files(self, content: Any) -> str:
        return "".join(self._write_file(part) for part in files.find_file_parts(content))

    def _write_file(self, part: FilePart) -> str:
        name = escape(part["name"])
        if part["type"] != "image":
            return f"<p class='file'>{_('Attached: {name}', name=name)}</p>"
        image = self._write_image(part["file"], name)
        if image is None:
            return f"<p class='file'>{_('Attached: {name} (left out of this file)', name=name)}</p>"
        return f"<figure class='file'>{image}<figcaption>{name}</figcaption></figure>"

    def _write_image(self, file_hash: str, name: str) -> str | None:
        """Return None for an image that is too large, damaged or missing. Its bytes alone decide its type."""
        data = self._store.read_files([file_hash]).get(file_hash, b"")
        media_type, chars = detect_image_type(data), 4 * -(-len(data) // 3)
        if media_type is None or self.chars + chars > self._max_chars:
            return None
        self.chars += chars
        width, height = read_image_size(media_type, data) or (0, 0)
        size = f" width='{width}' height='{height}'" if width and height else ""
        return f"<img src='data:{media_type};base64,{base64.b64encode(data).decode()}' alt='{name}'{size}>"


@dataclass(frozen=True, slots=True)
class Heading:
    """The line under the title, and the names of the people who asked."""

    line: str
    names: DocumentNames
    # A shared page leads there, or to the sign-in before it. A file leads nowhere.
    home: str | None = None
    # The path is the conversation's end, and not a place in it: its last question may still be answered.
    is_whole: bool = True


def export_html(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> str:
    """Export the current path with the graph of History. Raises `ExportTooLargeError`."""
    conversation = read_conversation(store, thread_id, options)
    count = len(conversation.messages)
    exported = _("Exported from Waymark, {value} UTC.", value=say_moment(store.now()))
    counted = ngettext("{count:,} message of the current branch.", "{count:,} messages of the current branch.", count)
    names = DocumentNames(get_acting_owner() or store.get_thread(thread_id).owner, own=_("You"), unknown=_("You"))
    return write_html(store, conversation, Heading(f"{counted} {exported}", names), options.report)


def write_html(
    store: Store,
    conversation: ReadableConversation,
    heading: Heading,
    report: Report = ignore_progress,
    *,
    max_seconds: float = MAX_FORMATTING_SECONDS,
) -> str:
    """Write a conversation as a self-contained file. Raises `ExportTooLargeError`."""
    # The page's own renderer must not wait for these texts.
    renderer = Renderer()
    images = EmbeddedImages(store, MAX_IMAGES_CHARS)
    try:
        budget = UncutBudget(renderer.document(max_seconds))
        extras = MessageExtras(budget=budget, name_asker=heading.names.name_asker)
        pieces, chars = [], 0
        for piece in _write_document(conversation, extras, images, heading, report):
            chars += len(piece)
            if chars - images.chars > MAX_HTML_CHARS:
                limit = MAX_HTML_CHARS // 1_000_000
                raise ExportTooLargeError(
                    sentence("As HTML this export would have over {limit} million characters. Choose Markdown.", limit=limit)
                )
            pieces.append(piece)
    finally:
        renderer.close()
    return "".join(pieces)


def write_notice(title: str, text: str, home: str) -> str:
    """Write a page with a sentence, in the look of an export."""
    heading = f"{_write_bar(home)}<h1>{escape(title)}</h1><p>{escape(text)}</p>"
    content = f"<main><header class='title'>{heading}</header></main>"
    return f"{_write_head(title)}<body>{content}</body></html>"


@cache
def build_style() -> str:
    """Join the page's styles for texts. The reader's system chooses between light and dark."""
    style = "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in (*_STYLES, "export.css"))
    style = f"{_embed_font()}\n{style}"
    return _DARK.sub(r"@media (prefers-color-scheme: dark) { :root \1 }", style)


def _embed_font() -> str:
    found = _FONT.search((_ASSETS / "modules/controls/font.css").read_text(encoding="utf-8"))
    assert found
    data = base64.b64encode((_ASSETS / found[1]).read_bytes()).decode()
    return found[0].replace(found[1], f"data:font/woff2;base64,{data}")


def _write_bar(home: str | None) -> str:
    """Write the name of the product, and the way to the reader's own."""
    link = f"<a class='home' href='{escape(home)}'>{escape(_('Open your own Waymark'))}</a>" if home else ""
    return f"<div class='bar'><span class='brand'>Waymark</span>{link}</div>"


def _write_document(
    conversation: ReadableConversation, extras: MessageExtras, images: EmbeddedImages, heading: Heading, report: Report
) -> Iterator[str]:
    anchors, count = _find_anchors(conversation), len(conversation.messages)
    yield _write_head(conversation.title)
    title = f"<h1{write_direction(conversation.title)}>{escape(conversation.title)}</h1>"
    yield f"<body><header class='title'>{_write_bar(heading.home)}{title}<p>{escape(heading.line)}</p>"
    yield f"{_write_history(conversation, anchors) if conversation.branches else ''}</header><main>\n"
    marks = sorted(((conversation.checkpoints[number], anchor) for number, anchor in anchors.items()), key=_get_depth)
    counter, written = StepCounter(report, N_("Writing"), count, "messages"), 0
    for portion in _split_turns(conversation.messages):
        written += len(portion)
        end = _("No answer.") if written < count else _("No answer yet.") if heading.is_whole else ""
        yield from _write_portion(portion, extras, images, marks, end)
        counter.add(len(portion))
    yield "</main></body></html>\n"


def _write_history(conversation: ReadableConversation, anchors: dict[int, str]) -> str:
    labels = history_svg.list_labels(conversation, anchors, _find_message_anchors(conversation))
    rows = history_svg.lay_out(labels, conversation.forks, history_svg.list_summaries(conversation))
    is_open = " open" if len(rows) <= _MAX_OPEN_ROWS else ""
    return f"<details{is_open}><summary>{escape(_('History'))}</summary>{history_svg.draw(rows)}</details>"


def _write_head(title: str) -> str:
    style = build_style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; font-src data:"
    policy += "; base-uri 'none'; form-action 'none'"
    metas = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    metas += '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
    head = f"{metas}<title>{escape(title)}</title><style>{style}</style>"
    return f'<!DOCTYPE html>\n<html lang="{get_language()}"><head>{head}</head>'


def _find_anchors(conversation: ReadableConversation) -> dict[int, str]:
    """Return the anchors of the checkpoints shown in the transcript, by their index."""
    path = {(message.segment, message.depth) for message in conversation.messages}
    return {n: f"checkpoint-{n}" for n, each in enumerate(conversation.checkpoints) if each.node.place in path}


def _find_message_anchors(conversation: ReadableConversation) -> dict[tuple[int, int], str]:
    """Return the anchors of the notes of moves in the transcript, by segment and depth. Sub-agents' moves have none."""
    moved = {move.node.place for move in conversation.moves}
    shown = [each for each in conversation.messages if each.agent == MAIN and (each.segment, each.depth) in moved]
    return {(each.segment, each.depth): _name_anchor(each.depth) for each in shown}


def _name_anchor(depth: int) -> str:
    return f"message-{depth + 1}"


def _get_depth(mark: tuple[ReadableCheckpoint, str]) -> int:
    return mark[0].node.depth


def _split_turns(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Split a path before questions of the user, so calls stay with their results and the work for them."""
    start = 0
    for place, message in enumerate(messages):
        if place - start >= _PORTION_MESSAGES and message.agent == MAIN and message.type == "human":
            yield messages[start:place]
            start = place
    yield messages[start:]


def _write_portion(
    messages: Sequence[Message],
    extras: MessageExtras,
    images: EmbeddedImages,
    marks: list[tuple[ReadableCheckpoint, str]],
    end: str,
) -> Iterator[str]:
    """Write messages, each with the checkpoints on it or on the results in its cards. Removes these from `marks`.

    `end` is the sentence below a question that is the last of them.
    """
    depths = {message.id: message.depth for message in messages}
    contents = {message.id: message.body["data"].get("content") for message in messages}
    views = describe_messages(messages, extras)
    ends = [*(depths[view["id"]] for view in views[1:]), messages[-1].depth + 1 if messages else 0]
    for place, (view, end_depth) in enumerate(zip(views, ends, strict=False)):
        is_last, before = place + 1 == len(views), views[place - 1] if place else None
        frame = MessageFrame(
            _name_anchor(depths[view["id"]]),
            images.write_files(contents[view["id"]]) if view["files"] else "",
            below=_describe_silence(view, end if is_last else None, None if is_last else views[place + 1]),
            goes_on=before is not None and _goes_on(before, view),
        )
        yield write_message(view, partial(_describe_work, messages, extras), frame)
        while marks and marks[0][0].node.depth < end_depth:
            yield _write_checkpoint(*marks.pop(0))


def _describe_silence(view: MessageView, end: str | None, following: MessageView | None) -> str:
    """Return the sentence below a question that another question follows, or the end."""
    if view["role"] != "user" or (following is not None and following["role"] != "user"):
        return ""
    return _("No answer.") if end is None else end


def _goes_on(before: MessageView, view: MessageView) -> bool:
    return before["role"] == view["role"] == "assistant" and name_speaker(before) == name_speaker(view)


def _describe_work(messages: Sequence[Message], extras: MessageExtras, work: WorkView) -> list[MessageView]:
    """Describe a sub-agent's messages for a call, from its question up to its next question."""
    first = next(place for place, message in enumerate(messages) if message.id == work["question"])
    others = (place for place in range(first + 1, len(messages)) if _is_question(messages[place], work["agent"]))
    return describe_messages(messages[first : next(others, len(messages))], extras, agent=work["agent"])


def _is_question(message: Message, agent: str) -> bool:
    return message.agent == agent and message.type == "human"


def _write_checkpoint(checkpoint: ReadableCheckpoint, anchor: str) -> str:
    description = f" <span>{escape(checkpoint.description)}</span>" if checkpoint.description else ""
    direction = write_direction(f"{checkpoint.name} {checkpoint.description}")
    return f"<p class='checkpoint' id='{anchor}'{direction}><strong>{escape(checkpoint.name)}</strong>{description}</p>\n"
