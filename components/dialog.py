"""The dialog that panels use: Cancel, Escape and the browser's Back close it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle
from typing_extensions import TypedDict

from checkpoints import Caller, StateError
from components import page_state
from components.actions import ActionFields
from components.properties import set_properties
from components.services import read_caller
from components.shapes import Count, RequestId, check_arguments, check_shape
from words import _


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of an open confirmation. The dialog holds it, so that no later action and no other address replaces it."""

    thread_id: str
    request_id: str
    version: int | None  # of the thread, as the user saw it
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the action

    @classmethod
    def of(cls, fields: Mapping[str, Any], thread_id: str) -> Self:
        """Return the subject that an action names."""
        return cls(thread_id, str(fields["request_id"]), read_caller(fields).expected_version, fields)

    @classmethod
    def parse(cls, value: Any) -> Self | None:
        """Return the subject that the page sends back; None without one. Raises `MalformedRequestError`."""
        given = check_shape(_SubjectValues | None, value, "subject")
        return None if given is None else cls(**{**given, "fields": ActionFields.check(given["fields"])})

    @property
    def caller(self) -> Caller:
        return Caller(request_id=self.request_id, expected_version=self.version)

    @property
    def unversioned_caller(self) -> Caller:
        """Return the caller of a change that no other change can conflict with."""
        return Caller(request_id=self.request_id)


class _SubjectValues(TypedDict):
    thread_id: str
    request_id: RequestId
    version: Count | None
    fields: dict[str, Any]


Confirm = Callable[..., Awaitable[page_state.PageUpdate]]  # gets the subject, then the values of the states


def build_modal(identifier: str, title: str, parts: Sequence[Component], *, scrollable: bool = False) -> Modal:
    """Build a dialog with the ids `X` and `X-title`.

    It has no fade: closed within its first moments, a fading dialog may stay, unseen, above the page. Bootstrap takes the
    end of any transition in it, as of a button's colour, for the end of its own.
    """
    header = ModalHeader(ModalTitle(title, id=f"{identifier}-title", tag="h2"), close_button=False)
    placed = {"centered": True, "scrollable": scrollable, "labelledby": f"{identifier}-title"}
    return Modal([header, *parts], id=identifier, is_open=False, fade=False, **placed)


def build_confirmation(identifier: str, title: str, confirm: str, *options: Component, color: str = "danger") -> Modal:
    """Build a dialog with ids `X`, `X-body`, `X-cancel`, `X-confirm` and `X-subject`."""
    buttons = [
        Button(_("Cancel"), id=f"{identifier}-cancel", color="secondary", outline=True),
        Button(confirm, id=f"{identifier}-confirm", color=color),
    ]
    body = ModalBody([html.Div(id=f"{identifier}-body"), *options])
    return build_modal(identifier, title, [body, ModalFooter([dcc.Store(id=f"{identifier}-subject"), *buttons])])


def open_confirmation(identifier: str, subject: Subject, body: Sequence[Component]) -> None:
    """Open a confirmation from within a callback."""
    set_properties(f"{identifier}-subject", {"data": asdict(subject)})
    set_properties(f"{identifier}-body", {"children": body})
    set_properties(identifier, {"is_open": True})


def register_confirmation(
    app: Dash, identifier: str, confirm: Confirm, *states: State, inputs: Sequence[Input] = (), first: str = "cancel"
) -> None:
    """Close the dialog on Cancel, and run `confirm` on Confirm or one of `inputs`. A refusal becomes a toast."""
    register_dialog(app, identifier, first)
    check_values = check_arguments(confirm)

    @app.callback(
        page_state.update_output(),
        Output(identifier, "is_open", allow_duplicate=True),
        Input(f"{identifier}-confirm", "n_clicks"),
        *inputs,
        State(f"{identifier}-subject", "data"),
        *states,
        prevent_initial_call=True,
    )
    async def run_confirmation(*values: Any) -> tuple[Any, bool]:
        given, *choices = values[1 + len(inputs) :]
        subject = Subject.parse(given)
        if subject is None:
            return no_update, False
        arguments = check_values([subject, *choices])
        try:
            return await confirm(*arguments), False
        except StateError as error:
            return page_state.report_problem(str(error)), False


def register_dialog(app: Dash, identifier: str, first: str = "cancel") -> None:
    """Focus Cancel, or the part `X-first`, whenever the dialog opens; Cancel closes it, and so does another address."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "focusInDialog"),
        Output(f"{identifier}-cancel", "key"),
        Input(identifier, "is_open"),
        Input(f"{identifier}-{first}", "id"),
    )
    close_on(app, identifier, Input(f"{identifier}-cancel", "n_clicks"))


def close_on(app: Dash, identifier: str, *inputs: Input) -> None:
    """Close the dialog on any of the inputs, and when the address changes."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "closeDialog"),
        Output(identifier, "is_open", allow_duplicate=True),
        *inputs,
        Input(page_state.Ids.URL, "pathname"),
        State(identifier, "is_open"),
        prevent_initial_call=True,
    )
