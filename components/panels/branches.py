"""The branches of a conversation: branch off at a message or a checkpoint, switch, rename, delete, delete all others."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update, set_props
from dash.development.base_component import Component
from dash_bootstrap_components import Input as Field
from dash_bootstrap_components import Label, RadioItems

from checkpoints import Branch, Caller, Message, StateError, Store, pluralize
from checkpoints.text import shorten
from components import dialog, page_state
from components.services import Services, read_caller
from components.widgets import TIMELINE_ID, TRANSCRIPT_ID

MAX_QUOTE_CHARS = 200  # characters of the message that the dialog shows


class Ids(StrEnum):
    ACTION = "branch-wish"  # the last action of a list that is about branches
    FORK_DIALOG = "fork-dialog"
    LENGTH = "fork-included"
    DESTINATION = "fork-where"
    NAME = "fork-dialog-name"
    DELETE_DIALOG = "delete-branch"
    PRUNE_DIALOG = "delete-branches"


@dataclass(frozen=True)
class ForkPoint:
    """Where a branch may begin: at a message of the conversation, or right before it."""

    message: Message
    last_message: (
        Message  # the message itself, or the last result of the tools that it called: a call is never left without them
    )
    checkpoint_name: str | None = None  # the name of the checkpoint that led here

    @property
    def text(self) -> str:
        return "" if self.message.damaged else str(self.message.langchain.text).strip()

    @property
    def is_question(self) -> bool:
        return self.message.type == "human"

    def branch_end(self, included: bool) -> str | None:
        """The message that the branch ends with; None: it is empty."""
        return self.last_message.id if included else self.message.parent_id


def dialogs() -> list[Component]:
    places = [
        {"label": "A branch of this conversation", "value": "branch"},
        {"label": "A new conversation", "value": "thread"},
    ]
    options = (
        _radio_group("What it holds", RadioItems(id=Ids.LENGTH)),
        _radio_group("Where", RadioItems(places, id=Ids.DESTINATION)),
        Label(["Name ", html.Span("optional", className="quiet")], html_for=Ids.NAME),
        Field(id=Ids.NAME, maxlength=120, autocomplete="off"),
    )
    return [
        dcc.Store(id=Ids.ACTION),
        dialog.build_confirmation(Ids.FORK_DIALOG, "Branch from here", "Branch", *options, color="primary"),
        dialog.build_confirmation(Ids.DELETE_DIALOG, "Delete this branch?", "Delete"),
        dialog.build_confirmation(Ids.PRUNE_DIALOG, "Delete all other branches?", "Delete all others"),
    ]


def _radio_group(legend: str, items: Component) -> Component:
    return html.Fieldset([html.Legend(legend), items], className="choice")


def build_fork_question(fork_point: ForkPoint, *, running: bool) -> list[Component]:
    """Where the branch begins, in words."""
    number = fork_point.message.depth + 1
    begin = (
        f"From checkpoint “{fork_point.checkpoint_name}”, at message {number}:"
        if fork_point.checkpoint_name
        else f"From message {number}:"
    )
    stops = [html.P("The answer that is being written is stopped first.")] if running else []
    return [html.P(begin), html.Blockquote(shorten(fork_point.text, MAX_QUOTE_CHARS) or "(without text)"), *stops]


def build_length_options(fork_point: ForkPoint) -> list[dict[str, str]]:
    """The two ways to begin there, each with how many messages the branch then holds."""
    before = (
        f"Up to before it ({pluralize(fork_point.message.depth, 'message')})"
        if fork_point.message.depth
        else "Up to before it (empty)"
    )
    return [
        {"label": f"With this message ({pluralize(fork_point.last_message.depth + 1, 'message')})", "value": "with"},
        {"label": f"{before}{', to ask it differently' if fork_point.is_question else ''}", "value": "before"},
    ]


def build_branch_deletion(branch: Branch, missing_messages: int) -> list[Component]:
    """`apart`: how many of its messages the current branch does not hold."""
    loss = (
        f"{pluralize(missing_messages, 'message')} of it {'is' if missing_messages == 1 else 'are'}"
        if missing_messages
        else "Nothing of it is"
    )
    return [
        html.P(["“", html.Strong(branch.name), "” leaves the list of branches."]),
        html.P(f"{loss} missing from the current branch.", className="loss"),
        html.P("You can undo this.", className="quiet"),
    ]


def build_prune_question(other_branches: int) -> list[Component]:
    leaves = "leaves" if other_branches == 1 else "leave"
    return [
        html.P(
            f"{pluralize(other_branches, 'other branch', 'other branches')} {leaves} the list; the current one stays.",
            className="loss",
        ),
        html.P("You can undo this.", className="quiet"),
    ]


def register(app: Dash, services: Services) -> None:
    dialog.register_dialog(app, Ids.FORK_DIALOG, first="name")
    dialog.register_dialog(app, Ids.DELETE_DIALOG)
    dialog.register_dialog(app, Ids.PRUNE_DIALOG)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "wish"),
        Output(Ids.ACTION, "data"),
        Input(TRANSCRIPT_ID, "action"),
        Input(TIMELINE_ID, "action"),
        prevent_initial_call=True,
    )
    _register_branch_actions(app, services)
    _register_fork(app, services)
    _register_branch_deletion(app, services)


def _register_branch_actions(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(
        page_state.update_output(),
        Input(Ids.ACTION, "data"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def handle_action(action: dict[str, Any], pathname: str) -> Any:
        """Switching and renaming are done at once; all else asks first."""
        thread_id = page_state.parse_thread_id(pathname)
        if thread_id is None:
            return no_update
        try:
            match action["type"]:
                case "fork":
                    return await _open_fork_dialog(services, thread_id, action)
                case "delete-branch" | "prune":
                    return await _open_deletion_dialog(services, thread_id, action)
                case "switch":
                    await services.apply_change(store.switch, thread_id, action["branch"], caller=read_caller(action))
                case "rename-branch":
                    await services.apply_change(
                        store.rename_branch, thread_id, action["branch"], action["name"], caller=read_caller(action)
                    )
        except StateError as error:
            return page_state.report_problem(str(error))
        return page_state.build_update()


async def _open_fork_dialog(services: Services, thread_id: str, action: dict[str, Any]) -> Any:
    place = await services.read_snapshot(_find_fork_point, services.store, thread_id, action)
    running = thread_id in await services.read_snapshot(services.runs.list_running_threads)
    is_asked_again = place.is_question and place.checkpoint_name is None
    set_props(f"{Ids.FORK_DIALOG}-body", {"children": build_fork_question(place, running=running)})
    set_props(Ids.LENGTH, {"options": build_length_options(place), "value": "before" if is_asked_again else "with"})
    set_props(Ids.DESTINATION, {"value": "branch"})
    set_props(Ids.NAME, {"value": ""})
    set_props(Ids.FORK_DIALOG, {"is_open": True})
    return no_update


async def _open_deletion_dialog(services: Services, thread_id: str, action: dict[str, Any]) -> Any:
    branches, shared = await services.read_snapshot(_read_branches, services.store, thread_id)
    if action["type"] == "prune":
        identifier, question = Ids.PRUNE_DIALOG, build_prune_question(len(branches) - 1)
    elif (found := branches.get(action["branch"])) is not None:
        identifier, question = Ids.DELETE_DIALOG, build_branch_deletion(found[0], found[1] - shared[found[0].id])
    else:  # it was deleted in another tab
        return page_state.build_update()
    set_props(f"{identifier}-body", {"children": question})
    set_props(identifier, {"is_open": True})
    return no_update


def _read_branches(store: Store, thread_id: str) -> tuple[dict[str, tuple[Branch, int]], dict[str, int]]:
    return {branch.id: (branch, length) for branch, length in store.list_branches(thread_id)}, store.count_shared_messages(
        thread_id
    )


def _find_fork_point(store: Store, thread_id: str, action: dict[str, Any]) -> ForkPoint:
    """The place that a wish to branch off names."""
    if "checkpoint" not in action:
        message = store.get_message(thread_id, action["message"])
        return ForkPoint(message, last_message=_find_last_result(store, thread_id, message))
    checkpoint = store.get_checkpoint(thread_id, action["checkpoint"])
    assert checkpoint.node is not None
    message = store.get_message(thread_id, checkpoint.node.id)
    return ForkPoint(message, last_message=message, checkpoint_name=checkpoint.name)


def _find_last_result(store: Store, thread_id: str, message: Message) -> Message:
    data = message.body["data"]
    calls = len([*(data.get("tool_calls") or []), *(data.get("invalid_tool_calls") or [])])
    last = message
    for following in store.list_messages(thread_id, last=calls, before=message.depth + 1 + calls) if calls else []:
        if following.type == "tool" and following.parent_id == last.id:
            last = following
    return last


def _register_fork(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(
        page_state.update_output(),
        Output(Ids.FORK_DIALOG, "is_open", allow_duplicate=True),
        Input(f"{Ids.FORK_DIALOG}-confirm", "n_clicks"),
        Input(Ids.NAME, "n_submit"),
        State(Ids.ACTION, "data"),
        State(Ids.LENGTH, "value"),
        State(Ids.DESTINATION, "value"),
        State(Ids.NAME, "value"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def confirm_fork(
        _: int, __: int, action: dict[str, Any], length: str, destination: str, name: str | None, pathname: str
    ) -> tuple[page_state.PageUpdate, bool]:
        """A running answer is stopped first, as for a restore. A question that is left out comes back to the composer."""
        thread_id = page_state.parse_thread_id(pathname)
        if thread_id is None:  # the browser went back while the dialog stood open
            return page_state.build_update(), False
        try:
            await services.runner.stop(thread_id)
            place = await services.read_snapshot(_find_fork_point, store, thread_id, action)
            end, by = (
                place.branch_end(length == "with"),
                Caller(request_id=read_caller(action).request_id),
            )  # nothing leaves: no conflict
            if destination == "thread":
                made = await services.run_blocking(store.fork_thread, thread_id, end, title=name or "", caller=by)
                services.trace_change(made)
            else:
                made = await services.apply_change(store.fork, thread_id, end, name=name or "", caller=by)
        except StateError as error:
            return page_state.report_problem(str(error)), False
        question = place.text if place.is_question and length == "before" else ""
        fill = {"key": f"{made.operation.thread_id}:{made.version}", "text": question}
        go = {"go": page_state.thread_address(made.operation.thread_id)} if destination == "thread" else {}
        return page_state.build_update(fill=fill, **go), False


def _register_branch_deletion(app: Dash, services: Services) -> None:
    store = services.store

    for identifier in (Ids.DELETE_DIALOG, Ids.PRUNE_DIALOG):

        @app.callback(
            page_state.update_output(),
            Output(identifier, "is_open", allow_duplicate=True),
            Input(f"{identifier}-confirm", "n_clicks"),
            State(Ids.ACTION, "data"),
            State(page_state.Ids.URL, "pathname"),
            prevent_initial_call=True,
        )
        async def confirm_deletion(_: int, action: dict[str, Any], pathname: str) -> tuple[page_state.PageUpdate, bool]:
            thread_id = page_state.parse_thread_id(pathname)
            if thread_id is None:  # the browser went back while the dialog stood open
                return page_state.build_update(), False
            try:
                if action["type"] == "prune":
                    await services.apply_change(store.prune_branches, thread_id, caller=read_caller(action))
                else:
                    await services.apply_change(store.delete_branch, thread_id, action["branch"], caller=read_caller(action))
            except StateError as error:
                return page_state.report_problem(str(error)), False
            return page_state.build_update(), False
