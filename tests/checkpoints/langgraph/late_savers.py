"""A saver on which the threads of writes begin too late, as they may on a busy machine."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from checkpoints.langgraph import WaymarkSaver

_PATIENCE = 20
_ENDS_WITHOUT_STATE = {"__interrupt__", "__error__"}


class LateSaver(WaymarkSaver):
    """Lets the writes of a step begin only once the state after it is written, or its task has asked a person.

    `held` counts the writes that have waited.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._ended: defaultdict[tuple[Any, ...], threading.Event] = defaultdict(threading.Event)
        self.held = 0

    def put(self, config: Any, *args: Any) -> Any:
        try:
            return super().put(config, *args)
        finally:
            self._ended[_name_step(config)].set()

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], *args: Any) -> None:
        # `update_state` hands its writes over in the program's own thread.
        if threading.current_thread() is not threading.main_thread():
            self._hold(config, writes)
        super().put_writes(config, writes, *args)

    async def aput_writes(self, config: Any, writes: Sequence[tuple[str, Any]], *args: Any) -> None:
        await asyncio.to_thread(self._hold, config, writes)
        await super().aput_writes(config, writes, *args)

    def _hold(self, config: Any, writes: Sequence[tuple[str, Any]]) -> None:
        ended = self._ended[_name_step(config)]
        channels = {channel for channel, _ in writes}
        if channels & _ENDS_WITHOUT_STATE or (channels == {"__resume__"} and self._is_resting(config)):
            ended.set()
        self.held += not ended.is_set()
        assert ended.wait(_PATIENCE)
        # Somebody else reads the state meanwhile, as a run does that begins there.
        self.get_tuple(config)

    def _is_resting(self, config: Any) -> bool:
        """Return whether no task takes an answer, so that no state follows."""
        found = self.get_tuple(config)
        return found is not None and not any(name.startswith("branch:to:") for name in found.checkpoint["channel_values"])


def _name_step(config: Any) -> tuple[Any, ...]:
    """Return the names of a step's run and of the state before it. A run hands over one object of its thread's id."""
    at = config["configurable"]
    return id(at["thread_id"]), at["thread_id"], at.get("checkpoint_ns", ""), at.get("checkpoint_id")
