"""The questions of a place once more, on a new branch: the model, the instructions, and the first question."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import Dash, Input, Output, State, html
from dash.development.base_component import Component
from dash_bootstrap_components import Label, Select
from dash_bootstrap_components import Textarea as TextArea
from pydantic import Field as Limits
from typing_extensions import TypedDict

from agent.run.reruns import MAX_RERUN_QUESTIONS, RerunRequest, list_questions
from agent.settings import ThreadSettings
from checkpoints import Caller, Message, NotFoundError, Run
from checkpoints.values.limits import MAX_INSTRUCTIONS_CHARS, MAX_LABEL_CHARS
from components import page_state
from components.dialog import ReadDialog, report_in
from components.panel import Panel
from components.places import find_place_end, parse_place
from components.properties import set_properties
from components.services import Services
from components.shapes import check_shape
from components.views.figures import name_models
from components.views.shown_text import quote_line
from words import N_, _, ngettext

UNREADABLE_TEXT = N_("(damaged)")
# The empty value of a `Select` is its placeholder.
DEFAULT = " "
_Text = Annotated[str, Limits(max_length=MAX_LABEL_CHARS)]


class Ids(StrEnum):
    """The ids of the dialog. assets/modules/dialogs/places.mjs opens it, and hides its fields until they are read."""

    DIALOG = "again-dialog"
    ABOUT = "again-about"
    FIELDS = "again-fields"
    MODEL = "again-model"
    INSTRUCTIONS = "again-instructions"
    FIRST = "again-first"
    START = "again-start"


class _Place(TypedDict):
    place: _Text


class _Opened(TypedDict):
    at: float
    about: _Place


class _Option(TypedDict):
    value: str


class Choice(TypedDict):
    """The questions of a place, and the conversation's own settings."""

    questions: list[dict[str, str]]
    model: str
    instructions: str


OPENED = State(f"{Ids.DIALOG}-opened", "data")
GUARDED: Any = {"prevent_initial_call": True, "on_error": partial(report_in, Ids.DIALOG)}


def build_fields() -> list[Component]:
    fields = [
        Label(_("Model"), html_for=Ids.MODEL),
        Select([], id=Ids.MODEL),
        Label(_("Instructions"), html_for=Ids.INSTRUCTIONS),
        TextArea(id=Ids.INSTRUCTIONS, rows=4, dir="auto", maxlength=MAX_INSTRUCTIONS_CHARS),
        Label(_("From question"), html_for=Ids.FIRST),
        Select([], id=Ids.FIRST),
        html.P(_("Tools run again as well: whatever they send or write happens a second time."), className="quiet"),
    ]
    status: Any = {"role": "status"}
    return [html.P(id=Ids.ABOUT, **status), html.Div(fields, id=Ids.FIELDS, className="run-again", hidden=True)]


def build_buttons() -> list[Component]:
    return [html.Button(_("Start"), id=Ids.START, className="btn btn-primary", disabled=True)]


async def read(services: Services, thread_id: str | None, opened: Any, shown: Any) -> Sequence[Component]:
    """Fill the fields once. “Try again” after a failed start leaves what a person has chosen."""
    place = parse_place(check_shape(_Opened, opened, "opened")["about"]["place"])
    if check_shape(list[_Option], shown, "options"):
        return []
    try:
        choice = await services.read_snapshot(describe_choice, services, thread_id or "", place)
    except NotFoundError:
        return [html.P(_("This place no longer exists."), role="status")]
    if not (questions := choice["questions"]):
        return [html.P(_("There are no questions to ask again."), role="status")]
    models = list_models(services, choice["model"])
    set_properties(Ids.MODEL, {"options": models, "value": choice["model"] or DEFAULT})
    set_properties(Ids.INSTRUCTIONS, {"value": choice["instructions"]})
    options = [{"value": each["id"], "label": f"{number}. {each['text']}"} for number, each in enumerate(questions, 1)]
    set_properties(Ids.FIRST, {"options": options, "value": questions[0]["id"]})
    set_properties(Ids.FIELDS, {"hidden": False})
    set_properties(Ids.START, {"disabled": False})
    return []


