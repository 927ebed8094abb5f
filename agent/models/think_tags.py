"""Reasoning between `<think>` and `</think>` at the beginning of an answer, as local models write it."""

OPENING = "<think>"
CLOSING = "</think>"


class ThinkSplitter:
    """Split an answer that arrives in pieces into its text and the reasoning before it."""

    def __init__(self) -> None:
        self._pending = ""
        self._state = "beginning"  # then opened, thinking, closed and text

    def feed(self, piece: str) -> tuple[str, str]:
        """Return the text and the reasoning that are certain now."""
        if self._state == "text":
            return piece, ""
        self._pending += piece
        if self._state == "beginning":
            begun = self._pending.lstrip()
            if len(begun) < len(OPENING) and OPENING.startswith(begun):
                return "", ""
            if not begun.startswith(OPENING):
                return self._end(), ""
            self._state, self._pending = "opened", begun.removeprefix(OPENING)
        if self._state == "opened" and (rest := self._pending.lstrip("\n")):
            self._state, self._pending = "thinking", rest
        thought = self._take_thought() if self._state == "thinking" else ""
        if self._state == "closed" and (rest := self._pending.lstrip()):
            self._pending = rest
            return self._end(), thought
        return "", thought

    def flush(self) -> tuple[str, str]:
        """Return the rest at the end of the answer. Reasoning without an end stays reasoning."""
        state, rest = self._state, self._end()
        return ("", rest) if state == "thinking" else ("" if state in ("opened", "closed") else rest, "")

    def _take_thought(self) -> str:
        thought, closing, rest = self._pending.partition(CLOSING)
        if closing:
            self._state, self._pending = "closed", rest
            return thought
        kept = next((n for n in range(len(CLOSING) - 1, 0, -1) if thought.endswith(CLOSING[:n])), 0)
        self._pending = thought[len(thought) - kept :]
        return thought[: len(thought) - kept]

    def _end(self) -> str:
        rest, self._pending, self._state = self._pending, "", "text"
        return rest


def split_thought(text: str) -> tuple[str, str]:
    """Return a complete answer's text and the reasoning before it."""
    splitter = ThinkSplitter()
    first, last = splitter.feed(text), splitter.flush()
    return first[0] + last[0], first[1] + last[1]
