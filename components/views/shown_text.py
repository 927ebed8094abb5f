"""Long texts as the page shows them: their beginning, and the address of the whole, within the budget of a view."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict
from urllib.parse import quote, urlencode

from checkpoints import Message
from checkpoints.values.text import find_plain_line, shorten, shorten_line
from checkpoints.values.thread_ids import write_thread_id
from components.views import markdown
from server.addresses import build_address

# The limit applies to a message's text.
MAX_SHOWN_CHARS = 50_000
# The limit applies to a tool's arguments or result, or to the reasoning before one answer.
MAX_SHOWN_DETAIL_CHARS = 20_000
# The limit counts all texts of a view with their HTML.
MAX_VIEW_CHARS = 1_000_000
# Each text shows this much once a view's characters are used up.
MAX_SHORT_CHARS = 500
MAX_VIEW_CALLS = 256
# A line that stands for a message or a prompt has this much of it.
MAX_BEGINNING_CHARS = 160
# A view has this budget once for each portion of messages that the user asked for, up to this number.
MAX_PORTIONS = 4


def quote_line(text: str) -> str:
    """Return the first line with words, without Markdown syntax."""
    return shorten(find_plain_line(text) or shorten_line(text, MAX_BEGINNING_CHARS), MAX_BEGINNING_CHARS)


class MoreView(TypedDict):
    """The part of a text outside of the page."""

    chars: int
    address: str


class MoreCallsView(TypedDict):
    count: int
    address: str


@dataclass(frozen=True, slots=True)
class ShownText:
    """The beginning of a text, and its rest if there is one."""

    text: str
    more: MoreView | None


def build_text_address(message: Message, **part: str) -> str:
    """Return the address of a message's text. `part` is the query of `whole_text`."""
    query = f"?{urlencode(part)}" if part else ""
    return build_address(f"/api/threads/{write_thread_id(message.thread_id)}/messages/{quote(message.id)}/text{query}")


def cut_shown_text(text: str, message: Message, max_chars: int = MAX_SHOWN_CHARS, **part: str) -> ShownText:
    """Cut a text of a message, with the address of its whole. `part` names the text."""
    missing = len(text) - max_chars
    if missing <= 0:
        return ShownText(text, None)
    return ShownText(text[:max_chars], {"chars": missing, "address": build_text_address(message, **part)})


class ViewBudget:
    """The characters and cards left for a view. Messages take from it newest first.

    Once it is used up, each text shows its first MAX_SHORT_CHARS, unformatted.
    """

    def __init__(self, to_html: Callable[[str], str], portions: int = 1) -> None:
        portions = min(max(1, portions), MAX_PORTIONS)
        self._to_html = to_html
        self._chars_left, self._calls_left = portions * MAX_VIEW_CHARS, portions * MAX_VIEW_CALLS
        # Some HTML was too large.
        self._is_short = False

    def take_calls(self, wanted: int) -> int:
        """Return how many of these calls get a card."""
        taken = min(wanted, self._calls_left)
        self._calls_left -= taken
        return taken

    def take(self, text: str) -> None:
        """Count a text shown in any case."""
        self._chars_left -= len(text)

    def cut(self, text: str, message: Message, max_chars: int = MAX_SHOWN_CHARS, **part: str) -> ShownText:
        """Cut a text as `cut_shown_text` does, within the budget."""
        shown = cut_shown_text(text, message, min(max_chars, max(self._chars_left, MAX_SHORT_CHARS)), **part)
        self.take(shown.text)
        return shown

    def format(self, text: str, message: Message) -> tuple[ShownText, str]:
        """Return the beginning of a message's Markdown, and its HTML."""
        shown = self.cut(text, message)
        if len(shown.text) <= self._chars_left and not (self._is_short and not markdown.is_cheap(shown.text)):
            html = self._to_html(shown.text)
            if len(html) <= self._chars_left:
                self.take(html)
                return shown, html
            # Do not try other expensive texts: their HTML would be lost, and would push other texts out of the cache.
            self._is_short = True
        return self._shorten(text, message, markdown.to_plain_html)

    def escape(self, text: str, message: Message) -> tuple[ShownText, str]:
        """Return the beginning of a message's plain text, and its HTML."""
        shown = self.cut(text, message)
        html = markdown.escape_text(shown.text)
        if len(html) > self._chars_left:
            return self._shorten(text, message, markdown.escape_text)
        self.take(html)
        return shown, html

    def _shorten(self, text: str, message: Message, to_html: Callable[[str], str]) -> tuple[ShownText, str]:
        shown = cut_shown_text(text, message, MAX_SHORT_CHARS)
        return shown, to_html(shown.text)


class UncutBudget(ViewBudget):
    """Show every text and every card in full. Their document has its own limit."""

    def take_calls(self, wanted: int) -> int:
        return wanted

    def cut(self, text: str, message: Message, max_chars: int = MAX_SHOWN_CHARS, **part: str) -> ShownText:
        return ShownText(text, None)

    def format(self, text: str, message: Message) -> tuple[ShownText, str]:
        return ShownText(text, None), self._to_html(text)

    def escape(self, text: str, message: Message) -> tuple[ShownText, str]:
        return ShownText(text, None), markdown.escape_text(text)
