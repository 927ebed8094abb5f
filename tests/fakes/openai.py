"""An OpenAI-compatible model server (also under Azure's paths): answers from a script, refuses malformed requests.

By hand: `python -m tests.fakes.openai --port 9000`, then OPENAI_BASE_URL=http://127.0.0.1:9000/v1.
"""

import argparse
import hashlib
import sys
import threading
from collections.abc import Iterator

from starlette.requests import Request

from tests.fakes.answers import Call, Calls, Say, Turn, fragments, made_up_answer, turn_of
from tests.fakes.dialects import DIALECTS, Dialect, Manner
from tests.fakes.faults import Fault, Frame, Reply
from tests.fakes.pairing import check_messages, check_tools
from tests.fakes.reasoning_rules import check_items, check_signatures
from tests.fakes.responses import ResponsesWriter, as_chat
from tests.fakes.server import JSON, FakeServer, Refusal, compact

__all__ = ["Call", "Calls", "FakeOpenAI", "Fault", "Say"]

CREATED = 1_700_000_000
AZURE_PREAMBLE: JSON = {
    "choices": [], "created": 0, "id": "", "model": "", "object": "",
    "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
}  # fmt: skip
ERRORS = {
    401: ("Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys.",
          "invalid_request_error", "invalid_api_key"),
    403: ("You are not allowed to sample from this model.", "invalid_request_error", "permission_denied"),
    404: ("The model `{model}` does not exist or you do not have access to it.",
          "invalid_request_error", "model_not_found"),
    408: ("The request timed out.", "timeout", "request_timeout"),
    409: ("The resource was changed by another request.", "conflict", "conflict"),
    429: ("Rate limit reached for {model} on requests per min. Please try again later.",
          "requests", "rate_limit_exceeded"),
    503: ("That model is currently overloaded with other requests.", "server_error", "service_unavailable"),
}  # fmt: skip
OTHER_ERROR = ("The server had an error while processing your request. Sorry about that!", "server_error", None)


class FakeOpenAI(FakeServer):
    """Chat Completions and Responses, streamed or whole. Queue Say, Call, Calls or Fault with `reply`; else a rule answers.

    `addresses` are what was asked for; `tells_usage`, `cached_tokens` and `reasoning_tokens` are what it says about usage.
    `manner` says whose dialect it has (see `dialects`), and `issued` the signatures and encrypted items that it gave out.
    """

    paths = (
        "/v1/chat/completions",
        "/v1/responses",
        "/openai/deployments/{deployment}/chat/completions",
        "/openai/responses",
    )

    def __init__(self, port: int = 0, *, first_byte_delay: float = 0.0, token_delay: float = 0.0) -> None:
        self.addresses: list[str] = []
        self.tells_usage = True
        self.cached_tokens = 0
        self.reasoning_tokens = 0
        self.manner: Manner = "openai"
        self.issued: set[str] = set()
        super().__init__(port, first_byte_delay=first_byte_delay, token_delay=token_delay)

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.manner]

    @property
    def azure_endpoint(self) -> str:
        return self.origin

    def accept(self, request: Request, body: JSON) -> None:
        self.addresses.append(str(request.url).removeprefix(self.origin))
        azure = _azure(request)
        if not _key(request):
            raise Refusal("You didn't provide an API key.", status=401)
        if azure and "api-version" not in request.query_params:
            raise Refusal("Resource not found: the api-version is missing.", status=404)
        if "deployment" not in request.path_params and not body.get("model"):
            raise Refusal("you must provide a model parameter")
        responses = _responses(request)
        if str(body.get("model")).startswith("gpt-5.6") and body.get("tools") and not responses:
            raise Refusal(f"Function tools with reasoning_effort are not supported for {body['model']}. Use /v1/responses.")
        chat = as_chat(body) if responses else body
        check_tools(chat.get("tools"))
        check_messages(chat.get("messages"))
        if responses:
            check_items(body["input"], self.issued)
        else:
            self.dialect.check_request(chat)
            if self.dialect.signs:
                check_signatures(chat["messages"], self.issued)

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        scripted = reply.reply if isinstance(reply, Fault) else reply
        chat = as_chat(body) if _responses(request) else body
        turn = turn_of(scripted or made_up_answer(chat))
        choices = not (isinstance(reply, Fault) and reply.kind == "empty_choices")
        usage = _usage(chat, turn, self.cached_tokens, self.reasoning_tokens) if self.tells_usage else None
        # Ids differ from request to request, as the real ones do, and are the same in every execution of a test.
        seed = hashlib.sha256(compact([number, chat["messages"]])).hexdigest()[:20]
        formed = self.dialect.call_id
        ids = [call.id or formed.format(seed=seed, index=index) for index, call in enumerate(turn.calls)]
        writer: Writer | ResponsesWriter
        if _responses(request):
            writer = ResponsesWriter(body, turn, number, ids, usage, output=choices)
            self.issued.add(f"enc_{number}")
        else:
            writer = Writer(body, turn, number, ids, usage, choices=choices, dialect=self.dialect)
            self.issued |= {_signature(each) for each in ids}
        if not body.get("stream"):
            return [Frame(compact(writer.document()), token=True)], "application/json"
        preamble = [_event(AZURE_PREAMBLE)] if "deployment" in request.path_params else []
        return [*preamble, *writer.stream()], "text/event-stream; charset=utf-8"

    def refuse(self, request: Request, refusal: Refusal | Fault) -> JSON:
        if isinstance(refusal, Refusal):
            return _error(refusal.text, "invalid_request_error", None, refusal.param)
        if refusal.body is not None:
            return refusal.body
        text, kind, code = ERRORS.get(refusal.status, OTHER_ERROR)
        text = refusal.message or text.format(key=_masked(_key(request)), model=self.requests[-1].get("model"))
        return _error(text, kind, refusal.code or code)


