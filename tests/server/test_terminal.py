"""Text from others reaches a terminal as text."""

import logging

from server.terminal import EscapingFormatter, escape_controls


def test_a_terminal_gets_no_escape_codes() -> None:
    assert escape_controls("\x1b]0;title\x07\x9b31m\u202e\r") == "\\x1b]0;title\\x07\\x9b31m\\u202e\\r"
    assert escape_controls("Grüße,\n\tZoë – 你好 🙂") == "Grüße,\n\tZoë – 你好 🙂"


def test_the_log_is_escaped_with_its_tracebacks() -> None:
    try:
        raise ValueError("\x1b[31m")
    except ValueError as error:
        record = logging.LogRecord("name", logging.ERROR, "", 1, "said %s", ("\x1b[2J",), (ValueError, error, None))
    text = EscapingFormatter("%(message)s").format(record)
    assert "\x1b" not in text
    assert text.startswith("said \\x1b[2J\nValueError: \\x1b[31m")