def describe_choice(services: Services, thread_id: str, place: str) -> Choice:
    """Raises `NotFoundError`."""
    settings = ThreadSettings.from_thread(services.store.get_thread(thread_id))
    questions = list_questions(services.store, thread_id, find_place_end(services.store, thread_id, place))
    return {
        "questions": [{"id": each.id, "text": _quote(each)} for each in questions],
        "model": settings.model,
        "instructions": settings.instructions,
    }


def _quote(message: Message) -> str:
    return _(UNREADABLE_TEXT) if message.damaged else quote_line(str(message.langchain.text))


def list_models(services: Services, own: str) -> list[dict[str, str]]:
    """List the models to choose from, the conversation's own among them."""
    default = services.models.default_spec
    others = [spec for spec in dict.fromkeys([*services.models.specs, own]) if spec not in ("", default)]
    usual, *names = name_models([default, *others])
    options = [{"value": spec, "label": name} for spec, name in zip(others, names, strict=True)]
    return [{"value": DEFAULT, "label": _("{value} (default)", value=usual)}, *options]


def register(app: Dash, services: Services) -> None:
    @app.callback(Output(Ids.ABOUT, "children"), Input(Ids.FIRST, "value"), State(Ids.FIRST, "options"), **GUARDED)
    async def describe(first: str | None, options: list[_Option]) -> str:
        """Return “3 questions are asked once more, one after the other, on a new branch.”"""
        ids = [each["value"] for each in options]
        return "" if first not in ids else _describe_asking(len(ids) - ids.index(first))

    @app.callback(
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        page_state.update_output(),
        Input(Ids.START, "n_clicks"),
        OPENED,
        State(page_state.Ids.URL, "pathname"),
        State(Ids.FIRST, "value"),
        State(Ids.MODEL, "value"),
        State(Ids.INSTRUCTIONS, "value"),
        running=[(Output(Ids.START, "disabled"), True, False)],
        **GUARDED,
    )
    async def start(
        _: Any, opened: _Opened, pathname: str, first: _Text, model: _Text, instructions: str | None
    ) -> tuple[bool, page_state.PageUpdate]:
        """The same choice of the same opening begins once, however often it comes."""
        thread_id, place = page_state.parse_thread_id(pathname) or "", parse_place(opened["about"]["place"])
        settings = {"model": model.strip(), "instructions": instructions or ""}
        content = json.dumps([opened["at"], thread_id, place, first, settings])
        request_id = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        await begin(services, thread_id, place, first, settings, Caller(request_id=request_id))
        return False, page_state.build_update()


async def begin(
    services: Services, thread_id: str, place: str, first: str, settings: Mapping[str, str], caller: Caller
) -> Run:
    """Ask the questions of a place again. Raises `StateError`."""
    end_id = await services.read_snapshot(find_place_end, services.store, thread_id, place)
    return await services.runner.reruns.begin(thread_id, RerunRequest(place, end_id, first, settings), caller=caller)


def _describe_asking(count: int) -> str:
    asked = min(count, MAX_RERUN_QUESTIONS)
    text = ngettext(
        "{count} question is asked once more on a new branch.",
        "{count} questions are asked once more on a new branch, one after the other.",
        asked,
    )
    return text if asked == count else text + _(" At most {questions} are asked at once.", questions=MAX_RERUN_QUESTIONS)


DIALOG = ReadDialog(
    Ids.DIALOG,
    N_("Run again"),
    None,
    read,
    fields=build_fields,
    buttons=build_buttons,
    close=N_("Cancel"),
    parts=[],
    states=[OPENED, State(Ids.FIRST, "options")],
)
PANEL = Panel(register=register, read_dialogs=[DIALOG])
