"""Tavily's search at the wire: set TAVILY_BASE_URL to `base_url`."""

import argparse
import sys
import threading
from dataclasses import dataclass

from starlette.requests import Request

from tests.fakes.faults import Fault, Frame, Reply
from tests.fakes.server import JSON, FakeServer, Refusal, compact

__all__ = ["FakeTavily", "Fault", "Found", "Result"]

ERRORS = {
    401: "Unauthorized: missing or invalid API key.",
    429: "Your request has been blocked due to excessive requests.",
}


@dataclass(frozen=True)
class Result:
    """One hit; `score` is between 0 and 1."""

    title: str
    url: str
    content: str
    score: float = 0.9


@dataclass(frozen=True)
class Found(Reply):
    """A search that went well."""

    results: tuple[Result, ...] = ()
    answer: str | None = None


class FakeTavily(FakeServer):
    """POST /search. Queue Found or Fault with `reply`; else it finds two results that quote the query."""

    paths = ("/search",)

    @property
    def base_url(self) -> str:
        return self.origin

    def accept(self, request: Request, body: JSON) -> None:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not bearer and not body.get("api_key"):
            raise Refusal(ERRORS[401], status=401)
        if not isinstance(body.get("query"), str) or not body["query"].strip():
            raise Refusal("Query is missing.")

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        scripted = reply.reply if isinstance(reply, Fault) else reply
        found = scripted or _made_up(body["query"])
        if not isinstance(found, Found):
            raise ValueError(f"a search cannot answer with {found!r}")
        results = [vars(result) | {"raw_content": None} for result in found.results]
        document = {"query": body["query"], "answer": found.answer, "images": [], "results": results}
        return [Frame(compact(document | {"response_time": 0.1, "request_id": str(number)}))], "application/json"

    def refuse(self, request: Request, refusal: Refusal | Fault) -> JSON:
        if isinstance(refusal, Refusal):
            return {"detail": {"error": refusal.text}}
        return {"detail": {"error": refusal.message or ERRORS.get(refusal.status, "Internal Server Error")}}


def _made_up(query: str) -> Found:
    first = Result(f"All about {query}", "https://example.com/one", f"The first page says this about {query}.", 0.97)
    second = Result(f"{query}, explained", "https://example.org/two", f"The second page explains {query}.", 0.81)
    return Found((first, second), f"In short: {query}.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.tavily")
    parser.add_argument("--port", type=int, default=0)
    with FakeTavily(parser.parse_args().port) as fake:
        sys.stdout.write(f"TAVILY_BASE_URL={fake.base_url}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
