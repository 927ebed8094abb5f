"""A panel as the page sees it. The page derives its parts, its callbacks and its lists of actions from these alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dash import Dash
from dash.development.base_component import Component

from components.actions import Handlers
from components.page_state import PageLocation
from components.services import Services
from components.streams.turns import Turn, TurnChanges


def _build_nothing() -> list[Component]:
    return []


def _register_nothing(_: Dash, __: Services) -> None:
    """A panel of actions alone needs no callback of its own."""


def _change_nothing(_: Services, __: Turn) -> TurnChanges:
    return TurnChanges({}, {})


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `shown` names the properties that `show` fills, in its order; `show_turn` changes them after a turn."""

    register: Callable[[Dash, Services], None] = _register_nothing
    dialogs: Callable[[], Sequence[Component]] = _build_nothing
    buttons: Callable[[], Sequence[Component]] = _build_nothing  # in the bar's menu
    shown: tuple[tuple[str, str], ...] = ()
    show: Callable[[Services, PageLocation], tuple[Any, ...]] = lambda *_: ()
    show_turn: Callable[[Services, Turn], TurnChanges] = _change_nothing
    actions: Mapping[str, Handlers] = field(default_factory=dict)  # by the id of the list that reports them
