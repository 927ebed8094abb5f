"""The protocol of a tracer. Its methods return at once and never fail; this file knows no tracing service."""

from dataclasses import dataclass
from typing import Protocol

from agent.tracing.events import Prompt, TraceEvent


class Tracer(Protocol):
    """A receiver of trace events. Every method returns at once, even if the service hangs; `close` within a second."""

    @property
    def is_on(self) -> bool: ...

    def record(self, event: TraceEvent) -> None: ...

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        """Return the operator's text if it is known by now, else the built-in text."""
        ...

    def link_run(self, run_id: str) -> str:
        """Return the address of the run's trace for people; empty while it is unknown."""
        ...

    def close(self) -> None: ...


class NoTracing:
    """A tracer that drops every event."""

    is_on = False

    def record(self, event: TraceEvent) -> None:
        pass

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        return Prompt(name, builtin)

    def link_run(self, run_id: str) -> str:
        return ""

    def close(self) -> None:
        pass


NO_TRACING: Tracer = NoTracing()


@dataclass(frozen=True, slots=True)
class TwoTracers:
    """Two services that receive the same events. Prompts and links are those of the first."""

    first: Tracer
    second: Tracer
    is_on = True

    def record(self, event: TraceEvent) -> None:
        self.first.record(event)
        self.second.record(event)

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        return self.first.find_prompt(name, builtin)

    def link_run(self, run_id: str) -> str:
        return self.first.link_run(run_id)

    def close(self) -> None:
        self.first.close()
        self.second.close()
