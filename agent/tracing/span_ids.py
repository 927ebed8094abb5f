"""The ids of traces and spans: derived from runs and steps, so that nothing has to be stored to find them."""

from hashlib import sha256

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator


def derive_trace_id(seed: str) -> str:
    """Return the id of a run's trace; it is derived, so nothing has to be stored to find the trace.

    Langfuse's own clients derive it in the same way.
    """
    return sha256(seed.encode()).digest()[:16].hex()


def derive_span_id(run_id: str, step_id: str) -> int:
    """Return the id of a step's span; it is derived, so the steps below it can name it before it has ended."""
    return int.from_bytes(sha256(f"{run_id}:{step_id}".encode()).digest()[:8]) or 1


class SeededIds(RandomIdGenerator):
    """A generator of ids that gives the next trace a chosen id, and the next span as well where one is chosen."""

    next_trace = ""
    next_span = 0

    def generate_trace_id(self) -> int:
        return int(self.next_trace, 16)

    def generate_span_id(self) -> int:
        chosen, self.next_span = self.next_span, 0
        return chosen or super().generate_span_id()
