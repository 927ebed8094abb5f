"""The pieces of an answer, joined while they come: at its end, joining thousands would hold the event loop."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks

from agent.models.answer_text import read_answer_text
from agent.models.finish_reasons import read_finish_reason

MAX_SEPARATE_PIECES = 200  # joined in one step: 7 µs for each


class AnswerPieces:
    """The pieces of one answer. Those that came are joined in groups, which are joined at the end."""

    def __init__(self) -> None:
        self.count = 0
        self.has_content = False  # whether any part of an answer has come
        self.finish_reason: str | None = None  # the last one that was named
        self.usages: list[Any] = []
        self._has_blocks = False
        self._groups: list[AIMessageChunk] = []
        self._separate: list[AIMessageChunk] = []

    def add(self, piece: AIMessageChunk) -> None:
        """Add a piece. Raises `TypeError` for one that does not fit the ones before."""
        self.count += 1
        self.has_content = self.has_content or bool(read_answer_text(piece) or piece.tool_call_chunks)
        # Not from the joined piece: some servers send it twice, and joining joins the texts.
        self.finish_reason = read_finish_reason(piece.response_metadata) or self.finish_reason
        if piece.usage_metadata is not None:
            self.usages.append(piece.usage_metadata)
        self._has_blocks = self._has_blocks or isinstance(piece.content, list)
        if self._has_blocks and piece.content == "":  # at the beginning of a group, it would become a block
            piece = piece.model_copy(update={"content": []})
        self._separate.append(piece)
        if len(self._separate) == MAX_SEPARATE_PIECES:
            self._groups.append(_join(self._separate))
            self._separate = []

    def join(self) -> AIMessageChunk:
        """Return the pieces as one."""
        return _join([*self._groups, *self._separate])


def _join(pieces: list[AIMessageChunk]) -> AIMessageChunk:
    return add_ai_message_chunks(pieces[0], *pieces[1:]) if pieces else AIMessageChunk(content="")
