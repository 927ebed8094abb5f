"""The dialogs of the panels. Cancel, Escape and the browser's Back close them.

A `Confirmation` is a form with one action. A `ReadDialog` is opened in the browser at once, and a callback fills it.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from dash_bootstrap_components import Label, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle
from pydantic import Field
from typing_extensions import TypedDict

from checkpoints import StateError
from checkpoints.values.limits import MAX_LABEL_CHARS
from components import page_state
from components.actions import Action, Answer, Handler, say_refusal
from components.properties import find_triggered_value, set_properties
from components.services import Services
from components.shapes import check_shape
from words import N_, _

CONFIRM = "confirm"
# An id, or a name with a word before it.
_Row = Annotated[str, Field(max_length=2 * MAX_LABEL_CHARS)]


def build_modal(
    identifier: str, title: str, parts: Sequence[Component], *, scrollable: bool = False, size: str | None = None
) -> Modal:
    """Build a dialog with the ids `X` and `X-title`.

    It does not fade. Bootstrap takes the end of any transition inside a dialog, such as a button's colour, for the end of
    the fade. A fading dialog closed in its first moments could then stay above the page, invisible.
    """
    header = ModalHeader(ModalTitle(title, id=f"{identifier}-title", tag="h2"), close_button=False)
    placed = {"centered": True, "scrollable": scrollable, "labelledby": f"{identifier}-title"}
    return Modal([header, *parts], id=identifier, is_open=False, fade=False, size=size, **placed)


def build_long_body(*children: Component, **properties: Any) -> html.Div:
    """Build the body of a scrollable dialog. The keyboard can scroll it, too."""
    return html.Div(children, className="modal-body", tabIndex=0, **properties)


def _build_nothing() -> Sequence[Component]:
    return ()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A form and a list with a single action. assets/modules/page/callbacks.mjs sends it.

    Title and button are marked for translation. The options are fields of the action, under their names. One of the two
    buttons has the focus, or none, where an option has `autoFocus`.
    """

    identifier: str
    title: str
    button: str
    confirm: Handler
    options: Callable[[], Sequence[Component]] = _build_nothing
    color: str = "danger"
    focuses: Literal["cancel", "confirm"] | None = "cancel"

    def build(self) -> Modal:
        """Build a dialog with ids `X`, `X-body`, `X-problem`, `X-cancel`, `X-confirm` and `X-subject`."""
        identifier = self.identifier
        submits: Any = {"type": "submit", "autoFocus": self.focuses == "confirm"}
        buttons = [
            build_closing_button(identifier, _("Cancel"), has_focus=self.focuses == "cancel"),
            html.Button(_(self.button), id=f"{identifier}-confirm", className=f"btn btn-{self.color}", **submits),
        ]
        body = ModalBody([html.Div(id=f"{identifier}-body"), *self.options(), build_problem(identifier)])
        named: Any = {"data-dialog": identifier}
        form = html.Form([body, ModalFooter([dcc.Store(id=f"{identifier}-subject"), *buttons])], autoComplete="off", **named)
        return build_modal(identifier, _(self.title), [form])

    def open(self, thread_id: str, fields: Mapping[str, Any], body: Sequence[Component]) -> None:
        """Open the dialog from within an action, with these fields.

        The dialog holds the confirmed action, so a later action or another address cannot replace its subject.
        """
        subject = {**fields, "type": CONFIRM, "thread": thread_id}
        set_properties(f"{self.identifier}-subject", {"data": subject})
        set_properties(f"{self.identifier}-body", {"children": body})
        set_properties(f"{self.identifier}-problem", {"hidden": True})
        set_properties(self.identifier, {"is_open": True})

    async def close_and_confirm(self, services: Services, action: Action) -> Answer:
        """Close the dialog with the reply, even with a refusal."""
        set_properties(self.identifier, {"is_open": False})
        return await self.confirm(services, action)


