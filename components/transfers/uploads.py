"""Uploads: files that the page sends before the action that uses them, kept for a while under an id that nobody can guess.

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
MAX_UPLOAD_BYTES = {"import": MAX_ARCHIVE_FILE_BYTES, "file": MAX_BINARY_FILE_BYTES}  # of one upload, by its purpose
MAX_KEPT_BYTES = 64_000_000  # of all uploads, also of those that are arriving
MAX_KEPT_UPLOADS = 100
MAX_KEPT_SECONDS = 600.0  # the time until somebody confirms the dialog of an import


class UploadGoneError(StateError):
    """An upload is not kept any more, or never was."""


class TooManyUploadsError(StateError):
    """Other uploads that are arriving at the same time leave no room."""

    def __init__(self) -> None:
        super().__init__(sentence("Too many files are being uploaded at once. Try again."))


@dataclass(eq=False)
class Upload:
    """A file that has arrived. An import keeps the documents that its preview has read."""

    data: bytearray  # to be copied on another thread
    documents: list[Document] | None = None


@dataclass(frozen=True)
class _Kept:
    upload: Upload
    owner: str | None  # who has sent it
    expiry: asyncio.TimerHandle


class Uploads:
    """The uploads that no action has used yet, in memory. Old ones give way to new ones (see upload_room)."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}  # the oldest first
        self._bytes = 0  # also of those that are arriving

    async def receive(self, pieces: AsyncIterable[bytes]) -> str:
        """Keep a file, and return its id. Raises `TooManyUploadsError`, `ReadOnlyError`, and the errors of the pieces."""
        data = await self._collect(pieces)
        self._make_room(len(data), 0)
        identifier = create_upload_id()
        expiry = asyncio.get_running_loop().call_later(MAX_KEPT_SECONDS, self._drop, identifier)
        self._kept[identifier] = _Kept(Upload(data), get_acting_owner(), expiry)
        return identifier

    async def find(self, identifier: str) -> Upload | None:
        """Return an upload; None if it is not kept, or is another owner's."""
        found = self._kept.get(identifier)
        return found.upload if found and found.owner == get_acting_owner() else None

    def keep_documents(self, identifier: str, documents: list[Document]) -> None:
        """Keep the documents of an upload, and drop those of all others: they are larger than their file."""
        for name, each in self._kept.items():
            each.upload.documents = documents if name == identifier else None

    async def forget(self, identifier: str) -> None:
        """Drop an upload of the owner who acts, if it is still kept."""
        if await self.find(identifier):
            self._drop(identifier)

    async def _collect(self, pieces: AsyncIterable[bytes]) -> bytearray:
        """Return a whole file, whose bytes are reserved until `_release`."""
        require_writer()
        data = bytearray()  # a list of pieces could cost a client's single bytes forty times their size
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
        """Drop the uploads that give way to a piece of a new one, of which so many bytes have arrived."""
        if self._bytes + size <= MAX_KEPT_BYTES and len(self._kept) < MAX_KEPT_UPLOADS:
            return
        kept = [KeptFile(name, each.owner, len(each.upload.data)) for name, each in self._kept.items()]
        arriving = self._bytes - sum(each.size for each in kept) - arrived  # of other uploads
        new = KeptFile("", get_acting_owner(), arrived + size)
        for each in choose_surplus(kept, new, max_bytes=MAX_KEPT_BYTES - arriving, max_count=MAX_KEPT_UPLOADS):
            self._drop(each)


def create_upload_id() -> str:
    return secrets.token_urlsafe(16)
