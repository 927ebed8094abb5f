"""The spec of the model that wrote an answer, in the answer's `response_metadata`: the only code that knows its key."""

from collections.abc import Mapping

_SPEC_KEY = "spec"


def make_spec_entry(spec: str) -> dict[str, str]:
    """Make the entry of an answer's metadata."""
    return {_SPEC_KEY: spec}


def read_spec(metadata: object) -> str:
    """Return the spec that the metadata of an answer names; empty without one. A file may hold any value there."""
    spec = metadata.get(_SPEC_KEY) if isinstance(metadata, Mapping) else None
    return spec if isinstance(spec, str) else ""
