"""Text from others reaches a terminal as text."""

import io
import logging

from server.terminal import USUAL_COLUMNS, EscapingFormatter, ProgressLine, escape_controls


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


class Terminal(io.StringIO):
    """A terminal without a width."""

    def isatty(self) -> bool:
        return True


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def show_at(line: ProgressLine, clock: Clock, seconds: float, text: str) -> None:
    clock.seconds = seconds
    line.show(text)


def test_work_under_a_second_shows_nothing() -> None:
    output, clock = Terminal(), Clock()
    with ProgressLine(output, clock) as line:
        show_at(line, clock, 0.9, "Checking: 1 of 2 messages")
    assert output.getvalue() == ""


def test_longer_work_is_one_line_that_is_written_over_ten_times_a_second_and_cleared() -> None:
    output, clock = Terminal(), Clock()
    with ProgressLine(output, clock) as line:
        show_at(line, clock, 1.0, "one hundred")
        show_at(line, clock, 1.05, "too soon")
        show_at(line, clock, 1.1, "two\x1b")
        assert output.getvalue() == "\rone hundred\rtwo\\x1b    "
    assert output.getvalue().removeprefix("\rone hundred\rtwo\\x1b    ") == f"\r{' ' * 7}\r"


def test_a_long_line_never_begins_a_second_one() -> None:
    output, clock = Terminal(), Clock()
    show_at(ProgressLine(output, clock), clock, 1, "x" * 200)
    assert output.getvalue() == "\r" + "x" * (USUAL_COLUMNS - 1)


def test_a_log_gets_no_moving_line() -> None:
    output, clock = io.StringIO(), Clock()
    with ProgressLine(output, clock) as line:
        show_at(line, clock, 60, "Checking: 1 of 2 messages")
    assert output.getvalue() == ""
