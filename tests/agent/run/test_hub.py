"""Whoever follows, from whatever moment on, gets the whole text."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import Event, HeadMoved, MessageAdded, RunFinished, RunStarted, TextDelta
from agent.run import hub as hub_module
from agent.run.hub import RunHub, SubscriberLagged, Subscription
from checkpoints import Database, RunState, Store
from tests.checkpoints.conversations import new

_store = Store(Database.in_memory())
_thread = _store.create_thread().id
_store.append(_thread, new("a"))
MESSAGE = _store.list_messages(_thread)[0]
_store.database.close()

START, ADDED, END = RunStarted("r", 1, None), MessageAdded(MESSAGE, 2), RunFinished("r", RunState.DONE, 3)
_deltas = st.lists(st.builds(TextDelta, st.text(max_size=5)), max_size=8)
runs = st.lists(_deltas, min_size=1, max_size=3).map(
    lambda answers: [START, *[event for answer in answers[:-1] for event in [*answer, ADDED]], *answers[-1]]
)


async def _rest(following: Subscription) -> list[Event]:
    """What has been published since and not taken yet."""
    following.put(HeadMoved(0))  # so that there is something to take
    return (await following.receive())[:-1]


def _open_text(text: str, events: list[Event]) -> str:
    """The uncommitted text after these events, as a page counts it."""
    for event in events:
        text = text + event.text if isinstance(event, TextDelta) else ""
    return text


@given(runs, st.integers(0, 40))
def test_a_follower_that_comes_at_any_moment_has_the_same_text_as_one_from_the_start(
    events: list[Event], moment: int
) -> None:
    async def story() -> None:
        hub = RunHub()
        at = min(moment, len(events))
        async with hub.subscribe("t") as first:
            for event in events[:at]:
                hub.publish("t", event)
            async with hub.subscribe("t") as second:
                for event in events[at:]:
                    hub.publish("t", event)
                before = second.live_run.text if second.live_run else ""
                whole = _open_text("", await _rest(first))
                assert _open_text(before, await _rest(second)) == whole
                live = hub.find_live_run("t")
                assert live is not None
                assert live.text == whole

    asyncio.run(story())


@given(runs)
def test_nothing_of_a_finished_run_is_kept(events: list[Event]) -> None:
    hub = RunHub()
    for event in [*events, END]:
        hub.publish("t", event)
    assert hub.find_live_run("t") is None
    assert (hub._pending, dict(hub._subscribers)) == ({}, {})


def test_threads_do_not_hear_one_another() -> None:
    async def story() -> None:
        hub = RunHub()
        async with hub.subscribe("mine") as mine, hub.subscribe("yours") as yours:
            hub.publish("yours", START)
            assert await _rest(mine) == []
            assert await _rest(yours) == [START]

    asyncio.run(story())


def test_a_follower_that_does_not_read_is_let_go_and_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "MAX_QUEUED_EVENTS", 10)

    async def story() -> None:
        hub = RunHub()
        hub.publish("t", START)
        async with hub.subscribe("t") as slow:
            for _ in range(11):
                hub.publish("t", TextDelta("x"))
            with pytest.raises(SubscriberLagged):
                await slow.receive()
        async with hub.subscribe("t") as again:
            assert again.live_run is not None
            assert again.live_run.text == "x" * 11

    asyncio.run(story())
