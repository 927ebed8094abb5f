"""The download of several conversations, or of all: an archive with a file in Waymark's format for each."""

import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO
from urllib.parse import quote

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from checkpoints import StateError, Store
from checkpoints.interchange import transfer
from checkpoints.interchange.export_options import ExportOptions, build_file_name
from checkpoints.interchange.transfer import Export
from checkpoints.values.audit_entry import AuditKind
from checkpoints.values.errors import ExportTooLargeError
from checkpoints.values.progress import Progress, Report, report_within
from checkpoints.values.sentence import sentence
from components import auditing
from components.routes.export_download import WARNING_HEADER, check_stored_size
from components.services import Services
from components.shapes import MalformedRequestError, check_selection
from components.transfers.long_requests import RequestCancelledError, get_progress_callback
from words import N_, _, ngettext, say

# The limit counts the archive's files before they are compressed.
MAX_ARCHIVE_CHARS = 100_000_000
# This limit is for an archive of all conversations.
MAX_WHOLE_ARCHIVE_CHARS = 1_000_000_000
MISSING_NAME = "NOT EXPORTED.txt"
# A larger archive is written to a file without a name.
_MAX_MEMORY_BYTES = 10_000_000
_CHUNK_BYTES = 256_000


def add_route(server: FastAPI, services: Services) -> None:
    @server.post("/api/threads/export")
    async def download_exports(request: Request) -> Response:
        """Export the conversations of the form, `thread=…&thread=…`, or all with `all=1`."""
        options = QueryParams(await request.body())
        is_whole, thread_ids = "all" in options, list(dict.fromkeys(options.getlist("thread")))
        if not is_whole and not thread_ids:
            raise MalformedRequestError("thread")
        check_selection(thread_ids)
        report = get_progress_callback()
        if is_whole:
            thread_ids = await services.read_snapshot(_list_thread_ids, services.store)
        content = tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES)  # noqa: SIM115  (the response closes it)
        try:
            missing = await _write_archive(services, content, thread_ids, report, is_whole=is_whole)
            await auditing.record(services, AuditKind.EXPORT, {"threads": len(thread_ids), "format": "waymark"})
        except BaseException:
            content.close()
            raise
        headers = {"Content-Length": str(content.tell()), "Content-Disposition": 'attachment; filename="conversations.zip"'}
        if missing:
            headers[WARNING_HEADER] = quote(
                ngettext(
                    "{count:,} conversation could not be exported whole: see {name}.",
                    "{count:,} conversations could not be exported whole: see {name}.",
                    missing,
                    name=MISSING_NAME,
                )
            )
        return StreamingResponse(_read_chunks(content), media_type="application/zip", headers=headers)


def _list_thread_ids(store: Store) -> list[str]:
    return [thread.id for thread in store.list_threads(limit=sys.maxsize)]


def _read_chunks(content: IO[bytes]) -> Iterator[bytes]:
    with content:
        content.seek(0)
        while chunk := content.read(_CHUNK_BYTES):
            yield chunk


async def _write_archive(
    services: Services, content: IO[bytes], thread_ids: Sequence[str], report: Report, *, is_whole: bool
) -> int:
    """Write the archive, each conversation from its own snapshot. Return how many conversations are incomplete or missing.

    In an archive of all conversations, a failing conversation does not stop the others. Raises `ExportTooLargeError`.
    """
    size, missing = 0, list[str]()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for done, thread_id in enumerate(thread_ids):
            within = report_within(report, Progress(N_("Exporting"), done, len(thread_ids), "conversations"))
            try:
                title, made = await services.read_snapshot(_read_export, services.store, thread_id, within)
            except StateError as error:
                if not is_whole or isinstance(error, RequestCancelledError):
                    raise
                missing.append(f"{thread_id}: {say(error)}")
                continue
            size += len(made.text)
            _check_size(size, MAX_WHOLE_ARCHIVE_CHARS if is_whole else MAX_ARCHIVE_CHARS)
            if is_whole and made.exceeded_limit:
                missing.append(
                    _(
                        "{title} ({thread_id}) cannot be imported again: {reason}",
                        title=title,
                        thread_id=thread_id,
                        reason=say(made.exceeded_limit),
                    )
                )
            name = build_file_name(title, "waymark.json", thread_id)
            await services.run_blocking(archive.writestr, name, made.text)
        if missing:
            archive.writestr(MISSING_NAME, "\n".join(missing))
    return len(missing)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise ExportTooLargeError(
            sentence(
                "These conversations have more than {limit} million characters together. Select fewer of them.",
                limit=limit // 1_000_000,
            )
        )


def _read_export(store: Store, thread_id: str, report: Report) -> tuple[str, Export]:
    check_stored_size(store, thread_id)
    return store.get_thread(thread_id).title, transfer.write_export(store, thread_id, ExportOptions(report=report))
