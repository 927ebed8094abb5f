"""Finish reasons from any provider, and a complete answer as a single chunk."""

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

# The keys of Chat Completions, Responses, Anthropic, Google, Ollama and Bedrock, in this order of first words.
_METADATA_KEYS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
_REASONS = {
    # Unknown words count as `stop`, too.
    "stop": ("completed", "complete", "end_turn", "stop_sequence", "eos_token"),
    "tool_calls": ("tool_use", "tool_call", "function_call"),
    "length": ("max_output_tokens", "max_tokens", "model_length", "model_context_window_exceeded"),
    "content_filter": ("refusal", "safety", "recitation", "blocklist", "prohibited_content", "guardrail_intervened"),
    "broken_off": (
        *("error", "failed", "failure", "cancelled", "canceled", "abort", "aborted", "interrupted", "timeout"),
        *("network_error", "insufficient_system_resource", "malformed_function_call", "malformed_tool_call"),
        *("incomplete", "in_progress", "queued"),
    ),
}
_REASON_OF_WORD = {other: reason for reason, others in _REASONS.items() for other in others}


def read_finish_reason(metadata: Mapping[str, Any]) -> str | None:
    """Return why an answer ended, as a key of `_REASONS`, or None if the metadata gives no reason.

    Servers invent words for a complete answer, so an unknown word counts as `stop`.
    """
    reason = next((metadata[key] for key in _METADATA_KEYS if metadata.get(key)), None)
    if reason == "incomplete":
        cause = str((metadata.get("incomplete_details") or {}).get("reason")).lower()
        return cause if cause in _REASONS else _REASON_OF_WORD.get(cause, "broken_off")
    word = str(reason).lower()
    return None if reason is None else word if word in _REASONS else _REASON_OF_WORD.get(word, "stop")


def convert_to_chunk(message: AIMessage) -> AIMessageChunk:
    """Return a complete answer as the only chunk of a stream."""
    calls = [(call["name"], json.dumps(call["args"]), call["id"]) for call in message.tool_calls]
    calls += [(call["name"] or "", call["args"] or "", call["id"]) for call in message.invalid_tool_calls]
    return AIMessageChunk(
        content=message.content,
        additional_kwargs={key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"},
        tool_call_chunks=[
            tool_call_chunk(name=name, args=arguments, id=identity, index=index)
            for index, (name, arguments, identity) in enumerate(calls)
        ],
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
        chunk_position="last",
    )
