"""The download of an export."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from checkpoints import Store
from checkpoints.interchange import text_exports, transfer
from checkpoints.interchange.document_redaction import Redact
from checkpoints.interchange.export_options import ExportOptions, build_file_name
from checkpoints.interchange.redaction import Redaction
from checkpoints.interchange.transfer import Export
from checkpoints.tree_reader import count_stored_chars
from checkpoints.values.audit_entry import AuditKind
from checkpoints.values.errors import ExportTooLargeError
from checkpoints.values.sentence import sentence
from components import auditing
from components.services import Services
from components.transfers.html_export import export_html
from components.transfers.long_requests import get_progress_callback
from words import N_, _, say

# The header is a quoted sentence. The browser asks before it saves the file.
WARNING_HEADER = "Waymark-Warning"
# The limit counts the messages of one conversation.
MAX_EXPORTED_CHARS = 100_000_000

Writer = Callable[[Store, str, ExportOptions], Export]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    label: str
    write: Writer
    media_type: str
    suffix: str
    takes_long: bool = False


def _write_text(write: Callable[[Store, str, ExportOptions], str]) -> Writer:
    """Adapt a text format's writer to the type `Writer`. Such formats cannot be imported."""
    return lambda store, thread_id, options: Export(write(store, thread_id, options))


# The form names the formats by these values.
EXPORT_FORMATS = {
    "waymark": ExportFormat("Waymark JSON", transfer.write_export, "application/json", "waymark.json"),
    "markdown": ExportFormat("Markdown", _write_text(text_exports.export_markdown), "text/markdown", "md"),
    "html": ExportFormat(N_("HTML, to read anywhere"), _write_text(export_html), "text/html", "html", takes_long=True),
    "jsonl": ExportFormat(N_("JSONL (OpenAI format)"), _write_text(text_exports.export_jsonl), "application/jsonl", "jsonl"),
}


def add_route(server: FastAPI, services: Services) -> None:
    """Serve the download: `format=waymark|markdown|html|jsonl&leave_out=…&leave_out_files=…&redact=…`, a word per line.

    The page posts the form, because redacted words must not appear in an address.
    """

    @server.api_route("/api/threads/{thread_id:thread}/export", methods=["GET", "POST"])
    async def download_export(thread_id: str, request: Request) -> Response:
        options = QueryParams(await request.body() if request.method == "POST" else request.query_params)
        if (kind := EXPORT_FORMATS.get(options.get("format", "waymark"))) is None:
            return PlainTextResponse(_("There is no such format."), 400)
        words = tuple(line.strip() for text in options.getlist("redact") for line in text.splitlines() if line.strip())
        results, attached = "leave_out" in options, "leave_out_files" in options
        redaction = Redaction(results, words, attached) if words or results or attached else None
        made = await _write_export(services, kind, thread_id, redaction)
        detail = {"thread": thread_id, "format": options.get("format", "waymark"), "redacted": redaction is not None}
        await auditing.record(services, AuditKind.EXPORT, detail)
        title = await services.read_snapshot(_read_title, services.store, thread_id)
        shown_title = ExportOptions(redaction).redact_title(title)
        title_name = quote(build_file_name(shown_title, kind.suffix), safe="")
        name = f"attachment; filename=\"conversation.{kind.suffix}\"; filename*=UTF-8''{title_name}"
        warning = {WARNING_HEADER: quote(say(made.exceeded_limit))} if made.exceeded_limit else {}
        return Response(made.text, media_type=kind.media_type, headers={"Content-Disposition": name, **warning})


async def _write_export(services: Services, kind: ExportFormat, thread_id: str, redaction: Redaction | None) -> Export:
    """Write an export. A slow export waits for its turn, and does not occupy a thread for reading views."""
    report = get_progress_callback()
    await services.read_snapshot(check_stored_size, services.store, thread_id)
    if redaction is None and not kind.takes_long:
        return await services.read_snapshot(kind.write, services.store, thread_id, ExportOptions(report=report))

    def write(redact: Redact) -> Export:
        return kind.write(services.store, thread_id, ExportOptions(redaction, report, redact))

    return await services.redacted_exports.make(write, report)


def check_stored_size(store: Store, thread_id: str) -> None:
    """Refuse a conversation whose export, as messages, JSON and text at once, would need gigabytes of memory."""
    if count_stored_chars(store, thread_id) > MAX_EXPORTED_CHARS:
        raise ExportTooLargeError(
            sentence(
                "This conversation has over {limit} million characters, and the page exports no more. "
                "The command line does: python app.py export",
                limit=MAX_EXPORTED_CHARS // 10**6,
            )
        )


def _read_title(store: Store, thread_id: str) -> str:
    return store.get_thread(thread_id).title