def build_closing_button(identifier: str, name: str, *, has_focus: bool = True) -> Component:
    """Build the button `X-cancel` of the dialog `X`. It has the focus first, unless another part has `autoFocus`."""
    style = "btn btn-outline-secondary"
    return html.Button(name, id=f"{identifier}-cancel", className=style, type="button", autoFocus=has_focus)


def register_dialog(app: Dash, identifier: str) -> None:
    """Let the button `X-cancel` close the dialog `X`."""
    close_on(app, identifier, Input(f"{identifier}-cancel", "n_clicks"))


def close_on(app: Dash, identifier: str, *inputs: Input) -> None:
    """Close the dialog on any of the inputs. The browser closes all dialogs when the address changes (state/panels.mjs)."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "closeDialog"),
        Output(identifier, "is_open", allow_duplicate=True),
        *inputs,
        State(identifier, "is_open"),
        prevent_initial_call=True,
    )


@dataclass(frozen=True, slots=True)
class ReadDialog:
    """A dialog that the button `opener`, or the browser's `openDialogAbout`, opens, and whose content is read then.

    With an opener of all rows (`rows_of`) it is about the row. `read` returns the content for the conversation of the page's
    address, or for none. `fields` are the form above it, which a reading leaves alone. The title is marked for translation.

    A callback that changes something has the output `changed_output(X)` and returns `mark_change()`: the dialog is then read
    again. So one callback alone writes the content, and Dash drops the answer to an older reading.
    """

    identifier: str
    title: str
    opener: str | dict[str, Any] | None
    read: Callable[..., Awaitable[Sequence[Any]]]
    fields: Callable[[], Sequence[Component]] = _build_nothing
    buttons: Callable[[], Sequence[Component]] = _build_nothing
    size: str | None = "lg"
    # A reading fills these parts of `fields` as well: `read` then returns the content of the body, and of each.
    parts: Sequence[str] = ()
    # `read` gets these values, too, after the conversation. It checks their shapes.
    states: Sequence[State] = ()
    # The button that closes the dialog has this name, marked for translation, and the focus.
    close: str = N_("Close")
    focuses_close: bool = True
    # An open dialog is read again when the conversation changes.
    follows: bool = False

    def build(self) -> Modal:
        """Build a dialog with ids `X`, `X-body`, `X-problem`, `X-again`, `X-cancel`, `X-opened` and `X-changed`."""
        identifier = self.identifier
        content = dcc.Loading(
            html.Div(id=f"{identifier}-body"),
            delay_show=300,
            custom_spinner=html.P(_("Reading…"), className="quiet", role="status"),
        )
        close = build_closing_button(identifier, _(self.close), has_focus=self.focuses_close)
        again = html.Button(_("Try again"), id=f"{identifier}-again", className="btn btn-sm btn-outline-secondary")
        stores = [dcc.Store(id=f"{identifier}-{name}") for name in ("opened", "changed")]
        parts = [
            build_long_body(build_problem(identifier, again), *self.fields(), content, *stores),
            ModalFooter([close, *self.buttons()]),
        ]
        return build_modal(identifier, _(self.title), parts, scrollable=True, size=self.size)

    def register(self, app: Dash, services: Services) -> None:
        """Open the dialog with the press, and fill it by a callback."""
        identifier = self.identifier
        register_dialog(app, identifier)
        if self.opener is not None:
            open_on(app, identifier, self.opener, *self.parts)
        if self.follows:
            _read_on_change(app, identifier)

        @app.callback(
            *(Output(part, "children") for part in (f"{identifier}-body", *self.parts)),
            Input(f"{identifier}-opened", "data"),
            Input(f"{identifier}-again", "n_clicks"),
            Input(f"{identifier}-changed", "data"),
            State(page_state.Ids.URL, "pathname"),
            *self.states,
            prevent_initial_call=True,
            on_error=partial(report_in, identifier),
        )
        async def fill(_: Any, __: Any, ___: Any, pathname: str | None, *values: Any) -> Sequence[Any]:
            return await self.read(services, page_state.parse_thread_id(pathname), *values)


def _read_on_change(app: Dash, identifier: str) -> None:
    """Read the dialog when the page is. The browser decides, so a closed dialog sends no request."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "readAgain"),
        changed_output(identifier),
        Input(page_state.Ids.UPDATE, "data"),
        State(identifier, "is_open"),
        prevent_initial_call=True,
    )


