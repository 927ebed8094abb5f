"""Text for a terminal. A name or a message from a file could otherwise move the cursor, or set the window's title."""

import logging
import os
import sys
import threading
from datetime import datetime
from io import TextIOWrapper
from types import TracebackType
from typing import Self, TextIO

PROGRESS_AFTER_SECONDS = 1.0
PROGRESS_EVERY_SECONDS = 0.1
# A terminal that does not know its width has this width.
USUAL_COLUMNS = 80


def escape_controls(text: str) -> str:
    """Return the text with every character written out that a terminal may act on, such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode() for each in text)


def use_utf8() -> None:
    """Use UTF-8 for files and pipes, whatever the locale. A terminal keeps its encoding, and gets escapes for the rest."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


class EscapingFormatter(logging.Formatter):
    """Format records of the log, with escaped texts, also in tracebacks, and times with their offset from UTC."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")

    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))


def configure_log(formatter: logging.Formatter | None = None) -> None:
    """Send every log to the terminal: warnings, and for sessions also normal events. A later call replaces it."""
    handler = logging.StreamHandler()
    handler.setFormatter(formatter or EscapingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("waymark.sessions").setLevel(logging.INFO)


class ProgressLine:
    """A line on a terminal, rewritten repeatedly, for work longer than a second. It is cleared at the end.

    A thread draws it, so the line also appears while the work reports nothing. Without a terminal nothing is written,
    because a log needs no moving line.
    """

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._text: object = ""
        self._width = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw_until_end, daemon=True)

    def __enter__(self) -> Self:
        if self._output.isatty():
            self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self.clear()

    def show(self, text: object) -> None:
        self._text = text

    def draw(self) -> None:
        with self._lock:
            columns = _count_columns(self._output)
            # A longer text would begin a second line.
            shown = escape_controls(str(self._text))[: columns - 1]
            if shown:
                self._write(shown.ljust(self._width))
                self._width = len(shown)

    def clear(self) -> None:
        """Clear the line, as before another line is printed."""
        with self._lock:
            self._text = ""
            if self._width:
                self._write(" " * self._width)
                self._write("")
                self._width = 0

    def _draw_until_end(self) -> None:
        seconds = PROGRESS_AFTER_SECONDS
        while not self._ended.wait(seconds):
            self.draw()
            seconds = PROGRESS_EVERY_SECONDS

    def _write(self, text: str) -> None:
        self._output.write(f"\r{text}")
        self._output.flush()


def _count_columns(output: TextIO) -> int:
    try:
        return os.get_terminal_size(output.fileno()).columns or USUAL_COLUMNS
    except OSError:
        return USUAL_COLUMNS
