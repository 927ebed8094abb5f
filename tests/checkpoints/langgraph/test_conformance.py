"""LangGraph's own conformance suite for checkpointers, in full."""

import asyncio
from collections.abc import AsyncIterator

from langgraph.checkpoint.conformance import checkpointer_test, validate

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver

TESTS = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}


def test_the_saver_passes_langgraphs_conformance_suite(store: Store) -> None:
    @checkpointer_test(name="WaymarkSaver")
    async def make_saver() -> AsyncIterator[WaymarkSaver]:
        yield WaymarkSaver(store)

    report = asyncio.run(validate(make_saver))
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    assert {name: result.tests_passed for name, result in report.results.items()} == TESTS
