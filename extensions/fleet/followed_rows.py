"""Reads other processes' runs for their followers, each for the owner who follows."""

from dataclasses import dataclass

from agent.events import Event, RunStarted
from agent.run.blocking import BlockingPool
from agent.run.hub import StoredEvent, SubscriberLagged
from agent.run.live_runs import LiveCandidate, LiveRun
from checkpoints import NotFoundError, Runs, RunState, Store


@dataclass(frozen=True, slots=True)
class FollowedRows:
    store: Store
    runs: Runs
    blocking: BlockingPool

    async def read_running(self, thread_id: str) -> LiveRun | None:
        """Return the draft of the thread's run in progress, or None."""
        return await self.blocking.run(self._read_running, thread_id)

    async def load_event(self, thread_id: str, event: StoredEvent) -> Event:
        """Complete an event with its message. Raises `SubscriberLagged` if the message is gone."""
        try:
            return event.complete(await self.blocking.run(self.store.get_message, thread_id, event.message_id))
        except NotFoundError:
            raise SubscriberLagged from None

    def _read_running(self, thread_id: str) -> LiveRun | None:
        with self.store.database.begin_read():
            try:
                run = self.runs.get_latest_run(thread_id)
            except NotFoundError:
                return None
            if run is None or run.state is not RunState.RUNNING:
                return None
            found = self.runs.list_candidates(run.id) if run.candidates else []
        started = RunStarted(run.id, 0, None)
        candidates = [
            LiveCandidate(each.number, each.model, each.draft.text, each.draft.reasoning, started.find_end(each))
            for each in found
        ]
        return LiveRun(run.id, run.draft.text, run.draft.reasoning, candidates=candidates)
