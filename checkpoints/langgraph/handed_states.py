"""States handed over by LangGraph, and the saver's notes in configs that LangGraph hands back."""

from dataclasses import dataclass
from typing import Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, get_checkpoint_metadata

from ..rows.state_rows import StoredState
from ..rows.write_rows import StateKey
from ..values.graph_state import INPUT_CHANNEL
from ..values.model import Json
from ..values.thread_ids import require_text

# LangGraph's config key for a step that began with an answer.
_RESUMING = "__pregel_resuming"
# The config key for a run and its attempt, where several processes drive runs.
OF_ATTEMPT = "__waymark_attempt__"


def name_thread(config: RunnableConfig) -> str:
    """Return a config's conversation id. Raises `ValueError` if it is no text."""
    return require_text(str(config["configurable"]["thread_id"]))


class ReadThreadId(str):
    """A conversation id in the config of a state that was read. To programs it is a plain id.

    LangGraph hands the same object back with a run's writes, so it tells where the run began.
    """

    checkpoint_id: str
    # Nobody chose the state by its id.
    is_latest: bool
    # Equal to that of no other reading of the state, and so of no other run.
    reading: object

    @classmethod
    def note(cls, thread_id: str, checkpoint_id: str, *, is_latest: bool) -> Self:
        noted = cls(thread_id)
        noted.checkpoint_id, noted.is_latest, noted.reading = checkpoint_id, is_latest, object()
        return noted

    @classmethod
    def find_reading(cls, config: RunnableConfig) -> object:
        """Return the reading with which a run began, or None for the run that began the conversation."""
        noted = config["configurable"]["thread_id"]
        return noted.reading if isinstance(noted, cls) else None

    @classmethod
    def find_latest(cls, config: RunnableConfig) -> str | None:
        """Return the id of the state where a run began, if nobody chose it by its id."""
        noted = config["configurable"]["thread_id"]
        return noted.checkpoint_id if isinstance(noted, cls) and noted.is_latest else None


@dataclass(frozen=True, slots=True)
class StatePut:
    """A state handed over by LangGraph.

    `begun` tells where the run began. `is_resumed` means, for a subgraph, that the graph's own step had been
    interrupted. `attempt` is the id and attempt of a Waymark run.
    """

    key: StateKey
    parent_id: str | None
    checkpoint: Checkpoint
    metadata: Json
    new_versions: ChannelVersions
    begun: ReadThreadId | None
    is_resumed: bool
    attempt: tuple[str, int] | None = None

    @classmethod
    def parse(
        cls, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> "StatePut":
        at = config["configurable"]
        key = StateKey(name_thread(config), at.get("checkpoint_ns", ""), checkpoint["id"])
        merged = dict(get_checkpoint_metadata(config, metadata))
        is_resumed = bool(key.namespace and at.get(_RESUMING))
        begun = at["thread_id"] if isinstance(at["thread_id"], ReadThreadId) else None
        return cls(key, at.get("checkpoint_id"), checkpoint, merged, new_versions, begun, is_resumed, at.get(OF_ATTEMPT))

    @property
    def parent_key(self) -> StateKey:
        return StateKey(self.key.thread_id, self.key.namespace, self.parent_id or "")

    @property
    def reading(self) -> object:
        return self.begun.reading if self.begun else None

    @property
    def is_root(self) -> bool:
        return not self.key.namespace

    @property
    def is_first_input(self) -> bool:
        return self.parent_id is None and (self.metadata.get("source"), self.metadata.get("step")) == ("input", -1)

    def name_beginning(self, parent: StoredState | None) -> StateKey | None:
        """Return the key of the state where the run began, if nodes have written the step.

        The first step may contain a person's messages too: a `Command`'s, or the whole run's with durability "exit".
        """
        if parent is None or not self._is_step_after(parent) or self.takes_input(parent):
            return None
        return StateKey(self.key.thread_id, self.key.namespace, self.begun.checkpoint_id if self.begun else "")

    def takes_input(self, parent: StoredState | None) -> bool:
        """Return whether the step only put an input into the channels, and no node has run."""
        # Without that channel, nodes take the input.
        if parent is None or INPUT_CHANNEL not in parent.body["values"]:
            return False
        return parent.body["metadata"].get("source") == "input" and self._is_step_after(parent)

    def _is_step_after(self, parent: StoredState) -> bool:
        step = parent.body["metadata"].get("step", 0)
        return (self.metadata.get("source"), self.metadata.get("step")) == ("loop", step + 1)

    @property
    def is_first(self) -> bool:
        """Whether the state follows the state where the run began."""
        return self.begun is not None and self.begun.checkpoint_id == self.parent_id

    @property
    def goes_on(self) -> bool:
        """Whether the conversation must be at the parent state. A state chosen by its id begins a fork."""
        is_chosen = self.begun is not None and not self.begun.is_latest
        if self.parent_id is None or (is_chosen and self.is_first):
            return False
        return self.metadata.get("source") == "loop" or (self.begun is not None and not is_chosen)

    def choose_run_id(self, parent: StoredState | None) -> str:
        """Return the run's id, or the id of its first state if the metadata has no run id."""
        if isinstance(run_id := self.metadata.get("run_id"), str):
            return run_id
        is_begun = self.metadata.get("source") == "loop" and not self.is_first
        return parent.run_id if is_begun and parent is not None and parent.run_id else self.key.checkpoint_id
