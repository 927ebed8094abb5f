"""The content of attached files.

A file is served only as part of the message that names it, and with the type found in its bytes, whatever its name. Images
are shown and all other files are saved. Nothing in a file can act (see guard).
"""

from urllib.parse import quote

from fastapi import FastAPI
from starlette.responses import Response

from checkpoints import NotFoundError, Store
from checkpoints.values import files
from checkpoints.values.errors import DamagedFileError
from checkpoints.values.files import FilePart
from components.services import Services
from components.views.file_links import FILES_PREFIX


def add_route(server: FastAPI, services: Services) -> None:
    @server.get(FILES_PREFIX + "{thread_id:thread}/{message_id}/{digest}")
    async def get_file(thread_id: str, message_id: str, digest: str) -> Response:
        content_hash = f"sha256:{digest}"
        part, data = await services.read_snapshot(_load_attached_file, services.store, thread_id, message_id, content_hash)
        return Response(data, media_type=_media_type(part), headers={"Content-Disposition": _content_disposition(part)})


def _load_attached_file(store: Store, thread_id: str, message_id: str, content_hash: str) -> tuple[FilePart, bytes]:
    content = store.get_message(thread_id, message_id).intact.body["data"].get("content")
    part = next((part for part in files.find_file_parts(content) if part["file"] == content_hash), None)
    if part is None:
        raise NotFoundError(content_hash)
    if (data := store.read_files([content_hash]).get(content_hash)) is None:
        raise DamagedFileError(part["name"])
    return part, data


def _media_type(part: FilePart) -> str:
    return f"{files.TEXT_TYPE}; charset=utf-8" if part["mime_type"] == files.TEXT_TYPE else str(part["mime_type"])


def _content_disposition(part: FilePart) -> str:
    kept = "inline" if part["mime_type"] in files.IMAGE_TYPES else "attachment"
    return f"{kept}; filename*=UTF-8''{quote(part['name'], safe='')}"
