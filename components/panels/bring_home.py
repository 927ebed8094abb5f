"""A note from another place: its conclusion, written or drafted by the model, and messages of it, for the current branch."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from dash_bootstrap_components import Checklist, Label
from dash_bootstrap_components import Textarea as TextArea
from pydantic import Field as Limits
from typing_extensions import TypedDict

from agent.context.prices import count_usage
from agent.models.providers import shorten_spec
from agent.run.conclusions import DraftedConclusion
from agent.time_travel.excerpts import MAX_CONCLUSION_CHARS, ExcerptRequest, build_excerpt, is_quotable
from checkpoints import Caller, Message, NewMessage, NotFoundError, OperationDetail, Receipt, Store
from checkpoints.values.limits import MAX_LABEL_CHARS, MAX_READ_VALUES
from checkpoints.values.place_name import PlaceName
from components import page_state
from components.dialog import ReadDialog, mark_change, report_in
from components.panel import Panel
from components.places import MAX_COUNTED_MESSAGES, find_place_end, name_place
from components.properties import set_properties
from components.services import Services
from components.shapes import check_shape
from components.views.figures import describe_usage, format_dollars
from components.views.names import name_other
from components.views.places import describe_place_name
from components.views.shown_text import quote_line
from words import N_, _

# This many messages are offered for quoting, the last of the place.
MAX_OFFERED_MESSAGES = 200


class Ids(StrEnum):
    """The ids of the dialog. assets/modules/dialogs/places.mjs opens it, and empties its fields."""

    DIALOG = "bring-dialog"
    ABOUT = "bring-about"
    TEXT = "bring-text"
    DRAFT = "bring-draft"
    DRAFTING = "bring-drafting"
    DRAFTED = "bring-drafted"
    DRAFT_ABOUT = "bring-draft-about"
    MESSAGES = "bring-messages"
    ADD = "bring-add"
    ADDED = "bring-added"


class _Place(TypedDict):
    place: Annotated[str, Limits(max_length=MAX_LABEL_CHARS)]


class _Opened(TypedDict):
    at: float
    about: _Place


class _Shown(TypedDict):
    version: int | None


class _Drafted(TypedDict):
    # The dialog was opened at this time.
    at: float
    text: str
    about: str


OPENED = State(f"{Ids.DIALOG}-opened", "data")
PATHNAME = State(page_state.Ids.URL, "pathname")
GUARDED: Any = {"prevent_initial_call": True, "on_error": partial(report_in, Ids.DIALOG)}


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a note: the place's name, and the messages unique to this place."""

    place: PlaceName
    messages: list[Message]


def build_fields() -> list[Component]:
    once: Any = {"data-once": "", "type": "button"}
    status: Any = {"role": "status"}
    drafting = [
        html.Button(_("Draft with the model"), id=Ids.DRAFT, className="quiet-button", **once),
        html.Span(_("The model is writing…"), id=Ids.DRAFTING, className="quiet", hidden=True, **status),
        html.Span(id=Ids.DRAFT_ABOUT, className="quiet", **status),
    ]
    text = TextArea(
        id=Ids.TEXT,
        value="",
        rows=6,
        dir="auto",
        maxlength=MAX_CONCLUSION_CHARS,
        placeholder=_("In your own words"),
        class_name="bring-text",
    )
    messages = [html.Legend(_("Messages to quote")), Checklist([], [], id=Ids.MESSAGES)]
    return [
        html.P(id=Ids.ABOUT, **status),
        Label(_("Conclusion"), html_for=Ids.TEXT),
        text,
        html.P(drafting, className="bring-draft"),
        html.Fieldset(messages, className="bring-messages"),
        dcc.Store(id=Ids.DRAFTED),
        dcc.Store(id=Ids.ADDED),
    ]


def build_buttons() -> list[Component]:
    return [html.Button(_("Add note"), id=Ids.ADD, className="btn btn-primary")]


async def read(services: Services, thread_id: str | None, opened: Any) -> Sequence[Any]:
    place = check_shape(_Opened, opened, "opened")["about"]["place"]
    try:
        origin = await services.read_snapshot(read_origin, services.store, thread_id or "", place)
    except NotFoundError:
        return [], _("This place no longer exists.")
    offered = list_offered(origin)
    set_properties(Ids.MESSAGES, {"options": [{"value": each.id, "label": _build_line(each)} for each in offered]})
    name = describe_place_name(origin.place)
    about = _("A note from {name} is added to the current branch. The model reads it as data.", name=name)
    return [] if offered else [html.P(_("There are no messages to quote."), className="quiet")], about


def read_origin(store: Store, thread_id: str, place: str) -> Origin:
    """Read the messages of a place that the current position lacks. Raises `NotFoundError`."""
    ends = find_place_end(store, thread_id, place), find_place_end(store, thread_id, "")
    parted = store.compare_paths(thread_id, *ends, max_messages=MAX_COUNTED_MESSAGES, max_values=MAX_READ_VALUES)
    return Origin(name_place(store, thread_id, place), parted.left)


