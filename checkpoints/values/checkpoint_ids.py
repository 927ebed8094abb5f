"""LangGraph's state ids: UUIDs of version 6, which sort by time. They are stored in 16 bytes."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

_UUID_BYTES = 16
# Marks an id that is no UUID. UTF-8 never contains this byte.
_OTHER = b"\xff"
# The start of the UUID calendar.
_FIRST_DAY = datetime(1582, 10, 15, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def encode_id(identifier: str) -> bytes:
    """Encode an id as bytes. Encoded UUIDs sort like their texts."""
    try:
        parsed = UUID(identifier)
        if str(parsed) == identifier:
            return parsed.bytes
    except ValueError:
        pass
    text = identifier.encode("utf-8", "replace")
    return _OTHER * (2 if len(text) == _UUID_BYTES - 1 else 1) + text


def decode_id(stored: bytes) -> str:
    """Decode an id. Damaged bytes give some text."""
    if len(stored) == _UUID_BYTES:
        return str(UUID(bytes=stored))
    return stored.lstrip(_OTHER).decode("utf-8", "replace")


def measure_time(identifier: str, timestamp: str) -> int | None:
    """Return the microseconds from an id's time to a timestamp, or None if `read_time` would give another text."""
    try:
        distance = (datetime.fromisoformat(timestamp) - _find_time(identifier)) // _MICROSECOND
        return distance if read_time(identifier, distance) == timestamp else None
    except (ValueError, TypeError, OverflowError):
        return None


def read_time(identifier: str, distance: int) -> str:
    """Return the timestamp at `distance` microseconds from an id's time. Raises `ValueError` for an id without a time."""
    return (_find_time(identifier) + distance * _MICROSECOND).isoformat()


def _find_time(identifier: str) -> datetime:
    parsed = UUID(identifier)
    if parsed.version != 6:
        raise ValueError(f"{identifier} has no time")
    # Ticks of 100 ns lie around the version bits.
    ticks = parsed.int >> 80 << 12 | parsed.int >> 64 & 0xFFF
    return _FIRST_DAY + ticks // 10 * _MICROSECOND