class Writer:
    """One answer in OpenAI's JSON, as its dialect writes it."""

    def __init__(
        self, body: JSON, turn: Turn, number: int, ids: list[str], usage: JSON | None, *, choices: bool, dialect: Dialect
    ) -> None:
        self._turn = turn
        self._dialect = dialect
        self._thought = turn.thought if dialect.thought else ()
        self._finish = dialect.finish.get(turn.finish, turn.finish)
        self._ids = ids
        self._usage = usage
        self._choices = choices
        self._usage_wanted = bool((body.get("stream_options") or {}).get("include_usage"))
        self._head = {"id": f"chatcmpl-{number}", "created": CREATED, "model": body.get("model") or "deployment"}

    def document(self) -> JSON:
        """The whole answer (stream: false)."""
        turn = self._turn
        message: JSON = {"role": "assistant", "content": "".join(turn.text) or None, "refusal": None, "annotations": []}
        if self._dialect.thought == "parts" and self._thought:
            message["content"] = [*self._parts("".join(self._thought)), {"type": "text", "text": "".join(turn.text)}]
        elif self._thought:
            message[self._dialect.thought] = "".join(self._thought)
        if turn.calls:
            message["tool_calls"] = [self._whole_call(index, call) for index, call in enumerate(turn.calls)]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish}
        choices = [choice] if self._choices else []
        document = self._head | {"object": "chat.completion", "choices": choices}
        return document if self._usage is None else document | {"usage": self._usage}

    def stream(self) -> Iterator[Frame]:
        """The chunks: role, thought, text, calls, finish, usage, [DONE]."""
        if self._choices:
            yield self._delta({"role": "assistant", "content": None if self._turn.calls else "", "refusal": None})
            for token in self._thought:
                yield self._think(token)
            for token in self._turn.text:
                yield self._delta({"content": token}, token=True)
            for index, call in enumerate(self._turn.calls):
                yield from self._call(index, call)
            yield self._delta({}, finish=self._finish)
        else:
            yield self._chunk([])
        if self._usage_wanted and self._usage is not None and self._dialect.usage == "asked":
            yield self._chunk([], usage=self._usage)
        yield Frame(b"data: [DONE]\n\n")

    def _think(self, token: str) -> Frame:
        if self._dialect.thought == "parts":
            return self._delta({"content": self._parts(token)}, token=True)
        return self._delta({"content": None, self._dialect.thought: token}, token=True)

    def _parts(self, thought: str) -> list[JSON]:
        return [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}]

    def _call(self, index: int, call: Call) -> Iterator[Frame]:
        """A call in one piece, or its id and name first and then the fragments."""
        counted: JSON = {"counted": {"index": index}, "zero": {"index": 0}, "missing": {}}[self._dialect.index]
        whole = self._whole_call(index, call)
        if self._dialect.sends_whole_calls:
            yield self._delta({"tool_calls": [counted | whole]}, token=True)
            return
        yield self._delta({"tool_calls": [counted | whole | {"function": {"name": call.name, "arguments": ""}}]})
        for fragment in fragments(call):
            yield self._delta({"tool_calls": [counted | {"function": {"arguments": fragment}}]}, token=True)

    def _whole_call(self, index: int, call: Call) -> JSON:
        """A call, the first of an answer with its signature where the server signs."""
        whole = {"id": self._ids[index], "type": "function", "function": {"name": call.name, "arguments": call.json}}
        is_signed = self._dialect.signs and index == 0
        signature = {"extra_content": {"google": {"thought_signature": _signature(self._ids[0])}}}
        return whole | signature if is_signed else whole

    def _delta(self, delta: JSON, *, finish: str | None = None, token: bool = False) -> Frame:
        tells = self._dialect.usage == "every" or (self._dialect.usage == "last" and finish)
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._chunk([choice], usage=self._usage if tells else None, token=token)

    def _chunk(self, choices: list[JSON], *, usage: JSON | None = None, token: bool = False) -> Frame:
        chunk = self._head | {"object": "chat.completion.chunk", "service_tier": "default", "choices": choices}
        # With include_usage every chunk has the field; only the last one has something in it.
        return _event(chunk | {"usage": usage} if self._usage_wanted or usage else chunk, token=token)


def _signature(call_id: str) -> str:
    return f"signature of {call_id}"


def _usage(chat: JSON, turn: Turn, cached: int, reasoning: int) -> JSON:
    prompt = len(compact(chat["messages"])) // 4
    answer = len(turn.text) + sum(len(fragments(call)) for call in turn.calls) + reasoning
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def _azure(request: Request) -> bool:
    return request.url.path.startswith("/openai/")


def _responses(request: Request) -> bool:
    return request.url.path.endswith("/responses")


def _event(document: JSON, *, token: bool = False) -> Frame:
    return Frame(b"data: " + compact(document) + b"\n\n", token)


def _error(message: str, kind: str, code: str | None, param: str | None = None) -> JSON:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _key(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return request.headers.get("api-key", "") if _azure(request) else ""


def _masked(key: str) -> str:
    """The way OpenAI shows a refused key: its beginning and its end are readable, which is why it must not be shown."""
    return f"{key[:8]}{'*' * 8}{key[-4:]}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.openai")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--first-byte-delay", type=float, default=0.3, help="seconds")
    parser.add_argument("--token-delay", type=float, default=0.03, help="seconds")
    chosen = parser.parse_args()
    with FakeOpenAI(chosen.port, first_byte_delay=chosen.first_byte_delay, token_delay=chosen.token_delay) as fake:
        sys.stdout.write(f"OPENAI_BASE_URL={fake.base_url}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
