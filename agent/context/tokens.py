"""Estimates the tokens of messages.

A tokenizer would have to download its tables, and every provider has its own. The provider's count for an earlier answer
of the same path corrects the estimates.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from agent.context import attachments
from agent.context.answer_notes import SizeNote
from agent.context.usage import context_tokens, readable_usage
from checkpoints import MAIN, Message
from checkpoints.values import serde
from checkpoints.values.reasoning import Reasoning

# Bytes of UTF-8 per token. This is close for English, code and, unlike a count of characters, for Chinese.
BYTES_PER_TOKEN = 4
# Tokens of a message beside its text.
MESSAGE_TOKENS = 4


def count_answer_tokens(answer: AIMessage, *, sends_reasoning: bool = False) -> int:
    """Return the `context_tokens` of an answer, or 0 if its provider reported none."""
    usage = readable_usage(answer.usage_metadata)
    return 0 if usage is None else context_tokens(usage, sends_reasoning=sends_reasoning)


def estimate_tokens(message: BaseMessage) -> int:
    """Estimate the tokens of a message in a request, including its reasoning."""
    content = estimate_content(message.content, message.tool_calls if isinstance(message, AIMessage) else ())
    reasoning = Reasoning.of(message) if isinstance(message, AIMessage) else None
    return content if reasoning is None else content + _estimate_reasoning(reasoning)


def _estimate_reasoning(reasoning: Reasoning) -> int:
    text = reasoning.text if reasoning.text_field else ""
    items = [each for each in (reasoning.fields, reasoning.call_fields, reasoning.blocks, reasoning.extras) if each]
    return len((text + (serde.to_canonical(items) if items else "")).encode(errors="replace")) // BYTES_PER_TOKEN


def estimate_stored_tokens(message: Message) -> int:
    """Estimate the tokens of a stored message without building it."""
    data = message.body["data"]
    return estimate_content(data.get("content", ""), data.get("tool_calls") or ())


def estimate_unread_tokens(byte_count: int) -> int:
    """Estimate the tokens of a stored message from the bytes of its JSON."""
    return byte_count // BYTES_PER_TOKEN


def read_counted_answer(stored: Message) -> AIMessage | None:
    """Return the answer if a run here made it and its provider reported its usage.

    A sub-agent's answer was counted in another context.
    """
    if stored.type != "ai" or stored.agent != MAIN or stored.run_id is None or "usage_metadata" not in stored.body["data"]:
        return None
    answer = stored.langchain
    if not isinstance(answer, AIMessage) or SizeNote.of(answer) is None:
        return None
    return answer if readable_usage(answer.usage_metadata) is not None else None


def sum_stored_tokens(messages: Iterable[Message], agent: str) -> int:
    """Estimate the tokens of an agent's stored messages. Its request holds no messages of other agents."""
    return sum(estimate_stored_tokens(message) for message in messages if message.agent == agent)


def estimate_content(content: str | list[Any], calls: Sequence[Any] = ()) -> int:
    # Most messages are plain text.
    if isinstance(content, str) and not calls:
        return len(content.encode(errors="replace")) // BYTES_PER_TOKEN + MESSAGE_TOKENS
    blocks = [content] if isinstance(content, str) else content
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    written = "".join(text for text in texts if isinstance(text, str)) + (serde.to_canonical(list(calls)) if calls else "")
    return (
        len(written.encode(errors="replace")) // BYTES_PER_TOKEN + attachments.estimate_file_tokens(content) + MESSAGE_TOKENS
    )
