"""Positions of a conversation, and lists to choose one: "" (the current one), "branch:ID", "checkpoint:ID", "message:ID"."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from dash import ClientsideFunction, Dash, Input, Output, State
from dash.development.base_component import Component
from dash_bootstrap_components import Label, Select
from pydantic import Field
from typing_extensions import TypedDict

from checkpoints import BranchNotFoundError, CheckpointNotFoundError, NotFoundError, Store
from checkpoints.values.limits import MAX_LABEL_CHARS
from checkpoints.values.place_name import PlaceName
from checkpoints.values.text import shorten_line
from components.shapes import check_shape
from components.views.places import name_message
from words import _

# An empty value of a `Select` would be its placeholder.
CURRENT = "current"
# So many messages of a position, after those it shares with another, are read for its figures and for a note.
MAX_COUNTED_MESSAGES = 5_000
# A list has the newest of each kind. The position it stands on is always in it.
MAX_LISTED_CHECKPOINTS = 200
MAX_LISTED_BRANCHES = 100
# The name of a message has this much of its text.
MAX_NAME_CHARS = 60
# Lists have the positions in this order: the current one, a message, branches, checkpoints.
_ORDER = {"": 0, "branch": 2, "checkpoint": 3}
_Place = Annotated[str, Field(max_length=MAX_LABEL_CHARS)]


class _TwoPlaces(TypedDict):
    one: _Place
    other: _Place


class _Opened(TypedDict):
    about: _TwoPlaces


def find_place_end(store: Store, thread_id: str, place: str) -> str | None:
    """Return the id of a position's last message. Raises `NotFoundError`."""
    return _find_place(store, thread_id, place)[0]


def name_place(store: Store, thread_id: str, place: str) -> PlaceName:
    """Return the name of a position. Raises `NotFoundError`."""
    return _find_place(store, thread_id, place)[1]


def _find_place(store: Store, thread_id: str, place: str) -> tuple[str | None, PlaceName]:
    kind, _colon, identifier = place.partition(":")
    if kind == "checkpoint":
        checkpoint = store.get_checkpoint(thread_id, identifier)
        return checkpoint.node.id if checkpoint.node else None, PlaceName("checkpoint", checkpoint.name)
    if kind == "branch":
        for branch, _length in store.list_branches(thread_id):
            if branch.id == identifier:
                return branch.head_id, PlaceName("branch", branch.name)
        raise BranchNotFoundError(identifier)
    if kind == "message":
        return store.get_message(thread_id, identifier).id, PlaceName("message")
    if place:
        raise CheckpointNotFoundError(place)
    return store.get_thread(thread_id).head_id, PlaceName("current")


def build_place_list(identifier: str, label: str, **options: Any) -> list[Component]:
    """Build a list of positions. A reading of its dialog fills it."""
    return [Label(label, html_for=identifier, **options), Select([], CURRENT, id=identifier)]


def register_place_lists(app: Dash, dialog: str, one: str, other: str) -> None:
    """Read a dialog about two positions again, about those that its lists have now."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "choosePlaces"),
        Output(f"{dialog}-opened", "data"),
        Input(one, "value"),
        Input(other, "value"),
        State(f"{dialog}-opened", "data"),
        prevent_initial_call=True,
    )


def read_chosen_places(opened: Any) -> tuple[str, str]:
    """Return the two positions that a dialog is about."""
    about = check_shape(_Opened, opened, "opened")["about"]
    return parse_place(about["one"]), parse_place(about["other"])


def parse_place(chosen: str) -> str:
    return "" if chosen == CURRENT else chosen


def list_places(store: Store, thread_id: str, chosen: Sequence[str]) -> dict[str, str]:
    """Return the names of the positions to choose from, the chosen ones among them."""
    thread = store.get_thread(thread_id)
    branches = [branch for branch, _length in store.list_branches(thread_id)]
    own = next((branch.name for branch in branches if branch.id == thread.branch_id), "")
    others = [branch for branch in branches if branch.id != thread.branch_id][-MAX_LISTED_BRANCHES:]
    found = store.list_checkpoint_portion(thread_id, MAX_LISTED_CHECKPOINTS).checkpoints
    names = {
        "": _("{name} · current position", name=own) if others else _("Current position"),
        **{f"branch:{branch.id}": branch.name for branch in others},
        **{f"checkpoint:{checkpoint.id}": checkpoint.name for checkpoint in reversed(found)},
    }
    names |= {place: _name_chosen(store, thread_id, place) for place in chosen if place not in names}
    return dict(sorted(names.items(), key=lambda item: _ORDER.get(_get_kind(item[0]), 1)))


def _name_chosen(store: Store, thread_id: str, place: str) -> str:
    try:
        name = name_place(store, thread_id, place).name
    except NotFoundError:
        return _("(no longer exists)")
    if name:
        return name
    message = store.get_message(thread_id, place.partition(":")[2])
    number, text = message.depth + 1, shorten_line(name_message(message), MAX_NAME_CHARS)
    return _("Message {number}: “{text}”", number=number, text=text) if text else _("Message {number}", number=number)


def build_options(names: Mapping[str, str], first: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the options of a list: `first`, then the positions, with a heading above branches and above checkpoints."""
    options: list[dict[str, Any]] = [{"value": value, "label": label} for value, label in (first or {}).items()]
    headings = {"branch": _("Branches"), "checkpoint": _("Checkpoints")}
    for place, name in names.items():
        if heading := headings.pop(_get_kind(place), ""):
            options.append({"value": _get_kind(place), "label": heading, "disabled": True})
        options.append({"value": place or CURRENT, "label": name})
    return options


def _get_kind(place: str) -> str:
    return place.partition(":")[0]
