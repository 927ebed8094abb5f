"""The process that formats expensive texts, and marks the differences of two texts.

It reads them from its parent, and ends with it or when a text takes too long. The limit is processor time, so a busy machine
makes no difference. Colours that take too long are left out. In all other cases the kernel ends the process: SIGPROF has no
handler, because none would run while nh3 works.
"""

import json
import signal
import sys
import time
from dataclasses import astuple
from multiprocessing.connection import Connection
from types import FrameType

from pygments.lexer import Lexer

from components.views import markdown
from components.views.word_differences import MarkedTexts, mark_differences
from words import set_language

# All code of a text may take this much processor time.
MAX_COLOUR_SECONDS = 0.15
MAX_TAIL_COLOUR_SECONDS = 0.1


class _TooLong(BaseException):
    """Not an `Exception`, because lexers may catch those."""


def _stop_colouring(signum: int, frame: FrameType | None) -> None:
    raise _TooLong


class _Colours:
    """Highlight with a budget of processor seconds. Code after the budget stays without colours."""

    def __init__(self, seconds: float) -> None:
        self._seconds_left = seconds

    def __call__(self, source: str, lexer: Lexer) -> str | None:
        if self._seconds_left <= 0:
            return None
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds_left)
            try:
                return markdown.highlight_code(source, lexer)
            finally:
                self._seconds_left = signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0]
        except _TooLong:
            # The signal may also come between the last two lines.
            self._seconds_left = 0
            return None


def answer(request: bytes) -> bytes:
    """Format a text, or mark the differences of two texts, within the seconds in the request.

    The answer is `null` if it would be larger than the server reads.
    """
    seconds, subject, definitions, language = json.loads(request)
    # The first text of a language loads its catalogue, so this comes before the time begins.
    set_language(language)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    started = time.process_time()
    result: markdown.Look | MarkedTexts
    result = mark_differences(*subject) if isinstance(subject, list) else _format_text(subject, definitions)
    signal.setitimer(signal.ITIMER_PROF, 0)
    found = [time.process_time() - started, *astuple(result)]
    encoded = json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return encoded if len(encoded) <= markdown.MAX_HTML_BYTES else b"null"


def _format_text(text: str, definitions: markdown.Definitions | None) -> markdown.Look:
    colours = _Colours(MAX_COLOUR_SECONDS)
    if definitions is None:
        return markdown.Look("", "", {}, markdown.render_markdown(text, colour=colours))
    return markdown.look_at(text, definitions, colours, _Colours(MAX_TAIL_COLOUR_SECONDS))


def main(handle: int) -> None:
    signal.signal(signal.SIGVTALRM, _stop_colouring)
    with Connection(handle) as parent:
        while True:
            try:
                request = parent.recv_bytes()
                parent.send_bytes(answer(request))
            except (EOFError, OSError):
                # The server has ended, in whatever way.
                return


if __name__ == "__main__":
    main(int(sys.argv[1]))
