"""Text for a terminal. A name or a message from a file could otherwise move the cursor, or set the window's title."""

import logging
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

PROGRESS_AFTER_SECONDS = 1.0
PROGRESS_EVERY_SECONDS = 0.1
USUAL_COLUMNS = 80  # of a terminal that does not know its width


def escape_controls(text: str) -> str:
    """Return the text with every character that a terminal may act on written out, such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode() for each in text)


class EscapingFormatter(logging.Formatter):
    """Formats records of the log, with escaped texts, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))


class ProgressLine:
    """One line on a terminal, written over and over, for work that takes longer than a second; cleared at the end.

    Without a terminal nothing is written: a log needs no moving line.
    """

    def __init__(self, output: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._clock = clock
        self._due = clock() + PROGRESS_AFTER_SECONDS
        self._width = 0  # of the text that is shown

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.clear()

    def show(self, text: object) -> None:
        """Show a text, unless another was shown a moment ago."""
        if self._clock() < self._due or not self._output.isatty():
            return
        self._due = self._clock() + PROGRESS_EVERY_SECONDS
        columns = _count_columns(self._output)
        shown = escape_controls(str(text))[: columns - 1]  # a longer one would begin a second line
        self._write(shown.ljust(self._width))
        self._width = len(shown)

    def clear(self) -> None:
        """Clear the line, as before another line is printed."""
        if self._width:
            self._write(" " * self._width)
            self._write("")
            self._width = 0

    def _write(self, text: str) -> None:
        self._output.write(f"\r{text}")
        self._output.flush()


def _count_columns(output: TextIO) -> int:
    try:
        return os.get_terminal_size(output.fileno()).columns or USUAL_COLUMNS
    except OSError:
        return USUAL_COLUMNS
