"""What callbacks are given: the store and the runner, behind calls that do not block the server."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from agent.context.prices import Prices
from agent.events import HeadMoved
from agent.models.catalog import DEMO_SPEC
from agent.run.hub import RunHub
from agent.run.runner import Runner
from agent.settings import ModelCatalog
from agent.tracing.protocol import NO_TRACING, TRACED_OPERATIONS, Tracer
from checkpoints import Caller, Receipt, Runs, Store
from components.rendering import Renderer

DEMO_LINE = "Demo model: it makes things up."
SWITCH_LINE = "OPENAI_API_KEY=… in .env switches to a real one."
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Services:
    """The parts that `create_app` joined. Two apps share none of them."""

    store: Store
    runs: Runs
    runner: Runner
    hub: RunHub
    pool: ThreadPoolExecutor
    models: ModelCatalog
    tracer: Tracer = NO_TRACING
    prices: Prices = field(default_factory=dict)
    renderer: Renderer = field(default_factory=Renderer)  # starts nothing before a text is dear

    def describe_demo(self, name: str) -> str | None:
        """The line that says of a model that it is the demo; where it is everybody's, also how to change that."""
        if name != DEMO_SPEC:
            return None
        return f"{DEMO_LINE} {SWITCH_LINE}" if self.models.default_spec == DEMO_SPEC else DEMO_LINE

    async def run_blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work on the pool."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(function, *args, **kwargs))

    async def read_snapshot(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that only reads, on the pool. All that it reads is of one moment, so no panel shows half of a change."""

        def run_in_snapshot() -> T:
            with self.store.database.begin_read():
                return function(*args, **kwargs)

        return await self.run_blocking(run_in_snapshot)

    async def apply_change(
        self, change: Callable[Concatenate[str, P], Receipt], thread_id: str, *args: P.args, **kwargs: P.kwargs
    ) -> Receipt:
        """Carry out one of the store's changes and tell every page that shows the thread."""
        receipt = await self.run_blocking(change, thread_id, *args, **kwargs)
        self.hub.publish(thread_id, HeadMoved(receipt.version))
        self.trace_change(receipt)
        return receipt

    def trace_change(self, receipt: Receipt) -> None:
        """Tell the tracer of a change to the course of the conversation."""
        if receipt.operation.kind in TRACED_OPERATIONS and not receipt.repeated:
            self.tracer.record(receipt.operation)


def read_caller(action: dict[str, object]) -> Caller:
    """Who asks, from an action of the page: its operation id, and the version that the user saw."""
    version = action.get("version")
    return Caller(request_id=str(action["op"]), expected_version=version if isinstance(version, int) else None)
