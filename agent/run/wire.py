"""The wire between the processes of one Waymark: events of runs, and small commands.

The database rows are the truth. A poll finds lost events there.
"""

from collections.abc import Callable
from typing import Protocol

from agent.events import Event
from agent.run.hub import RunHub

# The arguments are a command's name, the thread and the run. It runs in the event loop and must neither wait nor raise.
CommandCallback = Callable[[str, str, str], None]


class Wire(Protocol):
    def publish(self, thread_id: str, event: Event) -> None:
        """Deliver an event of a run of this process to the hubs of all processes, to this hub at once."""

    def send(self, command: str, thread_id: str, run_id: str) -> None:
        """Send a command ("stop", "run_waiting", …) to the other processes. It may come back here, or get lost."""

    def on_command(self, callback: CommandCallback) -> None:
        """Call `callback` for every later command."""


class ProcessWire(Wire, Protocol):
    """A wire to other processes."""

    # Called with the seconds from an event until it arrives here.
    delay_observers: list[Callable[[float], None]]
    # Since the start.
    reconnect_count: int

    def start(self) -> None: ...

    async def close(self) -> None: ...


class LocalWire:
    """The wire of a single process: its hub."""

    def __init__(self, hub: RunHub) -> None:
        self.publish = hub.publish

    def send(self, command: str, thread_id: str, run_id: str) -> None:
        """Do nothing, since there is no other process."""

    def on_command(self, callback: CommandCallback) -> None:
        """Do nothing, since no command arrives."""
