"""What users attached, as the page shows it: what a message says of its files, and the address where each is read back.

A file is only given out as a part of the message that names it, and as what its bytes are, whatever it is called: an image
to be shown, anything else to be kept, and nothing of it may act (see guard).
"""

from typing import Literal, TypedDict
from urllib.parse import quote

from fastapi import FastAPI
from starlette.responses import PlainTextResponse, Response

from checkpoints import Message, NotFoundError, Store, files
from checkpoints.errors import DamagedFileError, DamagedMessageError, StoreUnavailableError
from checkpoints.files import Part
from components.services import Services

PREFIX = "/files/"


class FileView(TypedDict):
    kind: Literal["image", "file"]
    name: str
    size: int  # bytes
    address: str


def shown(message: Message) -> list[FileView]:
    """The files of a message, in its own order."""
    return [
        {"kind": part["type"], "name": part["name"], "size": part["size"], "address": _address(message, part)}
        for part in files.parts(message.body["data"].get("content"))
    ]


def _address(message: Message, part: Part) -> str:
    return f"{PREFIX}{quote(message.thread_id)}/{quote(message.id)}/{part['file'].partition(':')[2]}"


def add_route(server: FastAPI, services: Services) -> None:
    @server.get(PREFIX + "{thread_id}/{message_id}/{digest}")
    async def read(thread_id: str, message_id: str, digest: str) -> Response:
        try:
            part, data = await services.read(_read, services.store, thread_id, message_id, f"sha256:{digest}")
        except (DamagedFileError, DamagedMessageError) as error:
            return PlainTextResponse(str(error), 410)
        except StoreUnavailableError as error:
            return PlainTextResponse(str(error), 503)
        except NotFoundError:
            return PlainTextResponse("There is no such file.", 404)
        return Response(data, media_type=_media_type(part), headers={"Content-Disposition": _disposition(part)})


def _read(store: Store, thread_id: str, message_id: str, hash_: str) -> tuple[Part, bytes]:
    content = store.message(thread_id, message_id).intact.body["data"].get("content")
    part = next((part for part in files.parts(content) if part["file"] == hash_), None)
    if part is None:
        raise NotFoundError(hash_)
    if (data := store.held([hash_]).get(hash_)) is None:
        raise DamagedFileError(part["name"])
    return part, data


def _media_type(part: Part) -> str:
    return f"{files.TEXT}; charset=utf-8" if part["mime_type"] == files.TEXT else str(part["mime_type"])


def _disposition(part: Part) -> str:
    kept = "inline" if part["mime_type"] in files.IMAGES else "attachment"
    return f"{kept}; filename*=UTF-8''{quote(part['name'], safe='')}"
