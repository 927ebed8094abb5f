"""The running programs, the browser and the model that all measures of the page share."""

from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Browser

from benchmarks.model_server import ModelServer
from benchmarks.peers.programs import Running
from benchmarks.peers.table import Table

SETTLING_MS = 1_000  # after opening a page and after an answer, before something is measured


@dataclass(frozen=True)
class Bench:
    browser: Browser
    model: ModelServer
    running: list[Running]
    table: Table
    runs: int

    @property
    def waymark(self) -> Running:
        return self.running[0]

    def alternate(self, running: list[Running]) -> Iterator[tuple[int, Running]]:
        """Go through the programs in turn, so that other work on the machine affects all alike."""
        for run in range(self.runs):
            for each in running:
                yield run, each
