"""Files to attach: small, whole, and of every kind."""

import struct
import zlib

from langchain_core.messages import HumanMessage

from checkpoints import NewMessage
from checkpoints.values import files, serde
from checkpoints.values.files import File

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj<<>>endobj\n%%EOF\n"
GIF = b"GIF89a\x02\x00\x03\x00" + bytes(7) + b";"
JPEG = b"\xff\xd8\xff\xe0\x00\x04JF\xff\xc0\x00\x0b\x08\x00\x07\x00\x05\x01\x01\x11\x00\xff\xd9"  # without its picture
WEBP = b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x04\x80\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"


def png(
    width: int = 40, height: int = 30, colour: tuple[int, int, int] = (14, 96, 92), claims: tuple[int, int] | None = None
) -> bytes:
    """A whole image; with `claims`, one whose header says that it is of another size."""
    rows = (b"\x00" + bytes(colour) * width) * height
    header = struct.pack(">IIBBBBB", *(claims or (width, height)), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def asking(text: str, *attached: File) -> NewMessage:
    """A user's message with these files."""
    content = files.build_content(text, list(map(files.make_file_part, attached)))
    return NewMessage(serde.to_body(HumanMessage(content)), files=attached)
