"""The branches of a conversation: branch off at a message or a checkpoint, switch, rename, delete, delete all others."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update, set_props
from dash.development.base_component import Component
from dash_bootstrap_components import Input as Field
from dash_bootstrap_components import Label, RadioItems

from checkpoints import Branch, By, Message, StateError, Store, counted
from components import dialog, head
from components.services import Services, asked_by
from components.widgets import TIMELINE, TRANSCRIPT

_QUOTED = 200  # characters of the message that the dialog shows


class Ids(StrEnum):
    WISH = "branch-wish"  # the last action of a list that is about branches
    FORK = "fork-dialog"
    INCLUDED = "fork-included"
    WHERE = "fork-where"
    NAME = "fork-dialog-name"
    DELETE = "delete-branch"
    PRUNE = "delete-branches"


@dataclass(frozen=True)
class Place:
    """Where a branch may begin: at a message of the conversation, or right before it."""

    message: Message
    last: Message  # the message itself, or the last result of the tools that it called: a call is never left without them
    checkpoint: str | None = None  # the name of the checkpoint that led here

    @property
    def text(self) -> str:
        return "" if self.message.damaged else str(self.message.langchain.text).strip()

    @property
    def is_question(self) -> bool:
        return self.message.type == "human"

    def end(self, included: bool) -> str | None:
        """The message that the branch ends with; None: it is empty."""
        return self.last.id if included else self.message.parent_id


def dialogs() -> list[Component]:
    places = [
        {"label": "A branch of this conversation", "value": "branch"},
        {"label": "A new conversation", "value": "thread"},
    ]
    options = (
        _choice("What it holds", RadioItems(id=Ids.INCLUDED)),
        _choice("Where", RadioItems(places, id=Ids.WHERE)),
        Label(["Name ", html.Span("optional", className="quiet")], html_for=Ids.NAME),
        Field(id=Ids.NAME, maxlength=120, autocomplete="off"),
    )
    return [
        dcc.Store(id=Ids.WISH),
        dialog.confirmation(Ids.FORK, "Branch from here", "Branch", *options, color="primary"),
        dialog.confirmation(Ids.DELETE, "Delete this branch?", "Delete"),
        dialog.confirmation(Ids.PRUNE, "Delete all other branches?", "Delete all others"),
    ]


def _choice(legend: str, items: Component) -> Component:
    return html.Fieldset([html.Legend(legend), items], className="choice")


def fork_question(place: Place, *, running: bool) -> list[Component]:
    """Where the branch begins, in words."""
    number = place.message.depth + 1
    begin = f"From checkpoint “{place.checkpoint}”, at message {number}:" if place.checkpoint else f"From message {number}:"
    text = place.text if len(place.text) <= _QUOTED else f"{place.text[:_QUOTED]}…"
    stops = [html.P("The answer that is being written is stopped first.")] if running else []
    return [html.P(begin), html.Blockquote(text or "(without text)"), *stops]


def lengths(place: Place) -> list[dict[str, str]]:
    """The two ways to begin there, each with how many messages the branch then holds."""
    before = (
        f"Up to before it ({counted(place.message.depth, 'message')})" if place.message.depth else "Up to before it (empty)"
    )
    return [
        {"label": f"With this message ({counted(place.last.depth + 1, 'message')})", "value": "with"},
        {"label": f"{before}{', to ask it differently' if place.is_question else ''}", "value": "before"},
    ]


def delete_question(branch: Branch, apart: int) -> list[Component]:
    """`apart`: how many of its messages the current branch does not hold."""
    loss = f"{counted(apart, 'message')} of it {'is' if apart == 1 else 'are'}" if apart else "Nothing of it is"
    return [
        html.P(["“", html.Strong(branch.name), "” leaves the list of branches."]),
        html.P(f"{loss} missing from the current branch.", className="loss"),
        html.P("You can undo this.", className="quiet"),
    ]


def prune_question(others: int) -> list[Component]:
    leaves = "leaves" if others == 1 else "leave"
    return [
        html.P(
            f"{counted(others, 'other branch', 'other branches')} {leaves} the list; the current one stays.",
            className="loss",
        ),
        html.P("You can undo this.", className="quiet"),
    ]


def register(app: Dash, services: Services) -> None:
    dialog.register(app, Ids.FORK, first="name")
    dialog.register(app, Ids.DELETE)
    dialog.register(app, Ids.PRUNE)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "wish"),
        Output(Ids.WISH, "data"),
        Input(TRANSCRIPT, "action"),
        Input(TIMELINE, "action"),
        prevent_initial_call=True,
    )
    _register_wishes(app, services)
    _register_fork(app, services)
    _register_delete(app, services)


def _register_wishes(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(head.output(), Input(Ids.WISH, "data"), State(head.Ids.URL, "pathname"), prevent_initial_call=True)
    async def act(wish: dict[str, Any], pathname: str) -> Any:
        """Switching and renaming are done at once; all else asks first."""
        thread_id = head.thread_at(pathname)
        if thread_id is None:
            return no_update
        try:
            match wish["type"]:
                case "fork":
                    return await _ask_to_fork(services, thread_id, wish)
                case "delete-branch" | "prune":
                    return await _ask_to_delete(services, thread_id, wish)
                case "switch":
                    await services.change(store.switch, thread_id, wish["branch"], by=asked_by(wish))
                case "rename-branch":
                    await services.change(store.rename_branch, thread_id, wish["branch"], wish["name"], by=asked_by(wish))
        except StateError as error:
            return head.problem(str(error))
        return head.moved()


async def _ask_to_fork(services: Services, thread_id: str, wish: dict[str, Any]) -> Any:
    place = await services.read(_place, services.store, thread_id, wish)
    running = thread_id in await services.read(services.runs.running)
    is_asked_again = place.is_question and place.checkpoint is None
    set_props(f"{Ids.FORK}-body", {"children": fork_question(place, running=running)})
    set_props(Ids.INCLUDED, {"options": lengths(place), "value": "before" if is_asked_again else "with"})
    set_props(Ids.WHERE, {"value": "branch"})
    set_props(Ids.NAME, {"value": ""})
    set_props(Ids.FORK, {"is_open": True})
    return no_update


async def _ask_to_delete(services: Services, thread_id: str, wish: dict[str, Any]) -> Any:
    branches, shared = await services.read(_branches, services.store, thread_id)
    if wish["type"] == "prune":
        identifier, question = Ids.PRUNE, prune_question(len(branches) - 1)
    elif (found := branches.get(wish["branch"])) is not None:
        identifier, question = Ids.DELETE, delete_question(found[0], found[1] - shared[found[0].id])
    else:  # it was deleted in another tab
        return head.moved()
    set_props(f"{identifier}-body", {"children": question})
    set_props(identifier, {"is_open": True})
    return no_update


def _branches(store: Store, thread_id: str) -> tuple[dict[str, tuple[Branch, int]], dict[str, int]]:
    return {branch.id: (branch, length) for branch, length in store.branches(thread_id)}, store.shared(thread_id)


def _place(store: Store, thread_id: str, wish: dict[str, Any]) -> Place:
    """The place that a wish to branch off names."""
    if "checkpoint" not in wish:
        message = store.message(thread_id, wish["message"])
        return Place(message, last=_with_results(store, thread_id, message))
    checkpoint = store.checkpoint(thread_id, wish["checkpoint"])
    assert checkpoint.node is not None
    message = store.message(thread_id, checkpoint.node.id)
    return Place(message, last=message, checkpoint=checkpoint.name)


def _with_results(store: Store, thread_id: str, message: Message) -> Message:
    data = message.body["data"]
    calls = len([*(data.get("tool_calls") or []), *(data.get("invalid_tool_calls") or [])])
    last = message
    for following in store.messages(thread_id, last=calls, before=message.depth + 1 + calls) if calls else []:
        if following.type == "tool" and following.parent_id == last.id:
            last = following
    return last


def _register_fork(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(
        head.output(),
        Output(Ids.FORK, "is_open", allow_duplicate=True),
        Input(f"{Ids.FORK}-confirm", "n_clicks"),
        Input(Ids.NAME, "n_submit"),
        State(Ids.WISH, "data"),
        State(Ids.INCLUDED, "value"),
        State(Ids.WHERE, "value"),
        State(Ids.NAME, "value"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def fork(
        _: int, __: int, wish: dict[str, Any], included: str, where: str, name: str | None, pathname: str
    ) -> tuple[head.Head, bool]:
        """A running answer is stopped first, as for a restore. A question that is left out comes back to the composer."""
        thread_id = head.thread_at(pathname)
        if thread_id is None:  # the browser went back while the dialog stood open
            return head.moved(), False
        try:
            await services.runner.stop(thread_id)
            place = await services.read(_place, store, thread_id, wish)
            end, by = place.end(included == "with"), By(request=asked_by(wish).request)  # nothing leaves: no conflict
            if where == "thread":
                made = await services.work(store.fork_thread, thread_id, end, title=name or "", by=by)
                services.trace(made)
            else:
                made = await services.change(store.fork, thread_id, end, name=name or "", by=by)
        except StateError as error:
            return head.problem(str(error)), False
        question = place.text if place.is_question and included == "before" else ""
        fill = {"key": f"{made.operation.thread_id}:{made.version}", "text": question}
        go = {"go": head.address(made.operation.thread_id)} if where == "thread" else {}
        return head.moved(fill=fill, **go), False


def _register_delete(app: Dash, services: Services) -> None:
    store = services.store

    for identifier in (Ids.DELETE, Ids.PRUNE):

        @app.callback(
            head.output(),
            Output(identifier, "is_open", allow_duplicate=True),
            Input(f"{identifier}-confirm", "n_clicks"),
            State(Ids.WISH, "data"),
            State(head.Ids.URL, "pathname"),
            prevent_initial_call=True,
        )
        async def delete(_: int, wish: dict[str, Any], pathname: str) -> tuple[head.Head, bool]:
            thread_id = head.thread_at(pathname)
            if thread_id is None:  # the browser went back while the dialog stood open
                return head.moved(), False
            try:
                if wish["type"] == "prune":
                    await services.change(store.prune_branches, thread_id, by=asked_by(wish))
                else:
                    await services.change(store.delete_branch, thread_id, wish["branch"], by=asked_by(wish))
            except StateError as error:
                return head.problem(str(error)), False
            return head.moved(), False
