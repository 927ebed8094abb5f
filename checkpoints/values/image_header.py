"""Read an image's type and its size in pixels from its header, without decoding.

The layouts follow the PNG specification (IHDR), GIF89a (logical screen), ITU T.81 (frame header) and WebP's container.
"""

_GIF_SIGNATURES = (b"GIF87a", b"GIF89a")
# The markers of a JPEG's frame header, which holds its size.
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def detect_image_type(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith(_GIF_SIGNATURES):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def read_image_size(media_type: str, data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels, or None if the header is damaged."""
    try:
        match media_type:
            case "image/png":
                return (_read_big_endian(data, 16, 4), _read_big_endian(data, 20, 4)) if data[12:16] == b"IHDR" else None
            case "image/gif":
                return _read_little_endian(data, 6, 2), _read_little_endian(data, 8, 2)
            case "image/jpeg":
                return _read_jpeg_size(data)
        return _read_webp_size(data)
    except IndexError:
        return None


def _read_jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            # Fill bytes are skipped.
            at += 1
            continue
        if marker in _FRAME_MARKERS:
            return _read_big_endian(data, at + 7, 2), _read_big_endian(data, at + 5, 2)
        at += 2 + max(2, _read_big_endian(data, at + 2, 2))
    return None


def _read_webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            return _read_little_endian(data, 26, 2) & 0x3FFF, _read_little_endian(data, 28, 2) & 0x3FFF
        case b"VP8L":
            packed = _read_little_endian(data, 21, 4)
            return 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
        case b"VP8X":
            return 1 + _read_little_endian(data, 24, 3), 1 + _read_little_endian(data, 27, 3)
    return None


def _read_big_endian(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(_slice_exactly(data, at, length))


def _read_little_endian(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(_slice_exactly(data, at, length), "little")


def _slice_exactly(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise IndexError
    return data[at : at + length]
