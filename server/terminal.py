"""Text for a terminal. A name or a message from a file could otherwise move the cursor, or set the window's title."""

import logging


def escape_controls(text: str) -> str:
    """Return the text with every character that a terminal may act on written out, such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode() for each in text)


class EscapingFormatter(logging.Formatter):
    """Formats records of the log, with escaped texts, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))
