"""The interface for connecting a model from the page. `create_app` passes it where settings can be written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from checkpoints import StateError


class ConnectionRefusedError(StateError):
    """A connection that does not work or cannot be written. The text gives the reason and never shows a key."""


@dataclass(frozen=True, slots=True)
class ConnectionForm:
    """A provider's form, without any key: a field says only whether its key `is_set`."""

    id: str
    label: str
    fields: Sequence[Mapping[str, Any]]


class ModelConnector(Protocol):
    def list_forms(self) -> Sequence[ConnectionForm]:
        """Return the forms for the current settings."""
        ...

    async def connect(self, provider: str, values: Mapping[str, str]) -> str:
        """Try a model, keep its settings, and make it the default. Return its spec. Raises `ConnectionRefusedError`."""
        ...
