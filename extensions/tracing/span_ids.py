"""The ids of traces and spans. They are derived from runs and steps, so nothing has to be stored to find them."""

from hashlib import sha256
from threading import local

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator


def derive_trace_id(seed: str) -> str:
    """Return the id of a run's trace, derived from the seed.

    Langfuse's own clients derive it in the same way.
    """
    return sha256(seed.encode()).digest()[:16].hex()


def derive_span_id(run_id: str, step_id: str) -> int:
    """Return the id of a step's span, or of the run's span for an empty step.

    Steps below it can name the derived id before it has ended.
    """
    return int.from_bytes(sha256(f"{run_id}:{step_id}".encode()).digest()[:8]) or 1


class SeededIds(RandomIdGenerator):
    """Generates ids, and gives the thread's next span the chosen ids."""

    def __init__(self) -> None:
        self._chosen = local()

    def choose(self, *, trace: str = "", span: int = 0) -> None:
        self._chosen.trace, self._chosen.span = int(trace or "0", 16), span

    def generate_trace_id(self) -> int:
        return getattr(self._chosen, "trace", 0) or super().generate_trace_id()

    def generate_span_id(self) -> int:
        chosen, self._chosen.span = getattr(self._chosen, "span", 0), 0
        return chosen or super().generate_span_id()
