"""LangGraph's ids of states: UUIDs of version 6, which begin with the time. They are stored in 16 bytes."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

_UUID_BYTES = 16
_OTHER = b"\xff"  # before an id that is no UUID: no text has this byte
_FIRST_DAY = datetime(1582, 10, 15, tzinfo=UTC)  # of the UUIDs' calendar
_MICROSECOND = timedelta(microseconds=1)


def encode_id(identifier: str) -> bytes:
    """Return the bytes of an id. Those of UUIDs sort as the texts do."""
    try:
        parsed = UUID(identifier)
        if str(parsed) == identifier:
            return parsed.bytes
    except ValueError:
        pass
    text = identifier.encode("utf-8", "replace")
    return _OTHER * (2 if len(text) == _UUID_BYTES - 1 else 1) + text


def decode_id(stored: bytes) -> str:
    """Return the id that was encoded; of damaged bytes, some text."""
    if len(stored) == _UUID_BYTES:
        return str(UUID(bytes=stored))
    return stored.lstrip(_OTHER).decode("utf-8", "replace")


def measure_time(identifier: str, timestamp: str) -> int | None:
    """Return the microseconds from an id's time to a timestamp; None if they would not give the same text again."""
    try:
        distance = (datetime.fromisoformat(timestamp) - _find_time(identifier)) // _MICROSECOND
        return distance if read_time(identifier, distance) == timestamp else None
    except (ValueError, TypeError, OverflowError):
        return None


def read_time(identifier: str, distance: int) -> str:
    """Return the timestamp at this distance from an id's time. Raises `ValueError` for an id that has none."""
    return (_find_time(identifier) + distance * _MICROSECOND).isoformat()


def _find_time(identifier: str) -> datetime:
    parsed = UUID(identifier)
    if parsed.version != 6:
        raise ValueError(f"{identifier} has no time")
    ticks = parsed.int >> 80 << 12 | parsed.int >> 64 & 0xFFF  # of 100 ns, around the bits of the version
    return _FIRST_DAY + ticks // 10 * _MICROSECOND
