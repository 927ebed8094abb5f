"""Text from others reaches a terminal as text."""

import io
import logging
import sys
import threading
from datetime import datetime

import pytest

from server import terminal
from server.terminal import USUAL_COLUMNS, EscapingFormatter, ProgressLine, escape_controls, use_utf8


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


class TerminalBytes(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("is_terminal", "written"), [(False, "ü → 你".encode()), (True, b"\xfc \\u2192 \\u4f60")])
def test_files_and_pipes_get_utf_8_and_a_terminal_what_it_can_show(
    is_terminal: bool, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = (TerminalBytes if is_terminal else io.BytesIO)()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(output, encoding="latin-1"))
    use_utf8()
    sys.stdout.write("ü → 你")
    sys.stdout.flush()
    assert output.getvalue() == written


def test_a_time_in_the_log_has_its_offset() -> None:
    record = logging.LogRecord("name", logging.ERROR, "", 1, "said", (), None)
    time = datetime.fromisoformat(EscapingFormatter("%(asctime)s").format(record))
    assert time.tzinfo is not None
    assert abs(time.timestamp() - record.created) < 0.001


class Terminal(io.StringIO):
    """A terminal without a width; `written` is set once anything is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


def test_work_that_ends_before_the_line_is_due_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PROGRESS_AFTER_SECONDS", 1_000)
    output = Terminal()
    with ProgressLine(output) as line:
        line.show("Checking: 1 of 2 messages")
    assert output.getvalue() == ""


def test_longer_work_shows_its_last_report_also_while_it_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PROGRESS_AFTER_SECONDS", 0.0)
    output = Terminal()
    with ProgressLine(output) as line:
        line.show("Rewriting the file…")
        assert output.written.wait(60)
    assert output.getvalue().startswith("\rRewriting the file…")
    assert output.getvalue().endswith(f"\r{' ' * 19}\r")


def test_the_line_is_written_over_and_cleared() -> None:
    output = Terminal()
    line = ProgressLine(output)
    line.draw()
    assert output.getvalue() == ""
    line.show("one hundred")
    line.draw()
    line.show("two\x1b")
    line.draw()
    line.clear()
    line.draw()
    assert output.getvalue() == f"\rone hundred\rtwo\\x1b    \r{' ' * 7}\r"


def test_a_long_line_never_begins_a_second_one() -> None:
    line = ProgressLine(output := Terminal())
    line.show("x" * 200)
    line.draw()
    assert output.getvalue() == "\r" + "x" * (USUAL_COLUMNS - 1)


def test_a_log_gets_no_moving_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PROGRESS_AFTER_SECONDS", 0.0)
    drawn = list[None]()
    monkeypatch.setattr(ProgressLine, "draw", lambda _: drawn.append(None))
    with ProgressLine(io.StringIO()) as line:
        line.show("Checking: 1 of 2 messages")
    assert drawn == []
