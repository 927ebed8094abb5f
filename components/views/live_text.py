"""Growing Markdown: closed blocks are formatted once, and the rest is formatted again at every look."""

import time
from collections.abc import Awaitable, Callable

from components.views import markdown
from components.views.markdown import Definitions, Look

LookElsewhere = Callable[[str, Definitions], Awaitable[tuple[Look, float] | None]]


class StreamingMarkdown:
    """Finished HTML plus tail equals `to_html` of the whole text, except for seven things known only at the end.

    The final HTML should therefore replace the streamed HTML. The exceptions are:
    - a link whose definition comes in a later block, or after MAX_DEFINITION_CHARS of other definitions;
    - a link that makes the whole text too large;
    - a definition whose title continues past a block's end;
    - a block longer than MAX_TAIL_CHARS: it is unformatted until it ends, or for good beyond MAX_FORMATTED_CHARS;
    - the colours of long code;
    - footnotes, because they stand below the whole text;
    - an unclosed formula.

    `look_elsewhere` formats a possibly expensive text off the event loop, and returns the seconds it took. If it gives
    up (None), the text is shown unformatted until it is twice as long.
    """

    def __init__(self, look_elsewhere: LookElsewhere) -> None:
        self._look_elsewhere = look_elsewhere
        # These chunks have not been looked at yet.
        self._chunks: list[str] = []
        # This many chunks were too little for a look.
        self._put_off = 0
        self._pending = ""
        # The finished blocks have these definitions.
        self._definitions: Definitions = {}
        self._tail = ""
        # It has the closed part of the tail, the number of definitions before it, and its HTML.
        self._before = (("", 0), "")
        # A shorter text, in characters, is not tried again.
        self._plain_below = 0
        # The last look took this much processor time.
        self.cost_seconds = 0.0

    def feed(self, text: str) -> None:
        """Add text as it arrives. This costs nothing until the next look."""
        self._chunks.append(text)

    async def take(self) -> tuple[str, str]:
        """Return the HTML of the blocks finished since the last call, and the HTML to replace the tail.

        A long tail waits until it has grown by one percent (40 characters in 4,000), or until no text was fed between two
        calls. The second call on a resting stream therefore shows every character.
        """
        waiting = sum(map(len, self._chunks))
        self.cost_seconds = 0.0
        if waiting * 100 < len(self._pending) and len(self._chunks) > self._put_off:
            self._put_off = len(self._chunks)
            return "", self._tail
        if not self._chunks:
            return "", self._tail
        added = "".join(self._chunks)
        self._chunks.clear()
        self._put_off = 0
        self._pending += added
        return await self._look(has_new_line="\n" in added), self._tail

    async def _look(self, *, has_new_line: bool) -> str:
        """Renew the tail and return the HTML of the finished blocks."""
        if markdown.is_cheap(self._pending):
            return self._look_here(has_new_line=has_new_line)
        if len(self._pending) > markdown.MAX_FORMATTED_CHARS:
            text, self._pending, self._tail, self._plain_below = self._pending, "", "", 0
            return markdown.to_plain_html(text)
        found = None
        if len(self._pending) >= self._plain_below:
            found = await self._look_elsewhere(self._pending, self._definitions)
            self._plain_below = 0 if found else 2 * len(self._pending)
        if found is None:
            self._tail = markdown.to_plain_html(self._pending)
            return ""
        look, self.cost_seconds = found
        self._pending, self._definitions, self._tail = look.pending, look.definitions, look.tail
        return look.finished

    def _look_here(self, *, has_new_line: bool) -> str:
        started, finished = time.thread_time(), ""
        if has_new_line:
            finished, self._pending = markdown.cut_finished(self._pending, self._definitions)
        before, _, line = self._pending.rpartition("\n\n")
        if markdown.is_prose(line):
            self._tail = self._format_before(before) + markdown.format_prose(line)
        else:
            self._tail = markdown.format_tail(self._pending, self._definitions)
        self.cost_seconds = time.thread_time() - started
        return finished

    def _format_before(self, text: str) -> str:
        """Format the text before the last paragraph, or reuse the last look's HTML: a paragraph after a blank line changes
        nothing before it.

        Formatting both at every look was two fifths of the server's work for an answer.
        """
        key = text, len(self._definitions)
        if key != self._before[0]:
            self._before = (key, markdown.format_text(text, dict(self._definitions)) if text else "")
        return self._before[1]
