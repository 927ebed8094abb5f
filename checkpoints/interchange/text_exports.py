"""Exports as text, for people and for other programs: the current path of a conversation, without the rest of its tree.

Neither can be imported again; only waymark/1 can (see transfer).
"""

import json
import re
from collections.abc import Sequence
from html import escape

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from ..store import Store
from ..values import files, serde
from ..values.graph_author import is_by_graph
from ..values.model import MAIN, Json, MessageStatus
from ..values.reasoning import Reasoning
from ..values.text import fence_verbatim
from . import transfer
from .export_options import WHOLE_EXPORT, ExportOptions

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def export_markdown(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> str:
    """Export as Markdown: each text unchanged under its speaker's heading, tool calls folded with their results."""
    made = transfer.export_current_path(store, thread_id, options)
    path = made["messages"]
    messages = [serde.to_message(part["message"]) for part in path]
    results = _pair_results(messages, [part["agent"] for part in path])
    answered = {id(result) for pairs in results for _, result in pairs}
    parts = [f"# {_join_lines(made['thread']['title'])}"]
    for part, message, calls in zip(path, messages, results, strict=True):
        if id(message) in answered:
            continue
        parts += [
            f"## {_join_lines(_name_speaker(part, message))}",
            _render_reasoning(message),
            _close_fence(str(message.text)),
        ]
        parts += [f"*Attached: {_join_lines(name)}*" for name in _attachment_names(message)]
        parts += [_render_tool_call(call["name"], call["args"], result) for call, result in calls]
        if part["status"] == MessageStatus.PARTIAL:
            parts.append("*This message was cut off.*")
    return "\n\n".join(part for part in parts if part) + "\n"


def export_jsonl(store: Store, thread_id: str, options: ExportOptions = WHOLE_EXPORT) -> str:
    """Export as one line, `{"messages": […]}`, in the format of OpenAI's chat API and its fine-tuning.

    A tool call is exported only with its result, and only the messages of the user and the main agent are. System messages
    are left out: in Waymark they are notes from a file, in that format they would be instructions. An answer that was cut
    off has weight 0: it is context, not training data.
    """
    path = [part for part in transfer.export_current_path(store, thread_id, options)["messages"] if part["agent"] == MAIN]
    messages = [serde.to_message(part["message"]) for part in path]
    made: list[Json] = []
    results = _pair_results(messages, [MAIN] * len(messages))
    for part, message, calls in zip(path, messages, results, strict=True):
        if isinstance(message, HumanMessage):
            named = [f"[attached: {name}]" for name in _attachment_names(message)]
            made.append({"role": "user", "content": "\n".join(filter(None, [str(message.text), *named]))})
        elif isinstance(message, AIMessage) and (message.text or any(result for _, result in calls)):
            made.append(_build_chat_answer(part, message, calls))
            made += [
                {"role": "tool", "tool_call_id": call["id"], "content": str(result.text)} for call, result in calls if result
            ]
    return json.dumps({"messages": made}, ensure_ascii=False) + "\n"


def _build_chat_answer(part: Json, message: AIMessage, calls: "Sequence[tuple[ToolCall, ToolMessage | None]]") -> Json:
    made: Json = {"role": "assistant", "content": str(message.text)}
    called = [call for call, result in calls if result]
    if called:
        made["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"], ensure_ascii=False)},
            }
            for call in called
        ]
    if part["status"] == MessageStatus.PARTIAL:
        made["weight"] = 0
    return made


def _pair_results(
    messages: Sequence[BaseMessage], agents: Sequence[str]
) -> "list[list[tuple[ToolCall, ToolMessage | None]]]":
    """Pair the tool calls of each message with the results that come before its agent's next message."""
    found: list[list[tuple[ToolCall, ToolMessage | None]]] = []
    pending: dict[str, dict[str, ToolMessage]] = {}  # by agent: the results after its message
    for message, agent in reversed(list(zip(messages, agents, strict=True))):
        results = pending.setdefault(agent, {})
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
        else:
            pending[agent] = {}
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        found.append([(call, results.pop(call["id"] or "", None)) for call in calls])
    return found[::-1]


def _name_speaker(part: Json, message: BaseMessage) -> str:
    names = {"human": "You", "ai": "Agent", "system": "Note", "tool": "Tool result", "function": "Tool result"}
    if part["agent"] != MAIN:
        names["human"] = "Question"
    elif is_by_graph(part["message"]):
        names["human"] = "Graph"
    elif part["is_by_other"]:
        names["human"] = "Another person"
    name = names.get(message.type, "Note")
    return name if part["agent"] == MAIN else f"{name} · {part['agent']}"


def _attachment_names(message: BaseMessage) -> list[str]:
    return [str(part["name"]) for part in files.find_file_parts(message.content)]


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _close_fence(text: str) -> str:
    """Close a block of code that the text leaves open, as an answer that was cut off may."""
    fence = ""
    for line in text.splitlines():
        if found := _FENCE.fullmatch(line):
            mark, rest = found.groups()
            if not fence:
                fence = mark
            elif mark.startswith(fence) and not rest.strip():
                fence = ""
    return f"{text}\n{fence}" if fence else text


def _render_reasoning(message: BaseMessage) -> str:
    """Return the reasoning before an answer, folded; empty without one."""
    reasoning = Reasoning.of(message)
    if reasoning is None or not reasoning.text.strip():
        return ""
    return "\n\n".join(["<details>\n<summary>Reasoning</summary>", fence_verbatim(reasoning.text), "</details>"])


def _render_tool_call(name: str, arguments: Json, result: ToolMessage | None) -> str:
    label = "Result" if result is None or result.status == "success" else "Result (an error)"
    text = "(none)" if result is None else str(result.text)
    blocks = [
        fence_verbatim(serde.format_indented(arguments), "json"),
        f"{label}:",
        fence_verbatim(text),
    ]
    summary = f"<details>\n<summary>Tool: {escape(_join_lines(name))}</summary>"
    return "\n\n".join([summary, "Arguments:", *blocks, "</details>"])
