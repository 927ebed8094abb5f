"""Attached files: images, PDFs and texts, each stored once under the hash of its bytes.

A message names its files in its content, as parts `{"type": "image" | "file", "file": "sha256:…", "name": …,
"mime_type": …, "size": …}`, so its hash covers them. A file's bytes decide its type, never its name. A file is
written in the same transaction as the message that refers to it, and erased when no message does.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import image_header, serde
from .errors import InvalidFileError
from .limits import MAX_BINARY_FILE_BYTES, MAX_FILE_NAME_CHARS, MAX_FILES, MAX_FILES_BYTES, MAX_PIXELS, MAX_TEXT_FILE_BYTES
from .sentence import sentence

FilePart = dict[str, Any]
TEXT_TYPE, PDF_TYPE = "text/plain", "application/pdf"
IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
PART_KEYS = frozenset({"type", "file", "name", "mime_type", "size"})
_FILE_REFERENCE = re.compile(r'"file":"(sha256:[0-9a-f]{64})"')
_IMAGE_NOUN, _PDF_NOUN, _TEXT_NOUN = sentence("an image"), sentence("a PDF"), sentence("a text")
_KIND_BY_SUFFIX = {
    "png": _IMAGE_NOUN,
    "jpg": _IMAGE_NOUN,
    "jpeg": _IMAGE_NOUN,
    "gif": _IMAGE_NOUN,
    "webp": _IMAGE_NOUN,
    "pdf": _PDF_NOUN,
}
# A piece has whole groups of four base64 characters.
_PIECE_CHARS = 400_000
# Texts never contain these, apart from the escape codes of logs.
_CONTROL_CHARACTER = re.compile(r"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class File:
    """A complete, checked file. Only `parse_file` makes one."""

    hash: str
    name: str
    media_type: str
    data: bytes = field(repr=False)


def parse_file(name: str, data: bytes) -> File:
    """Check that a file can be attached, and return it. Raises `InvalidFileError`."""
    name = clean_file_name(name)
    media_type = _detect_media_type(data)
    if not data:
        raise InvalidFileError(sentence("{name} is empty.", name=name))
    if media_type is None:
        raise InvalidFileError(
            sentence("{name} is neither an image (PNG, JPEG, WebP, GIF) nor a PDF nor text in UTF-8.", name=name)
        )
    max_bytes = MAX_TEXT_FILE_BYTES if media_type == TEXT_TYPE else MAX_BINARY_FILE_BYTES
    if len(data) > max_bytes:
        kind = _IMAGE_NOUN if media_type in IMAGE_TYPES else _PDF_NOUN if media_type == PDF_TYPE else _TEXT_NOUN
        raise InvalidFileError(
            sentence(
                "{name} is larger than {limit} MB, the most for {kind}.", name=name, limit=max_bytes // 1_000_000, kind=kind
            )
        )
    named_kind = _KIND_BY_SUFFIX.get(name.rpartition(".")[2].lower())
    if media_type == TEXT_TYPE and named_kind:
        raise InvalidFileError(sentence("{name} is not {named_kind}, as its name says.", name=name, named_kind=named_kind))
    if media_type in IMAGE_TYPES:
        _check_pixels(name, media_type, data)
    return File(hash_bytes(data), name, media_type, data)


def hash_bytes(data: bytes) -> str:
    return serde.HASH_PREFIX + hashlib.sha256(data).hexdigest()


def clean_file_name(name: str) -> str:
    """Strip folders and invisible characters, which could make a name look like another."""
    last = re.split(r"[/\\]", serde.sanitize_text(name))[-1]
    visible = "".join(character for character in last if character.isprintable()).strip()
    stem, dot, ending = visible.rpartition(".")
    if len(visible) > MAX_FILE_NAME_CHARS:
        visible = f"{stem[: MAX_FILE_NAME_CHARS - 20]}{dot}{ending[:19]}"
    return visible if visible.strip(". ") else "file"


def parse_files(contents: Sequence[tuple[str, bytes]]) -> list[File]:
    """Check that files, given by name and bytes, can be attached to one message. Raises `InvalidFileError`."""
    if len(contents) > MAX_FILES:
        raise InvalidFileError(sentence("A message takes at most {limit} files.", limit=MAX_FILES))
    if sum(len(data) for _, data in contents) > MAX_FILES_BYTES:
        raise InvalidFileError(
            sentence("The files of one message may have {limit} MB together.", limit=MAX_FILES_BYTES // 1_000_000)
        )
    return [parse_file(name, data) for name, data in contents]


def decode_base64(text: str) -> bytes:
    """Decode base64 in pieces. A single call for 10 MB blocks every other thread for 90 ms. Raises `binascii.Error`."""
    pieces = [text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS)]
    if any(piece.endswith("=") for piece in pieces[:-1]):
        raise binascii.Error("data after the end")
    return b"".join(base64.b64decode(piece, validate=True) for piece in pieces)


def make_file_part(file: File) -> FilePart:
    kind = "image" if file.media_type in IMAGE_TYPES else "file"
    size = len(file.data)
    return {"type": kind, "file": file.hash, "name": file.name, "mime_type": file.media_type, "size": size}


def is_file_part(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == len(PART_KEYS) and value.keys() == PART_KEYS


def find_file_parts(content: Any) -> list[FilePart]:
    return [each for each in content if is_file_part(each)] if isinstance(content, list) else []


def build_content(text: str, parts: Sequence[FilePart]) -> str | list[str | dict[Any, Any]]:
    if not parts:
        return text
    return [*([{"type": "text", "text": text}] if text else []), *parts]


def find_file_hashes(body: str) -> set[str]:
    return set(_FILE_REFERENCE.findall(body))


def _detect_media_type(data: bytes) -> str | None:
    if (media_type := image_header.detect_image_type(data)) is not None:
        return media_type
    if data.startswith(b"%PDF-"):
        return PDF_TYPE
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL_CHARACTER.search(text) else TEXT_TYPE


def _check_pixels(name: str, media_type: str, data: bytes) -> None:
    size = image_header.read_image_size(media_type, data)
    if size is None or min(size) < 1:
        raise InvalidFileError(sentence("{name} is a damaged image.", name=name))
    if size[0] * size[1] > MAX_PIXELS:
        raise InvalidFileError(
            sentence("{name} has more than {limit} million pixels.", name=name, limit=MAX_PIXELS // 1_000_000)
        )