def list_offered(origin: Origin) -> list[Message]:
    return [message for message in origin.messages if is_quotable(message)][-MAX_OFFERED_MESSAGES:]


def _build_line(message: Message) -> Component:
    is_question = message.type == "human" and not message.is_by_graph
    speaker = (name_other(message.person) or _("You")) if is_question else _("Agent")
    return html.Span([html.Strong(f"{speaker}: "), html.Bdi(quote_line(str(message.langchain.text)))])


def register(app: Dash, services: Services) -> None:
    _register_draft(app, services)
    _register_add(app, services)


def _register_draft(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        # The draft follows what a person has written meanwhile.
        ClientsideFunction("waymark", "appendDraft"),
        Output(Ids.TEXT, "value"),
        Output(Ids.DRAFT_ABOUT, "children"),
        Input(Ids.DRAFTED, "data"),
        OPENED,
        State(Ids.TEXT, "value"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(Ids.DRAFTED, "data"),
        Input(Ids.DRAFT, "n_clicks"),
        OPENED,
        PATHNAME,
        running=[(Output(Ids.DRAFTING, "hidden"), False, True)],
        **GUARDED,
    )
    async def draft(_: Any, opened: _Opened, pathname: str) -> _Drafted:
        thread_id, place = page_state.parse_thread_id(pathname) or "", opened["about"]["place"]
        drafted = await draft_conclusion(services, thread_id, place)
        return {"at": opened["at"], "text": drafted.text, "about": _describe_draft(services, drafted)}


async def draft_conclusion(services: Services, thread_id: str, place: str) -> DraftedConclusion:
    """Let the model draft the conclusion of a place. It changes nothing."""
    origin = await services.read_snapshot(read_origin, services.store, thread_id, place)
    return await services.runner.conclusions.draft(thread_id, origin.messages)


def _describe_draft(services: Services, drafted: DraftedConclusion) -> str:
    """Return “gpt-5 · 1.2k tokens in, 80 tokens out · $0.0012”."""
    usage = count_usage(drafted.usage, drafted.spec, services.prices)
    tokens = describe_usage(usage) if usage.input + usage.output else ""
    cost = format_dollars(usage.cost) if usage.priced else ""
    return " · ".join(filter(None, [shorten_spec(drafted.spec), tokens, cost]))


def _register_add(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        # A sheet would cover the note.
        ClientsideFunction("waymark", "closeSheets"),
        Input(Ids.ADDED, "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        page_state.update_output(),
        Output(Ids.ADDED, "data"),
        Input(Ids.ADD, "n_clicks"),
        OPENED,
        PATHNAME,
        State(Ids.TEXT, "value"),
        State(Ids.MESSAGES, "value"),
        # The version that the page shows (undo_redo.py).
        State("undo-state", "data"),
        **GUARDED,
    )
    async def add(
        _: Any,
        opened: _Opened,
        pathname: str,
        text: str | None,
        messages: Annotated[list[str], Limits(max_length=MAX_OFFERED_MESSAGES)],
        shown: _Shown,
    ) -> tuple[bool, page_state.PageUpdate, float]:
        """The same note of the same opening is added once, however often it comes."""
        thread_id, place = page_state.parse_thread_id(pathname) or "", opened["about"]["place"]
        content = json.dumps([opened["at"], thread_id, place, text, messages])
        request_id = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        wanted = ExcerptRequest(text or "", messages)
        await add_note(services, thread_id, place, wanted, Caller(request_id=request_id, expected_version=shown["version"]))
        return False, page_state.build_update(), mark_change()


async def add_note(services: Services, thread_id: str, place: str, wanted: ExcerptRequest, caller: Caller) -> Receipt:
    """Add a note after the current position. Raises `StateError`."""
    note, detail = await services.read_snapshot(_build_note, services, thread_id, place, wanted)
    return await services.apply_change(services.store.append, thread_id, [note], detail=detail, caller=caller)


def _build_note(
    services: Services, thread_id: str, place: str, wanted: ExcerptRequest
) -> tuple[NewMessage, OperationDetail]:
    services.runner.inputs.require_no_waiting_call(thread_id)
    origin = read_origin(services.store, thread_id, place)
    note = build_excerpt(wanted, origin.place, origin.messages)
    return note, OperationDetail(subject="excerpt", place=origin.place.kind, name=origin.place.name)


DIALOG = ReadDialog(
    Ids.DIALOG,
    N_("Quote in this branch"),
    None,
    read,
    fields=build_fields,
    buttons=build_buttons,
    close=N_("Cancel"),
    parts=[Ids.ABOUT],
    states=[OPENED],
)
PANEL = Panel(register=register, read_dialogs=[DIALOG])
