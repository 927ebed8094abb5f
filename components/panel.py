"""A panel as the page sees it. The page derives its parts, callbacks and lists of actions from panels alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dash import Dash
from dash.development.base_component import Component

from components.actions import Handlers
from components.dialog import CONFIRM, Confirmation, ReadDialog, register_dialog
from components.page_state import PageLocation
from components.properties import Properties
from components.services import Services
from components.streams.turns import Turn, TurnChanges


def _build_nothing() -> list[Component]:
    return []


def _register_nothing(_: Dash, __: Services) -> None:
    """Register no callback: a panel with nothing but actions needs none."""


def _change_nothing(_: Services, __: Turn) -> TurnChanges:
    return TurnChanges({}, {})


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. `show` returns the properties of its components, and `show_turn` their changes after a turn."""

    register: Callable[[Dash, Services], None] = _register_nothing
    dialogs: Callable[[], Sequence[Component]] = _build_nothing
    confirmations: Sequence[Confirmation] = ()
    read_dialogs: Sequence[ReadDialog] = ()
    # These buttons are in the bar's menu: what acts on the conversation, and what does not.
    buttons: Callable[[], Sequence[Component]] = _build_nothing
    app_buttons: Callable[[], Sequence[Component]] = _build_nothing
    # These stand beside the name of the person who is signed in.
    person_buttons: Callable[[], Sequence[Component]] = _build_nothing
    show: Callable[[Services, PageLocation], Properties] = lambda *_: {}
    show_turn: Callable[[Services, Turn], TurnChanges] = _change_nothing
    # Handlers are grouped by the id of the list that reports the actions.
    actions: Mapping[str, Handlers] = field(default_factory=dict)

    def list_dialogs(self) -> list[Component]:
        return [
            *self.dialogs(),
            *(each.build() for each in self.confirmations),
            *(each.build() for each in self.read_dialogs),
        ]

    def list_actions(self) -> Mapping[str, Handlers]:
        return {**self.actions, **{each.identifier: {CONFIRM: each.close_and_confirm} for each in self.confirmations}}

    def register_parts(self, app: Dash, services: Services) -> None:
        self.register(app, services)
        for each in self.confirmations:
            register_dialog(app, each.identifier)
        for read_dialog in self.read_dialogs:
            read_dialog.register(app, services)
