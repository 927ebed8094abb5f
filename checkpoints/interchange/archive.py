"""Reading of an archive with a document in each of its files, as an export of several conversations is.

One file is unpacked at a time, and never more of it than a document may have: the sizes in an archive may be wrong.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import IO

from ..values.errors import InvalidDocumentError
from ..values.limits import MAX_ARCHIVE_BYTES, MAX_ARCHIVE_CONVERSATIONS, MAX_DOCUMENT_BYTES
from ..values.sentence import sentence
from .reading import read_documents
from .waymark import Document

_BEGINNING = b"PK\x03\x04"
_ENDING = ".json"  # of the names of documents; other files are left out
_ENCRYPTED = 0x1
_ENTRY_SIGNATURE = b"PK\x01\x02"
_PIECE_BYTES = 1_000_000


def is_archive(beginning: bytes | bytearray) -> bool:
    return beginning[: len(_BEGINNING)] == _BEGINNING


class Archive:
    """The documents in an archive."""

    def __init__(self, file: IO[bytes], max_bytes: int = MAX_ARCHIVE_BYTES) -> None:
        """Raises `InvalidDocumentError`. `max_bytes` is of all its documents, unpacked."""
        _check_entry_count(file)
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise InvalidDocumentError(sentence("The file is not an archive that can be read.")) from error
        self._max_bytes = max_bytes
        self._entries = [each for each in self._archive.infolist() if each.filename.endswith(_ENDING)]
        if not self._entries:
            raise InvalidDocumentError(sentence("The archive holds no conversation."))
        if len(self._entries) > MAX_ARCHIVE_CONVERSATIONS:
            raise InvalidDocumentError(sentence("The archive holds over {limit:,} files.", limit=MAX_ARCHIVE_CONVERSATIONS))

    def __len__(self) -> int:
        return len(self._entries)

    def iterate_documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the archive. Raises `InvalidDocumentError`, which names the file."""
        bytes_left, count = self._max_bytes, 0
        for entry in self._entries:
            name = entry.filename[-80:]
            raw = self._unpack(entry, name)
            bytes_left -= len(raw)
            if bytes_left < 0:
                limit = self._max_bytes // 1_000_000
                raise InvalidDocumentError(
                    sentence("The archive holds over {limit} MB. Import it on the command line, or in parts.", limit=limit)
                )
            try:
                documents = read_documents(raw)
            except InvalidDocumentError as error:
                raise InvalidDocumentError(
                    sentence("In the archive, {name}: {error}", name=name, error=str(error))
                ) from error
            count += len(documents)
            if count > MAX_ARCHIVE_CONVERSATIONS:
                raise InvalidDocumentError(
                    sentence("The archive holds over {limit:,} conversations.", limit=MAX_ARCHIVE_CONVERSATIONS)
                )
            yield from documents

    def _unpack(self, entry: zipfile.ZipInfo, name: str) -> bytes:
        if entry.flag_bits & _ENCRYPTED:
            raise InvalidDocumentError(sentence("In the archive, {name} is encrypted.", name=name))
        try:
            with closing(self._archive.open(entry)) as content:
                return content.read(MAX_DOCUMENT_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
            raise InvalidDocumentError(sentence("In the archive, {name} is damaged.", name=name)) from error


def _check_entry_count(file: IO[bytes]) -> None:
    """Raise `InvalidDocumentError` for an archive of too many files, before the library makes a value for each.

    The archive may lie about their number, but each has this signature.
    """
    count, before = 0, b""
    while piece := file.read(_PIECE_BYTES):
        joined = before + piece
        count += joined.count(_ENTRY_SIGNATURE)
        before = joined[1 - len(_ENTRY_SIGNATURE) :]
        if count > 2 * MAX_ARCHIVE_CONVERSATIONS:  # some may be other files
            raise InvalidDocumentError(sentence("The archive holds over {limit:,} files.", limit=MAX_ARCHIVE_CONVERSATIONS))
    file.seek(0)
