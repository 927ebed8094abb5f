"""Reasoning in tags at the beginning of an answer, as local models write it: `<think>…</think>` and its relatives.

Some templates open the block themselves (DeepSeek-R1, QwQ, EXAONE Deep). Their answers hold only the closing tag, and
all text before it is reasoning (vllm-project/vllm#12999, ggml-org/llama.cpp#11861). By then, this text has been passed
on.
"""

import re
from dataclasses import dataclass

TAG_NAMES = ("think", "thinking", "thought")
_OPENINGS = tuple(f"<{name}>" for name in TAG_NAMES)
_CLOSINGS = tuple(f"</{name}>" for name in TAG_NAMES)
_OPENING_OR_CLOSING = re.compile("|".join((*_OPENINGS, *_CLOSINGS)))
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
# Length of a fence with the spaces before it.
_MAX_FENCE_CHARS = 6


@dataclass(frozen=True, slots=True)
class SplitPiece:
    """The text and the reasoning of a piece. `withdrawn` is the text of all earlier pieces, which was reasoning, too."""

    text: str = ""
    thought: str = ""
    withdrawn: str = ""


class ThinkSplitter:
    """Splits an answer in pieces into its text and the reasoning before it."""

    def __init__(self) -> None:
        self._pending = ""
        # Followed by opened, thinking, closed and text; or by unopened, until a tag decides, and text.
        self._state = "beginning"
        # The tag that ends the reasoning.
        self._closing = ""
        self._takes_lone_tag = True
        # Texts that were passed on while no tag had decided, and their quotes.
        self._passed_texts: list[str] = []
        self._quotes = _QuoteTracker()

    def expect_no_lone_tag(self) -> None:
        """Treat a lone closing tag as text from now on, since the reasoning comes in its own field."""
        self._takes_lone_tag = False

    def feed(self, piece: str) -> SplitPiece:
        """Return the text and the reasoning that are certain now."""
        if self._state == "text":
            return SplitPiece(piece)
        self._pending += piece
        if self._state == "beginning" and not self._read_beginning():
            return SplitPiece()
        if self._state == "unopened":
            return self._find_lone_tag() if self._takes_lone_tag else SplitPiece(self._end())
        if self._state == "opened" and (rest := self._pending.lstrip("\n")):
            self._state, self._pending = "thinking", rest
        thought = self._take_thought() if self._state == "thinking" else ""
        return SplitPiece(self._take_text_after_tag(), thought)

    def flush(self) -> SplitPiece:
        """Return the rest at the end of the answer. Unfinished reasoning stays reasoning."""
        state, rest = self._state, self._end()
        if state == "thinking":
            return SplitPiece(thought=rest)
        return SplitPiece() if state in ("opened", "closed") else SplitPiece(rest)

    def _read_beginning(self) -> bool:
        """Return whether the beginning shows if the answer opens with a tag."""
        begun = self._pending.lstrip()
        opening = next((each for each in _OPENINGS if begun.startswith(each)), None)
        if opening is not None:
            self._state, self._pending = "opened", begun.removeprefix(opening)
            self._closing = opening.replace("<", "</")
        elif any(each.startswith(begun) for each in _OPENINGS):
            return False
        else:
            self._state = "unopened"
        return True

    def _find_lone_tag(self) -> SplitPiece:
        """Return the text up to a tag. A lone closing tag ends the reasoning, unless it is quoted."""
        tracked = 0
        for found in _OPENING_OR_CLOSING.finditer(self._pending):
            if found[0] in _OPENINGS:
                return SplitPiece(self._end())
            self._quotes.add(self._pending[tracked : found.start()])
            tracked = found.start()
            if not self._quotes.is_open:
                thought, passed = self._pending[:tracked], "".join(self._passed_texts)
                self._state, self._pending = "closed", self._pending[found.end() :]
                return SplitPiece(self._take_text_after_tag(), thought, passed)
        text = self._pending[: len(self._pending) - _count_held_chars(self._pending, (*_OPENINGS, *_CLOSINGS))]
        # A held tag begins where the text ends.
        self._quotes.add(text[tracked:])
        self._passed_texts.append(text)
        self._pending = self._pending[len(text) :]
        return SplitPiece(text)

    def _take_thought(self) -> str:
        thought, closing, rest = self._pending.partition(self._closing)
        if closing:
            self._state, self._pending = "closed", rest
            return thought
        kept = _count_held_chars(thought, (self._closing,))
        self._pending = thought[len(thought) - kept :]
        return thought[: len(thought) - kept]

    def _take_text_after_tag(self) -> str:
        if self._state != "closed":
            return ""
        self._pending = self._pending.lstrip()
        return self._end() if self._pending else ""

    def _end(self) -> str:
        rest, self._pending, self._state = self._pending, "", "text"
        self._passed_texts.clear()
        return rest


def _count_held_chars(text: str, tags: tuple[str, ...]) -> int:
    """Return the length of a text's end that may become one of the tags."""
    at = text.rfind("<", -max(map(len, tags)))
    return len(text) - at if at >= 0 and any(tag.startswith(text[at:]) for tag in tags) else 0


class _QuoteTracker:
    """Tracks whether a growing text ends in a code fence, or in inline code. It keeps no text."""

    def __init__(self) -> None:
        # In the lines before the current line.
        self._fences = 0
        self._line_start = ""
        self._backticks = 0

    @property
    def is_open(self) -> bool:
        return (self._fences + self._is_fence) % 2 == 1 or self._backticks % 2 == 1

    @property
    def _is_fence(self) -> bool:
        return _FENCE.match(self._line_start) is not None

    def add(self, text: str) -> None:
        *lines, rest = text.split("\n")
        for line in lines:
            self._extend_line(line)
            self._fences += self._is_fence
            self._line_start, self._backticks = "", 0
        self._extend_line(rest)

    def _extend_line(self, text: str) -> None:
        self._line_start += text[: _MAX_FENCE_CHARS - len(self._line_start)]
        self._backticks += text.count("`")


def split_thought(text: str, *, takes_lone_tag: bool = True) -> SplitPiece:
    """Return a complete answer's text and the reasoning before it."""
    splitter = ThinkSplitter()
    if not takes_lone_tag:
        splitter.expect_no_lone_tag()
    first = splitter.feed(text)
    last = splitter.flush()
    return SplitPiece(first.text + last.text, first.thought + last.thought)
