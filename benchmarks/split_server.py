"""Waymark as two processes on a PostgreSQL: one serves the page, the other one writes the answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no types

from benchmarks.databases import Place, places
from tests.servers import Server, Worker


@dataclass(frozen=True)
class SplitServer:
    """Both processes and their database."""

    page: Server
    worker: Worker
    place: Place

    @property
    def link(self) -> str:
        return self.page.link

    @property
    def address(self) -> str:
        return self.page.origin

    def processor_seconds(self) -> float:
        """Return the seconds of both processes with their children, and of PostgreSQL."""
        roots = [psutil.Process(each.pid) for each in (self.page, self.worker)]
        tree = [each for root in roots for each in (root, *root.children(recursive=True))]
        return self.place.processor_seconds() + float(sum(sum(each.cpu_times()[:2]) for each in tree))


@contextmanager
def split_server(folder: Path, **settings: str) -> Iterator[SplitServer]:
    folder.mkdir(parents=True)
    with places(folder) as fresh:
        place = fresh("PostgreSQL")
        place.open().close()  # its tables
        url = place.address.replace("postgresql://", "postgresql+psycopg://", 1)
        how = {"DATABASE_URL": url, "AUTH": "none", **settings}
        with Server(folder / "page", "serve", "--web", **how) as page, Worker(folder / "worker", **how) as worker:
            yield SplitServer(page, worker, place)
