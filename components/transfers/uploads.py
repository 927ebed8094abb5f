"""Uploads: files that the page sends before the action that uses them, kept for a while under an unguessable id.

A file inside a callback's JSON would be parsed on the event loop. All methods run on the event loop.
"""

import asyncio
import secrets
from collections.abc import AsyncIterable
from dataclasses import dataclass

from checkpoints import StateError, get_acting_owner, require_writer
from checkpoints.interchange.waymark import Document
from checkpoints.values.limits import MAX_ARCHIVE_FILE_BYTES, MAX_BINARY_FILE_BYTES
from checkpoints.values.sentence import sentence
from checkpoints.values.upload_room import KeptFile, choose_surplus

UPLOADS_PREFIX = "/api/uploads/"
# The limits apply to one upload, by its purpose.
MAX_UPLOAD_BYTES = {"import": MAX_ARCHIVE_FILE_BYTES, "file": MAX_BINARY_FILE_BYTES}
# The limit counts all uploads, arriving uploads included.
MAX_KEPT_BYTES = 64_000_000
MAX_KEPT_UPLOADS = 100
# The user has this time to confirm the dialog of an import.
MAX_KEPT_SECONDS = 600.0


class UploadGoneError(StateError):
    """An upload is not kept any more, or never was."""


class TooManyUploadsError(StateError):
    """Other uploads arriving at the same time leave no room."""

    def __init__(self) -> None:
        super().__init__(sentence("Too many files are being uploaded at once. Try again."))


@dataclass(eq=False)
class Upload:
    """An uploaded file. An import keeps the documents parsed by its preview."""

    # A thread that parses the data copies it first.
    data: bytearray
    documents: list[Document] | None = None


@dataclass(frozen=True)
class _Kept:
    upload: Upload
    owner: str | None
    expiry: asyncio.TimerHandle


class Uploads:
    """Unused uploads, in memory. Old uploads make room for new uploads (see upload_room)."""

    def __init__(self) -> None:
        # The oldest upload comes first.
        self._kept: dict[str, _Kept] = {}
        # Arriving uploads count as well.
        self._bytes = 0

    async def receive(self, pieces: AsyncIterable[bytes]) -> str:
        """Keep a file, and return its id. Raises `TooManyUploadsError`, `ReadOnlyError`, and the errors of `pieces`."""
        data = await self._collect(pieces)
        self._make_room(len(data), 0)
        identifier = create_upload_id()
        expiry = asyncio.get_running_loop().call_later(MAX_KEPT_SECONDS, self._drop, identifier)
        self._kept[identifier] = _Kept(Upload(data), get_acting_owner(), expiry)
        return identifier

    async def find(self, identifier: str) -> Upload | None:
        """Return an upload; None if it is not kept, or belongs to another owner."""
        found = self._kept.get(identifier)
        return found.upload if found and found.owner == get_acting_owner() else None

    def keep_documents(self, identifier: str, documents: list[Document]) -> None:
        """Keep the documents of an upload, and drop those of all others: documents are larger than their file."""
        for name, each in self._kept.items():
            each.upload.documents = documents if name == identifier else None

    async def forget(self, identifier: str) -> None:
        """Drop an upload of the acting owner, if it is still kept."""
        if await self.find(identifier):
            self._drop(identifier)

    async def _collect(self, pieces: AsyncIterable[bytes]) -> bytearray:
        """Collect a whole file. Its bytes stay reserved until `_release`."""
        require_writer()
        # A list of pieces could cost forty times the size of a client's single bytes.
        data = bytearray()
        try:
            async for piece in pieces:
                self._make_room(len(data), len(piece))
                if self._bytes + len(piece) > MAX_KEPT_BYTES:
                    raise TooManyUploadsError
                self._bytes += len(piece)
                data += piece
        except BaseException:
            self._release(data)
            raise
        return data

    def _release(self, data: bytearray) -> None:
        self._bytes -= len(data)

    def _drop(self, identifier: str) -> None:
        if (kept := self._kept.pop(identifier, None)) is not None:
            kept.expiry.cancel()
            self._release(kept.upload.data)

    def _make_room(self, arrived: int, size: int) -> None:
        """Drop uploads to make room for a piece of a new upload, of which `arrived` bytes are here."""
        if self._bytes + size <= MAX_KEPT_BYTES and len(self._kept) < MAX_KEPT_UPLOADS:
            return
        kept = [KeptFile(name, each.owner, len(each.upload.data)) for name, each in self._kept.items()]
        # Other arriving uploads have this many bytes.
        arriving = self._bytes - sum(each.size for each in kept) - arrived
        new = KeptFile("", get_acting_owner(), arrived + size)
        for each in choose_surplus(kept, new, max_bytes=MAX_KEPT_BYTES - arriving, max_count=MAX_KEPT_UPLOADS):
            self._drop(each)


def create_upload_id() -> str:
    return secrets.token_urlsafe(16)
