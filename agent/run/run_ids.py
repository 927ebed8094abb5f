"""The ids of the run for which the current code works. Structured logs have them in each record."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from checkpoints import Run

_ids: ContextVar[Mapping[str, str]] = ContextVar("run_ids", default=MappingProxyType({}))


def read_run_ids() -> Mapping[str, str]:
    """Return the ids of the thread and the run, empty outside runs."""
    return _ids.get()


@contextmanager
def working_for(run: Run) -> Iterator[None]:
    """Assign the block's code, and the tasks that it starts, to a run."""
    token = _ids.set({"thread": run.thread_id, "run": run.id})
    try:
        yield
    finally:
        _ids.reset(token)
