"""Exit codes of commands, their refusals, and lines on a terminal."""

import sys
from typing import TextIO

from checkpoints import StateError
from server.terminal import escape_controls

EXIT_OK, EXIT_DAMAGED, EXIT_REFUSED, EXIT_INTERRUPTED = 0, 1, 2, 130


class CommandRefusedError(StateError):
    """A command cannot be carried out. The text is a sentence with the reason."""


def print_line(text: object, output: TextIO | None = None) -> None:
    """Print a single line, with line breaks escaped: titles, names, keys and ids come from files and programs."""
    print_text(str(text).replace("\n", "\\n"), output)


def print_text(text: str, output: TextIO | None = None) -> None:
    """Print a text of several lines, which may come from a model."""
    print(escape_controls(text), file=output or sys.stdout, flush=True)


def print_refusal(sentence: str) -> int:
    print_line(sentence, sys.stderr)
    return EXIT_REFUSED
