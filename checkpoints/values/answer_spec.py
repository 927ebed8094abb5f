"""The model spec in an answer's `response_metadata`. Only this module knows the key."""

from collections.abc import Mapping

_SPEC_KEY = "spec"


def make_spec_entry(spec: str) -> dict[str, str]:
    return {_SPEC_KEY: spec}


def read_spec(metadata: object) -> str:
    """Return the spec in an answer's metadata, or an empty text. Imported metadata may hold any value."""
    spec = metadata.get(_SPEC_KEY) if isinstance(metadata, Mapping) else None
    return spec if isinstance(spec, str) else ""
