"""A collector of OpenTelemetry at the wire: takes spans (OTLP over HTTP, protobuf, packed)."""

import gzip

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.requests import Request

from tests.fakes.faults import Fault, Frame, Reply
from tests.fakes.langfuse import Span, read_spans
from tests.fakes.server import JSON, FakeServer, Refusal


class FakeCollector(FakeServer):
    """Keeps the spans that it is sent, the headers of each request, and every byte of its body."""

    paths = ("/v1/traces",)
    methods = ("POST",)

    def __init__(self, port: int = 0) -> None:
        self.spans: list[Span] = []
        self.headers: list[dict[str, str]] = []
        self.received = b""
        super().__init__(port)

    def read(self, request: Request, raw: bytes) -> JSON:
        if request.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        self.headers.append(dict(request.headers))
        self.received += raw
        return {"spans": read_spans(raw)}

    def accept(self, request: Request, body: JSON) -> None:
        if request.headers.get("content-type") != "application/x-protobuf":
            raise Refusal("the body is no protobuf", status=415)
        self.spans += body["spans"]

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        return [Frame(ExportTraceServiceResponse().SerializeToString(), token=True)], "application/x-protobuf"

    def refuse(self, request: Request, refusal: Refusal | Fault) -> JSON:
        return {"message": "refused"}
