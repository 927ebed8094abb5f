"""Langfuse at the wire: takes spans (OTLP, protobuf) and scores, gives prompts and the project's name.

By hand: `python -m tests.fakes.langfuse --port 9000`, then LANGFUSE_HOST=http://127.0.0.1:9000 and any two keys; it prints
each trace as a tree.
"""

import argparse
import base64
import gzip
import json
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from starlette.requests import Request

from tests.fakes.faults import Fault, Frame, Reply
from tests.fakes.server import JSON, FakeServer, Refusal
from tests.fakes.wire import Performance

__all__ = ["FakeLangfuse", "Fault", "Span"]

TRACES = "/api/public/otel/v1/traces"
PROMPTS = "/api/public/v2/prompts/"
PROJECTS = "/api/public/projects"
SCORES = "/api/public/scores"
ERRORS = {401: "UnauthorizedError", 404: "LangfuseNotFoundError"}


@dataclass
class Span:
    """One observation. `attributes` are those of OpenTelemetry, without the prefix "langfuse."; times in nanoseconds."""

    name: str
    id: str
    parent: str
    trace: str
    began: int
    ended: int
    attributes: dict[str, str | int | list[Any]]
    children: list["Span"] = field(default_factory=list)
    is_failed: bool = False

    def __getitem__(self, key: str) -> str | int | list[Any] | None:
        """An attribute of the observation, of its trace, or one without either."""
        names = (f"observation.{key}", f"trace.{key}", key)
        value = next((self.attributes[name] for name in names if name in self.attributes), None)
        is_encoded = key.startswith("metadata.") and isinstance(value, str) and value.startswith('"')  # by the client
        return str(json.loads(str(value))) if is_encoded else value

    def tree(self, indent: int = 0) -> str:
        lines = [f"{'  ' * indent}{self['type']} {self.name}", *(child.tree(indent + 1) for child in self.children)]
        return "\n".join(lines)


class FakeLangfuse(FakeServer):
    """`trouble`, a Fault, spoils every answer until it is taken away; `prompts` are (text, version) by name and label."""

    paths = (TRACES, PROMPTS + "{name:path}", PROJECTS, SCORES, SCORES + "/{score}")
    methods = ("GET", "POST", "DELETE")

    def __init__(self, port: int = 0) -> None:
        self.received: list[bytes] = []  # everything but the headers: request line and unpacked body
        self.spans: list[Span] = []
        self.scores: dict[str, JSON] = {}
        self.prompts: dict[tuple[str, str], tuple[str, int]] = {}
        self.trouble: Fault | None = None
        super().__init__(port)

    def traces(self, session: str | None = None) -> list[Span]:
        """The traces whose root has come, each as its tree, in the order in which they began."""
        spans = {span.id: Span(**{**vars(span), "children": []}) for span in list(self.spans)}
        for span in sorted(spans.values(), key=lambda each: each.began):
            if span.parent in spans:
                spans[span.parent].children.append(span)
        is_root = {span.id: not span.parent or bool(span["internal.as_root"]) for span in spans.values()}
        roots = [span for span in spans.values() if is_root[span.id] and session in (None, span["session.id"])]
        return sorted(roots, key=lambda each: each.began)

    def read(self, request: Request, raw: bytes) -> JSON:
        if request.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        noted = {"trouble": self.trouble}  # first: a test may wait for the request, and then take the trouble away
        self.received.append(f"{request.method} {request.url}\n".encode() + raw)
        if request.url.path == TRACES:
            return {"spans": read_spans(raw), **noted}
        return {"scores": json.loads(raw), **noted} if request.method == "POST" else noted

    def accept(self, request: Request, body: JSON) -> None:
        scheme, _, pair = request.headers.get("authorization", "").partition(" ")
        public, _, secret = base64.b64decode(pair).decode().partition(":") if scheme == "Basic" else ("", "", "")
        if not (public and secret):
            raise Refusal("No authorization header", status=401)
        if body["trouble"] is not None:
            self.script(body["trouble"])
            return
        self.spans += body.get("spans", [])
        for score in body.get("scores", []):
            if score["dataType"] == "BOOLEAN" and score["value"] not in (0, 1):
                raise Refusal("Boolean score values must equal either 1 or 0")
            self.scores[score["id"]] = score
        if request.method == "DELETE":
            self.scores.pop(request.path_params["score"], None)

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        if request.url.path == TRACES:
            return [
                Frame(ExportTraceServiceResponse(partial_success={}).SerializeToString(), token=True)
            ], "application/x-protobuf"
        return [Frame(json.dumps(self._document_for(request)).encode(), token=True)], "application/json"

    def refuse(self, request: Request, refusal: Refusal | Fault) -> JSON:
        text = refusal.text if isinstance(refusal, Refusal) else refusal.message
        return {"message": text or "Something went wrong", "error": ERRORS.get(refusal.status, "InternalServerError")}

    def _perform(self, request: Request, body: JSON, number: int) -> Performance:
        asked = request.url.path.startswith(PROMPTS) and self.trouble is None
        if asked and self._prompt(request) is None:  # no violation: not to have a prompt is usual
            return self._document(404, {"message": "Prompt not found", "error": ERRORS[404]})
        return super()._perform(request, body, number)

    def _prompt(self, request: Request) -> tuple[str, int] | None:
        return self.prompts.get((request.path_params["name"], request.query_params.get("label", "production")))

    def _document_for(self, request: Request) -> JSON:
        if request.url.path.startswith(PROMPTS):
            text, version = self._prompt(request) or ("", 0)
            label = request.query_params.get("label", "production")
            prompt = {"type": "text", "name": request.path_params["name"], "prompt": text, "version": version}
            return {**prompt, "config": {}, "labels": [label], "tags": []}
        if request.url.path == PROJECTS:
            project = {"id": "project-1", "name": "Waymark", "metadata": {}}
            return {"data": [{**project, "organization": {"id": "organization-1", "name": "Us"}}]}
        return {"message": "Accepted" if request.method == "POST" else "Score deleted"}


def read_spans(raw: bytes) -> list[Span]:
    request = ExportTraceServiceRequest()
    request.ParseFromString(raw)
    return [
        Span(
            name=span.name,
            id=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            trace=span.trace_id.hex(),
            began=span.start_time_unix_nano,
            ended=span.end_time_unix_nano,
            attributes={each.key.removeprefix("langfuse."): _value(each.value) for each in span.attributes},
            is_failed=span.status.code == 2,
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _value(value: Any) -> str | int | list[Any]:
    kind = value.WhichOneof("value")
    found: str | int | float = getattr(value, kind)
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.langfuse")
    parser.add_argument("--port", type=int, default=0)
    with FakeLangfuse(parser.parse_args().port) as fake:
        sys.stdout.write(f"LANGFUSE_HOST={fake.origin}\n")
        shown: set[str] = set()
        while True:
            for trace in fake.traces():
                if trace.trace not in shown:
                    shown.add(trace.trace)
                    sys.stdout.write(f"{trace.tree()}\n")
            sys.stdout.flush()
            threading.Event().wait(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
