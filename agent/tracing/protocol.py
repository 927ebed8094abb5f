"""The protocol of a tracer. Its methods return at once and never fail. This module knows no tracing service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from agent.tracing.events import Prompt, TracedCall, TraceEvent

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler


class Tracer(Protocol):
    """A receiver of trace events. Every method returns at once, even if the service hangs; `close` returns within a
    second.
    """

    @property
    def is_on(self) -> bool: ...

    def record(self, event: TraceEvent) -> None: ...

    def follow_call(self, call: TracedCall) -> Sequence[BaseCallbackHandler]:
        """Return LangChain's handlers for a new call."""
        ...

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        """Return the operator's text if it is already known, else the built-in text."""
        ...

    def link_run(self, run_id: str) -> str:
        """Return the address of the run's trace for people, or an empty text while it is unknown."""
        ...

    def close(self) -> None: ...


class NoTracing:
    """Drops every event. Other tracers inherit from it."""

    is_on = False

    def record(self, event: TraceEvent) -> None:
        pass

    def follow_call(self, call: TracedCall) -> Sequence[BaseCallbackHandler]:
        return ()

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        return Prompt(name, builtin)

    def link_run(self, run_id: str) -> str:
        return ""

    def close(self) -> None:
        pass


NO_TRACING: Tracer = NoTracing()
