"""Uploads with several processes: a file and the action with it may come to different processes."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from checkpoints.interchange.waymark import Document
from components.transfers.uploads import MAX_KEPT_SECONDS, Upload, Uploads, create_upload_id
from extensions.fleet.kept_uploads import KeptUploads


class SharedUploads(Uploads):
    """Unused uploads, in the database. Only arriving uploads are in memory."""

    def __init__(self, kept: KeptUploads, run_blocking: Callable[..., Awaitable[Any]]) -> None:
        super().__init__()
        self._stored = kept
        self._run = run_blocking
        # The newest documents are kept by the id of their upload.
        self._parsed: tuple[str, list[Document]] | None = None

    async def receive(self, pieces: AsyncIterable[bytes]) -> str:
        data, identifier = await self._collect(pieces), create_upload_id()
        try:
            await self._run(self._stored.keep, identifier, data)
        finally:
            self._release(data)
        return identifier

    async def find(self, identifier: str) -> Upload | None:
        data: bytes | None = await self._run(self._stored.find, identifier)
        if data is None:
            return None
        parsed_id, documents = self._parsed or ("", None)
        return Upload(bytearray(data), documents if parsed_id == identifier else None)

    def keep_documents(self, identifier: str, documents: list[Document]) -> None:
        """Keep the documents in this process. Another process parses them again."""
        self._parsed = (identifier, documents)
        asyncio.get_running_loop().call_later(MAX_KEPT_SECONDS, self._forget_documents, identifier)

    async def forget(self, identifier: str) -> None:
        self._forget_documents(identifier)
        await self._run(self._stored.forget, identifier)

    def _forget_documents(self, identifier: str) -> None:
        if self._parsed and self._parsed[0] == identifier:
            self._parsed = None
