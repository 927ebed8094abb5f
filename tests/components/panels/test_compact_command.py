"""`/compact` is a command, any other text is a message."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agent.context.measurement import TokenChange
from agent.preparation.compaction import MAX_FOCUS_CHARS, NotCompactedError, SummaryPreview, SummaryScope
from checkpoints import Caller
from components.actions import Action
from components.panels import compact_command
from components.properties import collect_properties


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


def test_the_dialog_tells_the_tokens_before_and_after() -> None:
    shown = str(compact_command.describe_preview(SummaryPreview(4, TokenChange(12_300, 1_400))))
    assert "One summary will replace 4 messages." in shown
    assert "About 12,300 tokens now, 1,400 afterwards." in shown


@pytest.mark.parametrize(("after", "color"), [(300, "primary"), (527, "secondary")])
def test_a_summary_that_gains_nothing_does_not_invite(after: int, color: str) -> None:
    async def preview(*_: Any) -> SummaryPreview:
        return SummaryPreview(4, TokenChange(527, after))

    runner = SimpleNamespace(inputs=SimpleNamespace(preview_summary=None))
    services: Any = SimpleNamespace(read_snapshot=preview, runner=runner)
    action = Action("send", {}, Caller(request_id="press"), "thread")
    with collect_properties() as properties:
        asyncio.run(compact_command.open_summary_dialog(services, action, SummaryScope()))
    assert properties["summarise-dialog-confirm"]["color"] == color
    assert ("Nothing to gain yet." in str(properties["summarise-dialog-body"])) is (color == "secondary")
