"""The process that formats expensive texts. It reads them from its parent and ends with it, or when a text takes too long.

Its time is the processor's, so a busy machine changes nothing. Colours that take too long are left out. For everything
else the kernel ends the process: SIGPROF has no handler, for none would run while nh3 works.
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

MAX_COLOUR_SECONDS = 0.15  # for all code of a text
MAX_TAIL_COLOUR_SECONDS = 0.1


class _TooLong(BaseException):
    """No `Exception`, because lexers may catch those."""


def _stop_colouring(signum: int, frame: FrameType | None) -> None:
    raise _TooLong


class _Colours:
    """Highlight with a budget of processor seconds; code after the budget stays without colours."""

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
        except _TooLong:  # also where the signal came between the last two lines
            self._seconds_left = 0
            return None


def answer(request: bytes) -> bytes:
    """Format one text, within the seconds that the request names."""
    seconds, text, definitions = json.loads(request)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    started, colours = time.process_time(), _Colours(MAX_COLOUR_SECONDS)
    if definitions is None:
        look = markdown.Look("", "", {}, markdown.render_markdown(text, colour=colours))
    else:
        look = markdown.look_at(text, definitions, colours, _Colours(MAX_TAIL_COLOUR_SECONDS))
    signal.setitimer(signal.ITIMER_PROF, 0)
    found = [time.process_time() - started, *astuple(look)]
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")


def main(handle: int) -> None:
    signal.signal(signal.SIGVTALRM, _stop_colouring)
    with Connection(handle) as parent:
        while True:
            try:
                request = parent.recv_bytes()
                parent.send_bytes(answer(request))
            except (EOFError, OSError):  # the server has ended, however it did
                return


if __name__ == "__main__":
    main(int(sys.argv[1]))