def changed_output(identifier: str) -> Output:
    """Return the output of a callback that changes what a `ReadDialog` shows: `mark_change()`."""
    return Output(f"{identifier}-changed", "data", allow_duplicate=True)


def mark_change() -> float:
    return time.time()


def open_on(app: Dash, identifier: str, opener: str | dict[str, Any], *parts: str) -> None:
    """Open a dialog with the press of a button, and note the time in `X-opened`. A reading fills these parts as well."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "openDialog"),
        Input(opener, "n_clicks"),
        State(identifier, "id"),
        *(State(part, "id") for part in parts),
        prevent_initial_call=True,
    )


def build_problem(identifier: str, *buttons: Component) -> Component:
    """Build the line about a request of the dialog that failed. It is of the server, or of page/callbacks.mjs.

    Its button reads the dialog again, as the network's return does, or presses once more for a change that was lost.
    """
    content: list[Any] = [html.Span(id=f"{identifier}-problem-text"), " ", *buttons]
    return html.Div(content, id=f"{identifier}-problem", className="dialog-problem", role="alert", hidden=True)


def build_row_button(
    text: Any, kind: str, row: str, label: str | None = None, *, once: bool = True, **options: Any
) -> Component:
    """Build a button of a row in a list, which is pressed once at a time (assets/modules/page/callbacks.mjs).

    `label` says to screen readers which row it is of. One that sends nothing is not `once`.
    """
    named: Any = {**({"data-once": ""} if once else {}), **({"aria-label": label} if label else {})}
    options.setdefault("className", "btn btn-outline-secondary")
    options.setdefault("type", "button")
    return html.Button(text, id={"type": kind, "row": row}, **named, **options)


def rows_of(kind: str) -> dict[str, Any]:
    """Return the id that stands for all buttons of a kind: `Input(rows_of("revoke"), "n_clicks")`."""
    return {"type": kind, "row": ALL}


def find_pressed_row() -> str:
    """Return the row whose button has triggered the callback. Rows that appear trigger it too: `PreventUpdate`."""
    if not find_triggered_value():
        raise PreventUpdate
    return find_row()


def find_row() -> str:
    """Return the row a part of which has triggered the callback."""
    if not isinstance(ctx.triggered_id, dict):
        raise PreventUpdate
    row: str = check_shape(_Row, ctx.triggered_id["row"], "row")
    return row


class RowId(TypedDict):
    """The id of a part of a row, as a page sends it."""

    row: _Row


def build_row_label(text: str, kind: str, row: str, class_name: str | None = None) -> Component:
    """Build the label of a row's field."""
    label: Component = Label(text, html_for=write_row_id(kind, row), className=class_name)
    return label


def write_row_id(kind: str, row: str) -> str:
    """Write the id of a part of a row as Dash does in the page."""
    return json.dumps({"row": row, "type": kind}, separators=(",", ":"), ensure_ascii=False)


def is_read_again(identifier: str) -> bool:
    """Return whether “Try again” or the network's return reads a dialog: fields that are there keep what was typed."""
    return bool(ctx.triggered_id == f"{identifier}-again")


def report_in(identifier: str, error: Exception) -> None:
    """Show the sentence of a refused request in its dialog. Use it as `on_error` of the dialog's callbacks.

    Any other error is the server's: its answer has a number for the log, and the page shows that in the dialog.
    """
    if not isinstance(error, StateError):
        raise error
    show_problem(identifier, say_refusal(error))


def show_problem(identifier: str, text: str) -> None:
    """Show a sentence in a dialog, from within one of its callbacks."""
    set_properties(f"{identifier}-problem-text", {"children": text})
    set_properties(f"{identifier}-problem", {"hidden": False})
