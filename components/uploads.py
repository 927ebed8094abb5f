"""Uploaded files, parsed once: an import uses the documents that its preview has read."""

import binascii
from hashlib import sha256
from threading import Lock

from checkpoints import InvalidDocumentError, files
from checkpoints.interchange import reading
from checkpoints.interchange.waymark import Document
from checkpoints.progress import Report, ignore_progress

MAX_KEPT_SECONDS = 600.0  # the memory of a dialog that nobody closes; after that, its file is parsed again


class ParsedUpload:
    """The documents of the newest upload under its hash, at most one file of `MAX_DOCUMENT_BYTES`.

    An upload that is not kept any more, as when another tab has chosen a file since, is parsed again.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._key = b""
        self._documents: list[Document] = []

    def read_documents(self, contents: str, report: Report = ignore_progress) -> list[Document]:
        """Return the documents of an upload (a data URL), and keep them. Blocks. Raises `InvalidDocumentError`."""
        key = hash_upload(contents)
        with self._lock:
            if key == self._key:
                return self._documents
        documents = _parse_upload(contents, report)
        with self._lock:
            self._key, self._documents = key, documents
        return documents

    def take_documents(self, contents: str, report: Report = ignore_progress) -> list[Document]:
        """Return the documents of an upload, and drop them. Blocks. Raises `InvalidDocumentError`."""
        documents = self.read_documents(contents, report)
        self.forget(hash_upload(contents))
        return documents

    def forget(self, key: bytes) -> None:
        """Drop the documents of the upload with this hash."""
        with self._lock:
            if key == self._key:
                self._key, self._documents = b"", []


def hash_upload(contents: str) -> bytes:
    """Return the hash of an upload. Blocks for some milliseconds."""
    return sha256(contents.encode(errors="surrogatepass")).digest()


def _parse_upload(contents: str, report: Report) -> list[Document]:
    try:
        raw = files.decode_base64(contents.partition(",")[2])
    except (binascii.Error, ValueError) as error:
        raise InvalidDocumentError("The upload was incomplete.") from error
    return reading.read_documents(raw, report)
