"""What the first bytes of an image say: its type, and how large it would be when it is drawn. Nothing is decoded.

The layouts are those of the PNG specification (IHDR), GIF89a (logical screen), ITU T.81 (frame header) and WebP's container.
"""

_GIF = (b"GIF87a", b"GIF89a")
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of a JPEG after which its size stands


def type_of(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith(_GIF):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def size_of(media_type: str, data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None if they are not where they belong."""
    try:
        match media_type:
            case "image/png":
                return (_big(data, 16, 4), _big(data, 20, 4)) if data[12:16] == b"IHDR" else None
            case "image/gif":
                return _little(data, 6, 2), _little(data, 8, 2)
            case "image/jpeg":
                return _jpeg(data)
        return _webp(data)
    except IndexError:
        return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a filling byte
            at += 1
            continue
        if marker in _FRAMES:
            return _big(data, at + 7, 2), _big(data, at + 5, 2)
        at += 2 + max(2, _big(data, at + 2, 2))
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
        case b"VP8L":
            packed = _little(data, 21, 4)
            return 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
        case b"VP8X":
            return 1 + _little(data, 24, 3), 1 + _little(data, 27, 3)
    return None


def _big(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(_bytes(data, at, length))


def _little(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(_bytes(data, at, length), "little")


def _bytes(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise IndexError
    return data[at : at + length]
