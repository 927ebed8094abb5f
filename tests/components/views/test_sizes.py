"""Numbers of bytes are written with three figures at most, and as the page writes them."""

import pytest

from components.views.value_tree import format_size
from words import set_language

SIZES = {
    0: "0 B",
    999: "999 B",
    1_000: "1 kB",
    49_900: "50 kB",
    999_499: "999 kB",
    999_500: "1.0 MB",
    3_440_000: "3.4 MB",
    9_949_999: "9.9 MB",
    9_950_001: "10 MB",
    999_499_999: "999 MB",
    999_500_000: "1.0 GB",
    23_600_000_000: "24 GB",
}


@pytest.mark.parametrize(("count", "text"), SIZES.items())
def test_a_number_of_bytes_is_short(count: int, text: str) -> None:
    assert format_size(count) == text


def test_a_number_of_bytes_has_the_point_of_its_language() -> None:
    set_language("de")
    try:
        assert format_size(3_440_000) == "3,4 MB"
    finally:
        set_language("en")
