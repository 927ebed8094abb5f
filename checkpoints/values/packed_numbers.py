"""Whole numbers in few bytes: seven bits in each byte, the lowest first, and a set eighth bit where more follow.

Negative numbers are folded between the positive ones: 0, -1, 1, -2, … become 0, 1, 2, 3, …
"""

from collections.abc import Iterable

_MORE = 0x80


def pack_numbers(numbers: Iterable[int]) -> bytes:
    packed = bytearray()
    for number in numbers:
        left = number * 2 if number >= 0 else -number * 2 - 1
        while left >= _MORE:
            packed.append(left % _MORE | _MORE)
            left //= _MORE
        packed.append(left)
    return bytes(packed)


def unpack_numbers(packed: bytes, count: int) -> tuple[list[int], bytes]:
    """Return the first numbers, and the bytes after them. Raises `ValueError` if there are fewer."""
    numbers, place = [], 0
    for _ in range(count):
        folded, factor = 0, 1
        while place < len(packed) and packed[place] & _MORE:
            folded += packed[place] % _MORE * factor
            factor *= _MORE
            place += 1
        if place == len(packed):
            raise ValueError("numbers are missing")
        folded += packed[place] * factor
        place += 1
        numbers.append(-(folded // 2) - 1 if folded % 2 else folded // 2)
    return numbers, packed[place:]
