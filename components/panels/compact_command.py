"""The two ways to ask for a summary, a command in the composer and an action at a message. Both confirm the effect first."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from dash import html
from dash.development.base_component import Component

from agent.preparation.compaction import MAX_FOCUS_CHARS, NotCompactedError, SummaryPreview, SummaryScope
from checkpoints.values.sentence import sentence
from components import dialog, page_state
from components.actions import Action, Answer
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.shapes import check_shape
from components.views import context_meter
from words import N_, _, ngettext

_COMMAND = re.compile(r"\s*/compact(?:\s+(.*))?", re.DOTALL)


def describe_preview(preview: SummaryPreview) -> list[Component]:
    """Describe the effect of a summary: the number of replaced messages, and the tokens before and after."""
    return [
        html.P(
            ngettext(
                "One summary will replace {count:,} message.",
                "One summary will replace {count:,} messages.",
                preview.message_count,
            )
        ),
        html.P(context_meter.describe_change(preview.tokens), className="loss"),
        html.P(_("The model writes the summary. You can undo it."), className="quiet"),
    ]


async def open_summary_dialog(services: Services, action: Action, scope: SummaryScope) -> None:
    """Ask the user to confirm a summary, and show its effect. Raises `NotCompactedError` if it would gain nothing."""
    thread_id, caller = action.page_thread_id, action.caller
    preview = await services.read_snapshot(services.runner.inputs.preview_summary, thread_id, scope)
    gains = preview.tokens.after < preview.tokens.before
    # Where there is nothing to gain, nothing invites.
    set_properties(f"{SUMMARY.identifier}-confirm", {"color": "primary" if gains else "secondary", "outline": not gains})
    fields = {"request_id": caller.request_id, "version": caller.expected_version, **asdict(scope)}
    SUMMARY.open(str(thread_id), fields, describe_preview(preview))


async def _confirm_summary(services: Services, action: Action) -> Answer:
    scope = _rebuild_scope(action.fields)
    await services.runner.compact(action.fields["thread"], scope, caller=action.caller)
    return Answer(page_state.build_update())


def parse_compact_command(text: str, *, attached: bool) -> SummaryScope | None:
    """Parse `/compact` and its focus. Return None for any other text. Raises `NotCompactedError`."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    if attached:
        raise NotCompactedError(sentence("Files cannot come along with /compact. Take them out, or send them first."))
    focus = (found[1] or "").strip()
    if len(focus) > MAX_FOCUS_CHARS:
        raise NotCompactedError(
            sentence("The text of what to keep is longer than {limit:,} characters.", limit=MAX_FOCUS_CHARS)
        )
    return SummaryScope(focus=focus)


def read_summary_scope(fields: Mapping[str, Any]) -> SummaryScope:
    """Return the scope of a summary: the whole conversation, or the part from or up to a message."""
    if fields.get("side") == "all":
        return SummaryScope()
    return SummaryScope("from" if fields.get("side") == "from" else "up_to", str(fields["message"]))


def _rebuild_scope(fields: Mapping[str, Any]) -> SummaryScope:
    """Return the scope kept by the dialog. Raises `MalformedRequestError`."""
    side = check_shape(Literal["all", "from", "up_to"], fields["side"], "side")
    return SummaryScope(side, fields["message_id"], fields["focus"])


SUMMARY = dialog.Confirmation(
    *("summarise-dialog", N_("Summarise messages?"), N_("Summarise"), _confirm_summary), color="primary", focuses="confirm"
)
PANEL = Panel(confirmations=[SUMMARY])
