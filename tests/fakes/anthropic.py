"""Anthropic's Messages API, streamed: answers from a script, and refuses what the service refuses.

By hand: ANTHROPIC_BASE_URL is the `origin` of a `FakeAnthropic`.
"""

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request

from tests.fakes.answers import Turn, fragments, made_up_answer, turn_of
from tests.fakes.anthropic_rules import check_messages, check_options, check_thinking, is_thinking, with_blocks
from tests.fakes.faults import Fault, Frame, Reply
from tests.fakes.server import JSON, FakeServer, Refusal, compact

KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 529: "overloaded_error"}  # fmt: skip
STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


class FakeAnthropic(FakeServer):
    """Queue Say, Call, Calls or Fault with `reply`; else a rule answers.

    Answers begin with their thought where a request turns thinking on. `redacts` adds a redacted block to it. `issued` are
    the signatures and redacted blocks that it gave out: it takes no others back.
    """

    paths = ("/v1/messages",)

    def __init__(self, port: int = 0, *, first_byte_delay: float = 0.0, token_delay: float = 0.0) -> None:
        self.redacts = False
        self.issued: set[str] = set()
        super().__init__(port, first_byte_delay=first_byte_delay, token_delay=token_delay)

    def accept(self, request: Request, body: JSON) -> None:
        if not (request.headers.get("x-api-key") or request.headers.get("authorization")):
            raise Refusal("x-api-key header is required", status=401)
        if not request.headers.get("anthropic-version"):
            raise Refusal("anthropic-version: header is required")
        check_options(body)
        checked = with_blocks(body)
        check_messages(checked["messages"])
        check_thinking(checked, self.issued)

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        scripted = reply.reply if isinstance(reply, Fault) else reply
        turn = turn_of(scripted or made_up_answer(as_chat(body)))
        writer = MessageWriter(body, turn, number, redacts=self.redacts)
        self.issued |= {f"signature {number}", f"redacted {number}"}
        if body.get("stream"):
            return list(writer.stream()), "text/event-stream; charset=utf-8"
        return [Frame(compact(writer.document()), token=True)], "application/json"

    def refuse(self, request: Request, refusal: Refusal | Fault) -> JSON:
        text = refusal.text if isinstance(refusal, Refusal) else refusal.message or "Internal server error"
        kind = KINDS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": text}, "request_id": f"req_{len(self.requests)}"}


class MessageWriter:
    """One answer as a message, and as the events of its stream."""

    def __init__(self, body: JSON, turn: Turn, number: int, *, redacts: bool) -> None:
        self._turn = turn
        self._number = number
        self._model = body["model"]
        self._is_thinking = is_thinking(body) and bool(turn.thought)
        self._shows_thought = body.get("thinking", {}).get("display", "summarized") == "summarized"
        self._redacts = redacts
        self._tokens = {"input_tokens": len(compact(body["messages"])) // 4, "output_tokens": len(turn.text) + 1}

    def document(self) -> JSON:
        head = self._head() | {"stop_reason": STOP_REASONS[self._turn.finish], "usage": self._tokens}
        return head | {"content": [block for block, _ in self._blocks()]}

    def stream(self) -> Iterator[Frame]:
        yield self._event("message_start", message=self._head() | {"usage": self._tokens | {"output_tokens": 1}})
        yield self._event("ping")
        for index, (block, deltas) in enumerate(self._blocks()):
            empty = {"thinking": "", "signature": "", "text": "", "input": {}}
            begun = {name: empty.get(name, value) if deltas else value for name, value in block.items()}
            yield self._event("content_block_start", index=index, content_block=begun)
            for delta in deltas:
                yield self._event("content_block_delta", token="signature" not in delta, index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        delta = {"stop_reason": STOP_REASONS[self._turn.finish], "stop_sequence": None}
        yield self._event("message_delta", delta=delta, usage=self._tokens)
        yield self._event("message_stop")

    def _head(self) -> JSON:
        named = {"id": f"msg_{self._number}", "type": "message", "role": "assistant", "model": self._model}
        return named | {"content": [], "stop_reason": None, "stop_sequence": None}

    def _blocks(self) -> Iterator[tuple[JSON, list[JSON]]]:
        """The blocks of the answer, each with the pieces that it is streamed in."""
        if self._is_thinking:
            thought, signature = self._turn.thought if self._shows_thought else (), f"signature {self._number}"
            pieces = [{"type": "thinking_delta", "thinking": piece} for piece in thought]
            block = {"type": "thinking", "thinking": "".join(thought), "signature": signature}
            yield block, [*pieces, {"type": "signature_delta", "signature": signature}]
        if self._is_thinking and self._redacts:
            yield {"type": "redacted_thinking", "data": f"redacted {self._number}"}, []
        if self._turn.text:
            pieces = [{"type": "text_delta", "text": piece} for piece in self._turn.text]
            yield {"type": "text", "text": "".join(self._turn.text)}, pieces
        for index, call in enumerate(self._turn.calls):
            named = {"type": "tool_use", "id": call.id or f"toolu_{self._number}_{index}", "name": call.name}
            pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *fragments(call))]
            yield named | {"input": call.arguments}, pieces

    def _event(self, kind: str, *, token: bool = False, **fields: Any) -> Frame:
        document = {"type": kind, **fields}
        return Frame(b"event: " + kind.encode() + b"\ndata: " + compact(document) + b"\n\n", token)


def as_chat(body: JSON) -> JSON:
    """The request in the words of Chat Completions, as far as a made-up answer needs them."""
    messages = []
    for message in with_blocks(body)["messages"]:
        results = [block for block in message["content"] if block["type"] == "tool_result"]
        texts = [block for block in message["content"] if block["type"] == "text"]
        messages += [{"role": "tool", "content": _text(block.get("content"))} for block in results]
        messages += [{"role": message["role"], "content": _text(texts)}] if texts else []
    tools = [{"type": "function", "function": tool} for tool in body.get("tools") or ()]
    return {"model": body["model"], "messages": messages, "tools": tools}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())
