"""The names of browsers in the list of sessions."""

import pytest

from server.session.sessions import describe_browser

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0 Safari/537.36 Edg/143.0"


@pytest.mark.parametrize(("header", "name"), [(FIREFOX, "Firefox on Linux"), (EDGE, "Edge on Windows"), ("", "A program")])
def test_a_browser_is_named(header: str, name: str) -> None:
    assert describe_browser(header) == name
