"""The branches of a conversation: fork at a message or a checkpoint, switch, rename, delete, delete all others."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dash import html
from dash.development.base_component import Component
from dash_bootstrap_components import Input as Field
from dash_bootstrap_components import Label, RadioItems

from agent.settings import is_of_program
from checkpoints import Branch, Message, Store
from checkpoints.values.text import shorten
from components import dialog, page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.widgets import HISTORY_ID, TRANSCRIPT_ID
from words import N_, _, arrange, ngettext

# The dialog shows this much of the message's text.
MAX_QUOTE_CHARS = 200
PROGRAM_TEXT = N_("In a new conversation the built-in agent answers. It begins without the values of the graph.")


class Ids(StrEnum):
    LENGTH = "fork-included"
    DESTINATION = "fork-where"
    NAME = "fork-dialog-name"


@dataclass(frozen=True)
class ForkPoint:
    """The point of a fork: a message of the conversation. The branch includes it or ends right before it."""

    message: Message
    # It is the message itself, or the last result of its tool calls: a call is never kept without its results.
    last_message: Message
    # This checkpoint names the fork point.
    checkpoint_name: str | None = None

    @property
    def text(self) -> str:
        return "" if self.message.damaged else str(self.message.langchain.text).strip()

    @property
    def is_question(self) -> bool:
        return self.message.type == "human" and not self.message.is_by_graph

    def branch_end(self, included: bool) -> str | None:
        """Return the id of the branch's last message, or None for an empty branch."""
        return self.last_message.id if included else self.message.parent_id


def _build_fork_options() -> list[Component]:
    places = [
        {"label": _("A branch of this conversation"), "value": "branch"},
        {"label": _("A new conversation"), "value": "thread"},
    ]
    return [
        _radio_group(_("Include"), RadioItems(id=Ids.LENGTH, name="length")),
        _radio_group(_("Create as"), RadioItems(places, id=Ids.DESTINATION, name="destination")),
        Label([_("Name"), " ", html.Span(_("optional"), className="quiet")], html_for=Ids.NAME),
        Field(id=Ids.NAME, name="name", maxlength=120, autocomplete="off", autoFocus=True),
    ]


def _radio_group(legend: str, items: Component) -> Component:
    return html.Fieldset([html.Legend(legend), items], className="choice")


def build_fork_question(fork_point: ForkPoint, *, running: bool, is_program: bool = False) -> list[Component]:
    """Describe the fork point. `is_program`: a program outside the page runs the graph there."""
    number = fork_point.message.depth + 1
    begin = (
        _(
            "From checkpoint “{checkpoint_name}”, at message {number}:",
            checkpoint_name=fork_point.checkpoint_name,
            number=number,
        )
        if fork_point.checkpoint_name
        else _("From message {number}:", number=number)
    )
    stops = [html.P(_("The running answer will be stopped first."))] if running else []
    leaves = [html.P(_(PROGRAM_TEXT), className="quiet")] if is_program else []
    return [html.P(begin), html.Blockquote(shorten(fork_point.text, MAX_QUOTE_CHARS) or _("(no text)")), *stops, *leaves]


def build_length_options(fork_point: ForkPoint) -> list[dict[str, str]]:
    """Build the options with and without the message, each with the branch's number of messages."""
    before = (
        ngettext(
            "Without this message ({count:,} message)", "Without this message ({count:,} messages)", fork_point.message.depth
        )
        if fork_point.message.depth
        else _("Without this message (empty)")
    )
    return [
        {
            "label": ngettext(
                "With this message ({count:,} message)",
                "With this message ({count:,} messages)",
                fork_point.last_message.depth + 1,
            ),
            "value": "with",
        },
        {"label": f"{before}{_(', to rephrase it') if fork_point.is_question else ''}", "value": "before"},
    ]


def build_branch_deletion(branch: Branch, missing_messages: int) -> list[Component]:
    """Describe the loss. `missing_messages` counts the branch's messages outside of the current branch."""
    loss = (
        ngettext(
            "{count:,} of its messages is not on the current branch.",
            "{count:,} of its messages are not on the current branch.",
            missing_messages,
        )
        if missing_messages
        else _("All of its messages are on the current branch.")
    )
    return [
        html.P(arrange(_("“{name}” will be removed from the list of branches."), name=html.Strong(branch.name))),
        html.P(loss, className="loss"),
        html.P(_("You can undo this."), className="quiet"),
    ]


def build_prune_question(other_branches: int) -> list[Component]:
    return [
        html.P(
            ngettext(
                "{count:,} other branch will be deleted; the current one stays.",
                "{count:,} other branches will be deleted; the current one stays.",
                other_branches,
            ),
            className="loss",
        ),
        html.P(_("You can undo this."), className="quiet"),
    ]


async def _switch_branch(services: Services, action: Action) -> Answer:
    await services.apply_change(services.store.switch, action.thread_id, action.fields["branch"], caller=action.caller)
    return Answer(page_state.build_update())


async def _rename_branch(services: Services, action: Action) -> Answer:
    branch_id, name = action.fields["branch"], action.fields["name"]
    await services.apply_change(services.store.rename_branch, action.thread_id, branch_id, name, caller=action.caller)
    return Answer(page_state.build_update())


async def _keep_removed_messages(services: Services, action: Action) -> Answer:
    await services.apply_change(services.store.keep_removed_messages, action.thread_id, caller=action.caller)
    return Answer(page_state.build_update())


