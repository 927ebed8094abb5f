"""The ways to ask for a summary: the command in the composer, and the action at a message."""

import re
from collections.abc import Mapping
from typing import Any

from agent.run.compaction import MAX_FOCUS_CHARS, NotCompactedError, SummaryScope

_COMMAND = re.compile(r"\s*/compact(?:\s+(.*))?", re.DOTALL)


def parse_compact_command(text: str, *, attached: bool) -> SummaryScope | None:
    """Parse `/compact` and its focus; return None for any other text. Raises `NotCompactedError`."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    if attached:
        raise NotCompactedError("Files cannot come along with /compact. Take them out, or send them first.")
    focus = (found[1] or "").strip()
    if len(focus) > MAX_FOCUS_CHARS:
        raise NotCompactedError(f"What to keep is longer than {MAX_FOCUS_CHARS:,} characters.")
    return SummaryScope(focus=focus)


def read_summary_scope(fields: Mapping[str, Any]) -> SummaryScope:
    """Return the scope of a summary that begins or ends at a message."""
    return SummaryScope("from" if fields.get("side") == "from" else "up_to", str(fields["message"]))
