"""`/compact` is a command, any other text is a message."""

import pytest

from agent.run.compaction import MAX_FOCUS_CHARS, NotCompactedError, SummaryScope
from components.panels import compact_command


@pytest.mark.parametrize(
    ("text", "focus"),
    [("/compact", ""), (" /compact \n", ""), ("/compact the names\nand dates", "the names\nand dates")],
)
def test_the_command_may_say_what_to_keep(text: str, focus: str) -> None:
    assert compact_command.parse_compact_command(text, attached=False) == SummaryScope(focus=focus)


@pytest.mark.parametrize("text", ["//compact", "/compactor", "/comp", "please /compact", "/other", "compact", ""])
def test_all_else_is_a_message(text: str) -> None:
    assert compact_command.parse_compact_command(text, attached=True) is None


def test_a_command_takes_no_files_and_no_endless_wish() -> None:
    with pytest.raises(NotCompactedError, match="Files"):
        compact_command.parse_compact_command("/compact", attached=True)
    with pytest.raises(NotCompactedError, match="longer than"):
        compact_command.parse_compact_command(f"/compact {'x' * (MAX_FOCUS_CHARS + 1)}", attached=False)
