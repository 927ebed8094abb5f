"""The pieces of an answer, joined as they arrive. Joining thousands at the end would block the event loop."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks

from agent.models.answer_text import read_answer_text
from agent.models.finish_reasons import read_finish_reason

# Joined in one step, at 7 µs for each piece.
MAX_SEPARATE_PIECES = 200


class AnswerPieces:
    """The pieces of an answer. They are joined in groups, and the groups are joined at the end."""

    def __init__(self) -> None:
        self.count = 0
        # True once any part of an answer has come. The finish reason is the last named reason.
        self.has_content = False
        self.finish_reason: str | None = None
        self.usages: list[Any] = []
        self._has_blocks = False
        self._groups: list[AIMessageChunk] = []
        self._separate: list[AIMessageChunk] = []

    def add(self, piece: AIMessageChunk) -> None:
        """Add a piece. Raises `TypeError` if it does not fit the earlier pieces."""
        self.count += 1
        self.has_content = self.has_content or bool(read_answer_text(piece) or piece.tool_call_chunks)
        # The joined piece is no source, since some servers send the reason twice, and joining concatenates texts.
        self.finish_reason = read_finish_reason(piece.response_metadata) or self.finish_reason
        if piece.usage_metadata is not None:
            self.usages.append(piece.usage_metadata)
        self._has_blocks = self._has_blocks or isinstance(piece.content, list)
        # Empty text at the beginning of a group would become a block.
        if self._has_blocks and piece.content == "":
            piece = piece.model_copy(update={"content": []})
        self._separate.append(piece)
        if len(self._separate) == MAX_SEPARATE_PIECES:
            self._groups.append(_join(self._separate))
            self._separate = []

    def join(self) -> AIMessageChunk:
        return _join([*self._groups, *self._separate])


def _join(pieces: list[AIMessageChunk]) -> AIMessageChunk:
    return add_ai_message_chunks(pieces[0], *pieces[1:]) if pieces else AIMessageChunk(content="")
