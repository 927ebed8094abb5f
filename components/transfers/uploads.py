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
    """The uploads that no action has used yet, in memory. The oldest ones give way to new ones."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}  # the oldest first
        self._bytes = 0  # also of those that are arriving

    async def receive(self, pieces: AsyncIterable[bytes]) -> str:
        """Keep a file, and return its id. Raises `TooManyUploadsError`, `ReadOnlyError`, and the errors of the pieces."""
        data = await self._collect(pieces)
        while len(self._kept) >= MAX_KEPT_UPLOADS:
            self._drop_oldest()
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
                self._reserve(len(piece))
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

    def _reserve(self, size: int) -> None:
        while self._kept and self._bytes + size > MAX_KEPT_BYTES:
            self._drop_oldest()
        if self._bytes + size > MAX_KEPT_BYTES:
            raise TooManyUploadsError
        self._bytes += size

    def _drop_oldest(self) -> None:
        self._drop(next(iter(self._kept)))


def create_upload_id() -> str:
    return secrets.token_urlsafe(16)
