"""The wire between the processes of one Waymark: events of runs, and small commands.

Rows are truth: a poll finds events there that arrived nowhere.
"""

from collections.abc import Callable
from typing import Protocol

from agent.events import Event
from agent.run.hub import RunHub

# A command's name, the thread and the run. Called in the event loop; must neither wait nor raise.
CommandCallback = Callable[[str, str, str], None]


class Wire(Protocol):
    def publish(self, thread_id: str, event: Event) -> None:
        """Bring an event of a run that this process drives to the hub of every process, this one's at once."""

    def send(self, command: str, thread_id: str, run_id: str) -> None:
        """Send a command ("stop", "run_waiting", …) to the other processes; it may come back to this one, or get lost."""

    def on_command(self, callback: CommandCallback) -> None:
        """Call `callback` for every command that arrives from now on."""


class LocalWire:
    """The wire of a process that is alone: its hub."""

    def __init__(self, hub: RunHub) -> None:
        self.publish = hub.publish

    def send(self, command: str, thread_id: str, run_id: str) -> None:
        """Do nothing: there is no other process."""

    def on_command(self, callback: CommandCallback) -> None:
        """Do nothing: no command arrives."""
