"""The download of several conversations: an archive with a file in Waymark's format for each, which can be imported."""

import io
import re
import zipfile
from collections.abc import Sequence

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from checkpoints import Store
from checkpoints.errors import ExportTooLargeError
from checkpoints.interchange import transfer
from checkpoints.limits import MAX_SELECTED_THREADS
from checkpoints.progress import Progress, Report, report_within
from components.long_requests import get_report
from components.services import Services
from components.shapes import MalformedRequestError

MAX_ARCHIVE_CHARS = 100_000_000  # of its files before they are compressed
_MAX_NAME_CHARS = 60


def add_route(server: FastAPI, services: Services) -> None:
    @server.post("/api/threads/export")
    async def download_exports(request: Request) -> Response:
        """Export the conversations that the form names: `thread=…&thread=…`."""
        thread_ids = list(dict.fromkeys(QueryParams(await request.body()).getlist("thread")))
        if not 0 < len(thread_ids) <= MAX_SELECTED_THREADS:
            raise MalformedRequestError("thread")
        content = await _write_archive(services, thread_ids, get_report())
        named = {"Content-Disposition": 'attachment; filename="conversations.zip"'}
        return Response(content, media_type="application/zip", headers=named)


async def _write_archive(services: Services, thread_ids: Sequence[str], report: Report) -> bytes:
    """Write the archive, each conversation from a snapshot of its own. Raises `ExportTooLargeError`."""
    content, size = io.BytesIO(), 0
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for done, thread_id in enumerate(thread_ids):
            within = report_within(report, Progress("Exporting", done, len(thread_ids), "conversations"))
            title, text = await services.read_snapshot(_read_export, services.store, thread_id, within)
            size += len(text)
            if size > MAX_ARCHIVE_CHARS:
                limit = MAX_ARCHIVE_CHARS // 1_000_000
                raise ExportTooLargeError(
                    f"These conversations have more than {limit} million characters together. Select fewer of them."
                )
            words = re.sub(r"\W+", "-", title).strip("-")[:_MAX_NAME_CHARS]
            await services.run_blocking(archive.writestr, f"{words}-{thread_id}.waymark.json", text)
    return content.getvalue()


def _read_export(store: Store, thread_id: str, report: Report) -> tuple[str, str]:
    return store.get_thread(thread_id).title, transfer.write_export(store, thread_id, report=report).text
