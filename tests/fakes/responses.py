"""OpenAI's other way to ask, `/v1/responses`: the request as the chat that it means, and the answer in its events.

The rules are those of a chat (`pairing`), and some of its own: nothing is kept here (`store: false`), so no item has an id.
"""

from collections.abc import Iterator
from typing import Any

from tests.fakes.answers import Call, Turn, fragments
from tests.fakes.faults import Frame
from tests.fakes.server import JSON, Refusal, compact

CHAT_ONLY = ("messages", "stream_options", "stop", "max_tokens", "max_completion_tokens", "reasoning_effort", "functions")
PARTS = {"input_text": "text", "output_text": "text", "refusal": "refusal", "input_image": "image_url", "input_file": "file"}
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def as_chat(body: JSON) -> JSON:
    """The same request in the words of Chat Completions. Raises Refusal for what is none."""
    for name in CHAT_ONLY:
        if name in body:
            raise Refusal(f"Unsupported parameter: '{name}' is not supported with this model.", param=name)
    if body.get("store") is not False:
        raise Refusal("These tests keep nothing with the provider: 'store' must be false.", param="store")
    items = body.get("input")
    if not isinstance(items, list) or not items:
        raise Refusal("Missing required parameter: 'input'.", param="input")
    messages: list[JSON] = []
    for index, item in enumerate(items):
        _add(messages, item, f"input[{index}]")
    tools = body.get("tools")
    chat = {name: body[name] for name in ("model", "stream") if name in body} | {"messages": messages}
    return chat if tools is None else chat | {"tools": [_tool(tool, index) for index, tool in enumerate(tools)]}


def _tool(tool: Any, index: int) -> JSON:
    if not isinstance(tool, dict) or tool.get("type") != "function" or "function" in tool:
        raise Refusal(f"Missing required parameter: 'tools[{index}].name'.", param=f"tools[{index}].name")
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


def _add(messages: list[JSON], item: Any, param: str) -> None:
    """Calls belong to the answer before them, as in a chat: several in a row are one answer's."""
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if kind == "reasoning" and "id" not in item:
        return  # see reasoning_rules.check_items
    if kind and "id" in item:
        raise Refusal(f"Item with id '{item['id']}' not found. Items are not persisted when `store` is false.", status=404)
    if kind == "message":
        messages.append({"role": item.get("role"), "content": _content(item.get("content"), item.get("role"), param)})
    elif kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": None, "tool_calls": []})
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        messages[-1].setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")})
    else:
        raise Refusal(f"Invalid value: {kind!r} as type of an item.", param=f"{param}.type")


def _content(content: Any, role: Any, param: str) -> Any:
    if not isinstance(content, list):
        return content
    wrong = {"assistant": ("input_text",)}.get(role, ("output_text", "refusal"))
    parts = []
    for part in content:
        kind = part.get("type")
        if kind in wrong or kind not in PARTS:
            raise Refusal(f"Invalid value: '{kind}' in content of role {role!r}.", param=f"{param}.content")
        parts.append(part | {"type": PARTS[kind]})
    return parts


