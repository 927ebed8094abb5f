"""The obvious way to store checkpoints, with the interface of `CheckpointManager`: a deep copy of each whole state."""

import json
import uuid
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import message_to_dict

State = dict[str, Any]


@dataclass(frozen=True)
class DeepCopy:
    id: str
    name: str
    timestamp: datetime
    state: State
    description: str

    def summary(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "timestamp": self.timestamp.isoformat(),
            "message_count": len(self.state["messages"]),
            "description": self.description,
        }


class DeepCopyManager:
    """A manager in memory; every save and every restore copies every message."""

    def __init__(self) -> None:
        self._checkpoints: dict[str, DeepCopy] = {}

    def twin(self) -> "DeepCopyManager":
        """Return another manager with the same checkpoints, so that a restore there keeps the later ones here."""
        other = DeepCopyManager()
        other._checkpoints = dict(self._checkpoints)
        return other

    def save_checkpoint(self, state: State, name: str | None = None, description: str = "") -> DeepCopy:
        name = name or f"Checkpoint {len(self._checkpoints) + 1}"
        made = DeepCopy(uuid.uuid4().hex, name, datetime.now(UTC), deepcopy(state), description)
        self._checkpoints[made.id] = made
        return made

    def restore_checkpoint(self, checkpoint_id: str) -> State:
        found = self._checkpoints[checkpoint_id]
        ids = list(self._checkpoints)
        for later in ids[ids.index(checkpoint_id) + 1 :]:
            del self._checkpoints[later]
        return deepcopy(found.state)

    def list_checkpoints(self) -> list[dict[str, Any]]:
        return [made.summary() for made in self._checkpoints.values()]

    def delete_checkpoint(self, checkpoint_id: str) -> bool:
        return self._checkpoints.pop(checkpoint_id, None) is not None

    def export_checkpoints(self) -> str:
        """Export each checkpoint with its whole state: such a manager does not know the shared parts."""
        return json.dumps([{**made.summary(), "state": _plain(made.state)} for made in self._checkpoints.values()])


def _plain(state: State) -> dict[str, Any]:
    return {**state, "messages": [message_to_dict(message) for message in state["messages"]]}
