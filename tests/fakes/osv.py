"""OSV, the list of known faults of packages, at the wire: give `origin` to uv as its service."""

from starlette.requests import Request

from tests.fakes.faults import Frame, Reply
from tests.fakes.server import JSON, FakeServer, compact

_MOMENT = "2026-01-01T00:00:00Z"


class FakeOsv(FakeServer):
    """Knows one fault of a package in the versions before `fixed`."""

    paths = ("/v1/querybatch", "/v1/vulns/{fault}")
    methods = ("GET", "POST")

    def __init__(self, package: str, fault: str, *, fixed: str) -> None:
        self._package, self._fault, self._fixed = package, fault, fixed
        super().__init__()

    def read(self, request: Request, raw: bytes) -> JSON:
        return super().read(request, raw) if raw else {}

    def accept(self, request: Request, body: JSON) -> None:
        """Accept every request."""

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        answer = {"results": [self._find(each) for each in body["queries"]]} if body else self._describe()
        return [Frame(compact(answer))], "application/json"

    def _find(self, query: JSON) -> JSON:
        is_faulty = query["package"]["name"] == self._package and query["version"] < self._fixed
        return {"vulns": [{"id": self._fault, "modified": _MOMENT}]} if is_faulty else {}

    def _describe(self) -> JSON:
        events = [{"introduced": "0"}, {"fixed": self._fixed}]
        package = {"ecosystem": "PyPI", "name": self._package}
        affected = [{"package": package, "ranges": [{"type": "ECOSYSTEM", "events": events}]}]
        return {"id": self._fault, "modified": _MOMENT, "summary": "It stops at midnight", "affected": affected}
