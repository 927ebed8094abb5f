"""The protocol of a tracer. Its methods return at once and never fail; this file knows no tracing service."""

from typing import Protocol

from agent.tracing.events import Prompt, TraceEvent


class Tracer(Protocol):
    """Where it is told. Every method returns at once, whatever the tracing service does; `close` within a second."""

    @property
    def is_on(self) -> bool: ...

    def record(self, event: TraceEvent) -> None: ...

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        """The operator's text for it, as far as it is known by now, else the built-in one."""
        ...

    def link_run(self, run_id: str) -> str:
        """The address of the run's trace, for people; empty while it is not known."""
        ...

    def close(self) -> None: ...


class NoTracing:
    """Tells nobody."""

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