async def _open_fork_dialog(services: Services, action: Action) -> Answer:
    thread_id = action.thread_id
    fork_point, running, is_program = await services.read_snapshot(_read_fork, services, thread_id, action.fields)
    is_rephrased = fork_point.is_question and fork_point.checkpoint_name is None
    set_properties(Ids.LENGTH, {"options": build_length_options(fork_point), "value": "before" if is_rephrased else "with"})
    set_properties(Ids.DESTINATION, {"value": "thread" if is_program else "branch"})
    set_properties(Ids.NAME, {"value": action.fields.get("name", "")})
    question = build_fork_question(fork_point, running=running, is_program=is_program)
    FORK.open(thread_id, action.fields, question)
    return Answer()


async def _open_deletion_dialog(services: Services, action: Action) -> Answer:
    branches, shared = await services.read_snapshot(_read_branches, services.store, action.thread_id)
    if (found := branches.get(action.fields["branch"])) is None:
        # The branch was deleted in another tab.
        return Answer(page_state.build_update())
    branch, length = found
    question = build_branch_deletion(branch, length - shared[branch.id])
    DELETION.open(action.thread_id, action.fields, question)
    return Answer()


async def _open_prune_dialog(services: Services, action: Action) -> Answer:
    branches, _ = await services.read_snapshot(_read_branches, services.store, action.thread_id)
    question = build_prune_question(len(branches) - 1)
    PRUNING.open(action.thread_id, action.fields, question)
    return Answer()


async def _confirm_fork(services: Services, action: Action) -> Answer:
    """Fork, after stopping a running answer as for a restore. An omitted question returns to the composer."""
    store, fields, thread_id, name = services.store, action.fields, action.fields["thread"], action.fields.get("name", "")
    is_whole, is_new_thread = fields["length"] == "with", fields["destination"] == "thread"
    await services.runner.stop(thread_id)
    fork_point = await services.read_snapshot(_find_fork_point, store, thread_id, fields)
    # A fork removes nothing, so it conflicts with no other change.
    end, caller = fork_point.branch_end(is_whole), action.unversioned_caller
    at_checkpoint = fields.get("checkpoint") if is_whole else None
    if is_new_thread:
        thread = await services.read_snapshot(store.get_thread, thread_id)
        kept: dict[str, Any] = {"title": name, "with_states": not is_of_program(thread), "checkpoint_id": at_checkpoint}
        made = await services.run_blocking(store.fork_thread, thread_id, end, **kept, caller=caller)
        services.trace_change(made)
    else:
        made = await services.apply_change(store.fork, thread_id, end, name=name, checkpoint_id=at_checkpoint, caller=caller)
    question = "" if is_whole or not fork_point.is_question else fork_point.text
    fill = page_state.fill_composer(made.operation.thread_id, made.version, question, keeps_draft=True)
    go = {"go": page_state.thread_address(made.operation.thread_id)} if is_new_thread else {}
    return Answer(page_state.build_update(fill=fill, **go))


async def _confirm_deletion(services: Services, action: Action) -> Answer:
    thread_id, branch_id = action.fields["thread"], action.fields["branch"]
    await services.apply_change(services.store.delete_branch, thread_id, branch_id, caller=action.caller)
    return Answer(page_state.build_update())


async def _confirm_prune(services: Services, action: Action) -> Answer:
    await services.apply_change(services.store.prune_branches, action.fields["thread"], caller=action.caller)
    return Answer(page_state.build_update())


ACTIONS: Mapping[str, Handlers] = {
    TRANSCRIPT_ID: {"fork": _open_fork_dialog, "switch": _switch_branch, "keep-removed": _keep_removed_messages},
    HISTORY_ID: {
        "keep-removed": _keep_removed_messages,
        "fork": _open_fork_dialog,
        "switch": _switch_branch,
        "rename-branch": _rename_branch,
        "delete-branch": _open_deletion_dialog,
        "prune": _open_prune_dialog,
    },
}


def _read_branches(store: Store, thread_id: str) -> tuple[dict[str, tuple[Branch, int]], dict[str, int]]:
    return {branch.id: (branch, length) for branch, length in store.list_branches(thread_id)}, store.count_shared_messages(
        thread_id
    )


def _read_fork(services: Services, thread_id: str, fields: Mapping[str, Any]) -> tuple[ForkPoint, bool, bool]:
    """Return the fork point, whether an answer is running, and whether a program runs the graph."""
    fork_point, running = _find_fork_point(services.store, thread_id, fields), services.runs.list_running_threads()
    return fork_point, thread_id in running, is_of_program(services.store.get_thread(thread_id))


def _find_fork_point(store: Store, thread_id: str, fields: Mapping[str, Any]) -> ForkPoint:
    if "checkpoint" not in fields:
        message = store.get_message(thread_id, fields["message"])
        return ForkPoint(message, last_message=store.find_last_result(thread_id, message))
    checkpoint = store.get_checkpoint(thread_id, fields["checkpoint"])
    assert checkpoint.node is not None
    message = store.get_message(thread_id, checkpoint.node.id)
    return ForkPoint(message, last_message=message, checkpoint_name=checkpoint.name)


FORK = dialog.Confirmation(
    *("fork-dialog", N_("Branch from here"), N_("Branch"), _confirm_fork, _build_fork_options), color="primary", focuses=None
)
DELETION = dialog.Confirmation("delete-branch", N_("Delete this branch?"), N_("Delete"), _confirm_deletion)
PRUNING = dialog.Confirmation("delete-branches", N_("Delete all other branches?"), N_("Delete all others"), _confirm_prune)
PANEL = Panel(confirmations=[FORK, DELETION, PRUNING], actions=ACTIONS)
