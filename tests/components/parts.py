"""The parts of an app around the demo model, with a store in memory."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from agent.demo.model import DemoChatModel
from agent.graph.graph import build_graph
from agent.graph.state import Limits
from agent.run.blocking import BlockingPool
from agent.run.building import build_runner
from agent.run.hub import RunHub
from agent.run.parts import RunParts
from agent.tools.calculator import calculator
from checkpoints import Database, Runs, Store
from components.services import Services
from tests.agent.running import Only


@asynccontextmanager
async def open_services(seconds_per_token: float = 0.0) -> AsyncIterator[Services]:
    pool = ThreadPoolExecutor(2)
    store, hub = Store(Database.in_memory()), RunHub()
    runs, graph = Runs(store), build_graph([calculator])
    models = Only(DemoChatModel(seconds_per_token=seconds_per_token))
    runner = build_runner(
        RunParts(store=store, runs=runs, hub=hub, graph=graph, catalog=models, blocking=BlockingPool(pool), limits=Limits())
    )
    try:
        yield (parts := Services(store, runs, runner, hub, pool, models))
    finally:
        parts.renderer.close()
        await runner.close()
        pool.shutdown()
        store.database.close()