class ResponsesWriter:
    """One answer as a response and as the events that tell of it. `usage` is in the words of Chat Completions."""

    def __init__(self, body: JSON, turn: Turn, number: int, ids: list[str], usage: JSON | None, *, output: bool) -> None:
        self._turn = turn
        self._number = number
        self._ids = ids
        self._model = body["model"]
        self._output = output
        self._is_encrypted = "reasoning.encrypted_content" in (body.get("include") or ())
        self._is_summed_up = bool((body.get("reasoning") or {}).get("summary"))
        self._usage = usage and _usage(usage)
        self._sent = 0

    def document(self) -> JSON:
        """The whole answer (stream: false)."""
        return self._response(self._end()[0], self._items())

    def stream(self) -> Iterator[Frame]:
        yield self._event("response.created", response=self._response("in_progress", []))
        yield self._event("response.in_progress", response=self._response("in_progress", []))
        for index, item in enumerate(self._items()):
            yield from self._item(index, item)
        status, error = self._end()
        if error is None:
            yield self._event(f"response.{status}", response=self._response(status, self._items()))
        else:
            yield self._event("response.failed", response=self._response("failed", []) | {"error": error})

    def _end(self) -> tuple[str, JSON | None]:
        if self._turn.finish == "failed":
            return "failed", {"code": "server_error", "message": "The model failed to generate a response for key sk-…."}
        return ("incomplete" if self._turn.finish in INCOMPLETE else "completed"), None

    def _response(self, status: str, output: list[JSON]) -> JSON:
        reason = INCOMPLETE.get(self._turn.finish) if status == "incomplete" else None
        return {
            "id": f"resp_{self._number}", "object": "response", "created_at": 1_700_000_000, "status": status, "error": None,
            "incomplete_details": reason and {"reason": reason}, "instructions": None, "max_output_tokens": None,
            "model": self._model, "output": output, "parallel_tool_calls": True, "previous_response_id": None,
            "reasoning": {"effort": "medium", "summary": None}, "service_tier": "default", "store": False,
            "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "temperature": 1.0, "top_p": 1.0,
            "truncation": "disabled", "usage": self._usage if status != "in_progress" else None, "metadata": {},
        }  # fmt: skip

    def _items(self) -> list[JSON]:
        """What the answer is made of: how it thought, its text, its calls."""
        if not self._output:
            return []
        shown = self._turn.thought if self._is_summed_up else ()
        summary = [{"type": "summary_text", "text": "".join(shown)}] if shown else []
        thought: JSON = {"id": f"rs_{self._number}", "type": "reasoning", "summary": summary}
        items = [thought | ({"encrypted_content": f"enc_{self._number}"} if self._is_encrypted else {})]
        if self._turn.text:
            text = {"type": "output_text", "text": "".join(self._turn.text), "annotations": [], "logprobs": []}
            message = {"id": f"msg_{self._number}", "type": "message", "status": "completed", "role": "assistant"}
            items.append(message | {"content": [text]})
        for call_id, call in zip(self._ids, self._turn.calls, strict=True):
            named = {"call_id": call_id, "name": call.name, "arguments": call.json, "status": "completed"}
            items.append({"id": f"fc_{call_id}", "type": "function_call"} | named)
        return items

    def _item(self, index: int, item: JSON) -> Iterator[Frame]:
        begun: JSON = {"message": {"content": [], "status": "in_progress"}, "function_call": {"arguments": ""}}
        begun["reasoning"] = {"summary": []}
        yield self._event("response.output_item.added", output_index=index, item=item | begun.get(item["type"], {}))
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "reasoning" and item["summary"]:
            yield from self._summary(place)
        if item["type"] == "message":
            yield from self._text(place, item["content"][0])
        if item["type"] == "function_call":
            yield from self._call(place, self._turn.calls[self._ids.index(item["call_id"])])
        yield self._event("response.output_item.done", output_index=index, item=item)

    def _summary(self, place: JSON) -> Iterator[Frame]:
        place = place | {"summary_index": 0}
        part = {"type": "summary_text", "text": "".join(self._turn.thought)}
        yield self._event("response.reasoning_summary_part.added", **place, part=part | {"text": ""})
        for token in self._turn.thought:
            yield self._event("response.reasoning_summary_text.delta", token=True, **place, delta=token)
        yield self._event("response.reasoning_summary_text.done", **place, text=part["text"])
        yield self._event("response.reasoning_summary_part.done", **place, part=part)

    def _text(self, place: JSON, part: JSON) -> Iterator[Frame]:
        place = place | {"content_index": 0}
        yield self._event("response.content_part.added", **place, part=part | {"text": ""})
        for token in self._turn.text:
            yield self._event("response.output_text.delta", token=True, **place, delta=token, logprobs=[])
        yield self._event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **place, part=part)

    def _call(self, place: JSON, call: Call) -> Iterator[Frame]:
        for fragment in fragments(call):
            yield self._event("response.function_call_arguments.delta", token=True, **place, delta=fragment)
        yield self._event("response.function_call_arguments.done", **place, arguments=call.json)

    def _event(self, kind: str, *, token: bool = False, **fields: Any) -> Frame:
        document = {"type": kind, "sequence_number": self._sent, **fields}
        self._sent += 1
        return Frame(b"event: " + kind.encode() + b"\ndata: " + compact(document) + b"\n\n", token)


def _usage(usage: JSON) -> JSON:
    read, written = usage["prompt_tokens"], usage["completion_tokens"]
    return {
        "input_tokens": read,
        "input_tokens_details": usage["prompt_tokens_details"],
        "output_tokens": written,
        "output_tokens_details": usage["completion_tokens_details"],
        "total_tokens": read + written,
    }
