"""Langfuse's attributes of Waymark's own spans, from the values of events."""

import json
from collections.abc import Mapping
from typing import Any

from langfuse import LangfuseOtelSpanAttributes as Attribute

from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.events import AgentFinished, RunBegun, RunEnded, RunStart, ToolCarriedOut, TraceEvent
from checkpoints import MAIN, Operation, OperationDetail, RunState
from checkpoints.values import serde
from extensions.tracing.span_writer import Attributes

_LEVELS = {RunState.FAILED: "ERROR", RunState.STOPPED: "WARNING", RunState.INTERRUPTED: "WARNING"}


class EventDescriber:
    """Makes the attributes of events. With `mask`, sizes replace the texts of people, models and tools."""

    def __init__(self, *, mask: bool) -> None:
        self.mask = mask

    def describe(self, event: TraceEvent) -> Attributes:
        """Return the attributes of an event, empty for events that only the client describes, or nobody."""
        match event:
            case RunBegun() | RunEnded():
                return self._describe_run(event)
            case ToolCarriedOut():
                return self._describe_tool(event)
            case AgentFinished():
                about = _make_level("ERROR" if event.error else None, event.error) | _make_metadata({"agent": event.agent})
                return _make_kind("agent") | {Attribute.OBSERVATION_OUTPUT: self.mask_text(event.answer)} | about
            case TimeTravelEvent():
                return self._describe_move(event)
            case Operation():
                return self._describe_operation(event)
        return {}

    def _describe_run(self, event: RunBegun | RunEnded) -> Attributes:
        if isinstance(event, RunBegun):
            question = {Attribute.OBSERVATION_INPUT: self.mask_text(event.question)}
            return _make_kind("agent") | question | self._describe_start(event.start)
        level = _make_level(_LEVELS.get(event.state), event.error)
        state = _make_metadata({"state": str(event.state)}, of="trace")
        return {Attribute.OBSERVATION_OUTPUT: self.mask_text(event.answer)} | level | state

    def mask_text(self, text: str) -> str:
        return f"({len(text):,} characters)" if self.mask else serde.sanitize_text(text)

    def _describe_tool(self, event: ToolCarriedOut) -> Attributes:
        about = {"call": event.call["id"], "agent": event.agent, "state": None if event.result else "waiting"}
        # Unreadable arguments are already a text.
        arguments = event.call["args"]
        given = arguments if isinstance(arguments, str) else _encode_json(arguments)
        attributes = _make_kind("tool") | {Attribute.OBSERVATION_INPUT: self.mask_text(given)} | _make_metadata(about)
        if event.result is None:
            return attributes
        output = self.mask_text(event.result.text)
        level = _make_level("ERROR", output) if event.result.status == "error" else {}
        return attributes | {Attribute.OBSERVATION_OUTPUT: output} | level

    def _describe_move(self, event: TimeTravelEvent) -> Attributes:
        about = {
            "from": event.call_position,
            "to": event.target_position,
            "removed": event.removed_count,
            "tokens_saved": event.tokens_saved,
            "agent": None if event.agent == MAIN else event.agent,
            # People choose the names of files.
            "sources": None if self.mask else ", ".join(event.sources) or None,
        }
        return _make_kind("event") | {Attribute.OBSERVATION_INPUT: self.mask_text(event.reason)} | _make_metadata(about)

    def _describe_operation(self, operation: Operation) -> Attributes:
        about = {
            "operation": operation.version,
            "actor": operation.actor,
            "result": operation.result,
            "messages": operation.detail.messages or None,
            "checkpoints": operation.detail.checkpoints or None,
            **_describe_transition(operation),
        }
        input_text = self.mask_text(_describe_detail(operation.detail))
        return _make_kind("event") | {Attribute.OBSERVATION_INPUT: input_text} | _make_metadata(about, of="trace")

    def _describe_start(self, start: RunStart | None) -> dict[str, str]:
        if start is None:
            return {}
        branch, checkpoint = start.branch, start.checkpoint
        about = {
            "branch": branch.id if self.mask else branch.name,
            "checkpoint": checkpoint and (checkpoint.id if self.mask else checkpoint.name),
            "rewound_from": start.rewound_from,
            "operation": start.version,
        }
        return _make_metadata(about, of="trace")


def _describe_detail(detail: OperationDetail) -> str:
    """Return the name of the saved, restored or forked place, or the detail for several branches."""
    return detail.name or _encode_json(detail.to_json())


def _describe_transition(operation: Operation) -> dict[str, object]:
    """Return the heads before and after a change: the branch's for a restore, the branches' ids for a fork."""
    for change in operation.changes:
        for column in ("head_id", "branch_id"):
            if change.table != "checkpoint" and column in change.before:
                return {"from": change.before[column], "to": change.after[column]}
    return {}


def _make_kind(kind: str) -> dict[str, str]:
    return {Attribute.OBSERVATION_TYPE: kind}


def _make_metadata(values: Mapping[str, object], of: str = "observation") -> dict[str, str]:
    prefix = Attribute.TRACE_METADATA if of == "trace" else Attribute.OBSERVATION_METADATA
    return {f"{prefix}.{key}": serde.sanitize_text(str(value)) for key, value in values.items() if value is not None}


def _make_level(level: str | None, message: str | None) -> dict[str, str]:
    attributes = {Attribute.OBSERVATION_LEVEL: level, Attribute.OBSERVATION_STATUS_MESSAGE: message}
    return {key: serde.sanitize_text(value) for key, value in attributes.items() if value}


def _encode_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
