"""Langfuse's attributes of spans, from the values of events. Nothing here masks a text (see `SpanRecorder`)."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, convert_to_openai_messages
from langfuse import LangfuseOtelSpanAttributes as Attribute
from opentelemetry.util.types import AttributeValue

from agent.context.prices import TOKENS_PER_PRICE, ModelPrice
from agent.context.usage import readable_usage
from agent.tracing.events import TraceLabels
from checkpoints import Operation, OperationDetail
from checkpoints.values import serde

Attributes = Mapping[str, AttributeValue]


def count_token_kinds(answer: AIMessage) -> dict[str, int] | None:
    """Return an answer's tokens, each counted once, because Langfuse adds them up; None without a usage."""
    metadata = readable_usage(answer.usage_metadata)
    if metadata is None:
        return None
    counts = {"input": metadata["input_tokens"], "output": metadata["output_tokens"]}
    details = {"input": metadata.get("input_token_details"), "output": metadata.get("output_token_details")}
    for side, kinds in details.items():
        for kind, tokens in (kinds or {}).items():
            if isinstance(tokens, int) and tokens:
                counts[f"{side}_{kind}"] = tokens
                counts[side] = max(0, counts[side] - tokens)
    return {**counts, "total": metadata["total_tokens"]}


def compute_costs(counts: Mapping[str, int], price: ModelPrice) -> dict[str, float]:
    """Return the cost of each kind of tokens in US dollars, under the names of `count_token_kinds`."""
    cached = price.input_usd if price.cached_usd is None else price.cached_usd
    prices = {kind: price.input_usd if kind.startswith("input") else price.output_usd for kind in counts if kind != "total"}
    prices |= {"input_cache_read": cached} if "input_cache_read" in counts else {}
    costs = {kind: counts[kind] * usd / TOKENS_PER_PRICE for kind, usd in prices.items()}
    return {**costs, "total": sum(costs.values())}


def encode_messages(messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Return messages in OpenAI's form. Calls with unreadable arguments keep their text."""
    encoded: list[dict[str, Any]] = []
    for message in messages:
        converted = convert_to_openai_messages([message])
        if isinstance(message, AIMessage) and message.invalid_tool_calls:
            unreadable = [
                {
                    "type": "function",
                    "id": call["id"],
                    "function": {"name": call["name"], "arguments": call["args"] or ""},
                }
                for call in message.invalid_tool_calls
            ]
            converted[-1]["tool_calls"] = [*converted[-1].get("tool_calls", ()), *unreadable]
        encoded += converted
    return encoded


def make_label_attributes(labels: TraceLabels) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue | None] = {
        Attribute.ENVIRONMENT: labels.environment,
        Attribute.RELEASE: labels.release,
        Attribute.TRACE_USER_ID: labels.user,
        Attribute.TRACE_TAGS: labels.tags,
    }
    return {key: value for key, value in attributes.items() if value}


def describe_detail(detail: OperationDetail) -> str:
    """Return the name of the saved, restored or forked place; of several branches their number."""
    return detail.name or encode_json(detail.to_json())


def describe_transition(operation: Operation) -> dict[str, object]:
    """Return the heads before and after a change: of a restore the branch's, of a fork the branches' ids."""
    for change in operation.changes:
        for column in ("head_id", "branch_id"):
            if change.table != "checkpoint" and column in change.before:
                return {"from": change.before[column], "to": change.after[column]}
    return {}


def make_common_attributes(thread_id: str, trace_name: str, kind: str) -> dict[str, AttributeValue]:
    return {
        Attribute.TRACE_NAME: trace_name,
        Attribute.TRACE_SESSION_ID: thread_id,
        Attribute.OBSERVATION_TYPE: kind,
    }


def make_metadata(values: Mapping[str, object], of: str = "trace") -> dict[str, str]:
    prefix = Attribute.TRACE_METADATA if of == "trace" else Attribute.OBSERVATION_METADATA
    return {f"{prefix}.{key}": str(value) for key, value in values.items() if value is not None}


def make_level(level: str | None, message: str | None) -> dict[str, str]:
    attributes = {Attribute.OBSERVATION_LEVEL: level, Attribute.OBSERVATION_STATUS_MESSAGE: message}
    return {key: value for key, value in attributes.items() if value}


def measure_message(message: BaseMessage) -> dict[str, Any]:
    size: dict[str, Any] = {"role": message.type, "characters": len(message.text)}
    if isinstance(message, AIMessage) and (calls := [*message.tool_calls, *message.invalid_tool_calls]):
        size["tool_calls"] = [{"name": call["name"], "characters": len(encode_arguments(call["args"]))} for call in calls]
    return size


def encode_arguments(arguments: Any) -> str:
    """Return a call's arguments as JSON. Unreadable ones are a text already."""
    return serde.sanitize_text(arguments) if isinstance(arguments, str) else encode_json(arguments)


def encode_json(value: object) -> str:
    return serde.sanitize_text(json.dumps(value, ensure_ascii=False, default=str))


def format_time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat()
