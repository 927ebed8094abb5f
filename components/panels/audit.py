"""The audit log in portions, for admins and for the only person of a server. To everybody else it is not there."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import Dash, Input, Output, Patch, State, ctx, html
from dash.development.base_component import Component
from dash_bootstrap_components import Select
from pydantic import Field

from checkpoints import Store, ThreadNotFoundError
from checkpoints.people.audit_log import AuditLog
from checkpoints.values.audit_entry import AuditEntry, AuditKind
from checkpoints.values.limits import MAX_LABEL_CHARS, MAX_NUMBER
from components.dialog import ReadDialog, build_row_button, find_pressed_row, report_in, rows_of
from components.page_state import PageLocation
from components.panel import Panel
from components.people import ADMIN, get_acting_role
from components.properties import Properties, set_properties
from components.services import Services
from components.shapes import MalformedRequestError
from components.views.audit_sentences import KIND_LABELS, describe_entry, describe_person
from components.widgets import Time, build_menu_item
from words import N_, _, ngettext

TITLE = N_("Audit log")
PORTION_ENTRIES = 100
MORE = "audit-more"
# No name and no kind is blank. The empty value of a `Select` is its placeholder, which nobody can choose again.
ANY = " "
Chosen = Annotated[str, Field(max_length=MAX_LABEL_CHARS)]


class Ids(StrEnum):
    BUTTON = "audit"
    DIALOG = "audit-dialog"
    BODY = "audit-dialog-body"
    PERSON = "audit-person"
    KIND = "audit-kind"


FILTERS = (Ids.PERSON, Ids.KIND)


def buttons() -> list[Component]:
    return [build_menu_item("shield-check", _(TITLE), Ids.BUTTON, hidden=True)]


def build_filters() -> list[Component]:
    kinds = [{"value": each.value, "label": _(label)} for each, label in KIND_LABELS.items()]
    filters = [
        html.Label([_("Person"), Select(_list_people([]), ANY, id=Ids.PERSON)], htmlFor=Ids.PERSON),
        html.Label(
            [_("Kind"), Select([{"value": ANY, "label": _("Everything")}, *kinds], ANY, id=Ids.KIND)], htmlFor=Ids.KIND
        ),
    ]
    return [html.Div(filters, className="audit-filters")]


def _list_people(names: Sequence[str]) -> list[dict[str, str]]:
    people = [{"value": name, "label": describe_person(name)} for name in names]
    return [{"value": ANY, "label": _("Everybody")}, *people]


async def read(services: Services, _thread_id: str | None, *chosen: str) -> Sequence[Component]:
    """Read the newest entries of everybody, whatever was chosen before."""
    _check_reader(services)
    names = await services.run_blocking(AuditLog(services.store, services.audit_days).list_people)
    set_properties(Ids.PERSON, {"options": _list_people(names)})
    if set(chosen) != {ANY}:
        for field in FILTERS:
            set_properties(field, {"value": ANY})
    return await _build_portion(services, ANY, ANY)


async def _build_portion(services: Services, person: str, kind: str) -> list[Component]:
    rows, more = await _read_rows(services, person, kind, before=None)
    listed = html.Ol(rows, className="dialog-rows") if rows else html.P(_("No entries."), className="quiet")
    kept = ngettext("Entries are kept for {count} day.", "Entries are kept for {count} days.", services.audit_days)
    return [listed, more, html.P(kept, className="quiet")]


async def _read_rows(services: Services, person: str, kind: str, *, before: int | None) -> tuple[list[Component], Component]:
    """Return the rows of a portion, and the button for the next one, in its place."""
    list_entries = AuditLog(services.store, services.audit_days).list_entries
    wanted: dict[str, Any] = {"before": before, "person": None if person == ANY else person}
    wanted["kind"] = None if kind == ANY else AuditKind(kind)
    found = await services.run_blocking(list_entries, PORTION_ENTRIES + 1, **wanted)
    shown = found[:PORTION_ENTRIES]
    more = [build_row_button(_("Show more"), MORE, str(shown[-1].number))] if len(found) > PORTION_ENTRIES else []
    titles = await services.run_blocking(_read_titles, services.store, shown)
    return [_build_row(each, titles) for each in shown], html.Div(more)


def _read_titles(store: Store, entries: Sequence[AuditEntry]) -> dict[str, str]:
    """Read the titles of the conversations that the reader may see. To administrators, others keep their ids."""
    titles = {}
    with store.database.begin_read():
        for thread_id in {str(each.detail["thread"]) for each in entries if each.detail.get("thread")}:
            with suppress(ThreadNotFoundError):
                titles[thread_id] = store.get_thread(thread_id).title
    return titles


def _build_row(entry: AuditEntry, titles: Mapping[str, str]) -> Component:
    shown, named = describe_entry(entry, titles), dict[str, Any]({"data-testid": "audit-entry"})
    who: list[Any] = [html.Strong(shown["who"]), " · "] if shown["who"] else []
    address = [f" · {shown['address']}"] if shown["address"] else []
    time = html.P([Time(data=shown["time"]), *address], className="quiet")
    return html.Li([html.P([*who, shown["text"]]), time], **named)


def _parse_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= MAX_NUMBER):
        raise MalformedRequestError("before")
    return int(text)


def register(app: Dash, services: Services) -> None:
    @app.callback(
        Output(Ids.BODY, "children", allow_duplicate=True),
        *(Input(field, "value") for field in FILTERS),
        Input(rows_of(MORE), "n_clicks"),
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def choose(person: Chosen, kind: Chosen, _: Any) -> Any:
        _check_reader(services)
        if kind not in (ANY, *KIND_LABELS):
            raise MalformedRequestError("kind")
        if not isinstance(ctx.triggered_id, dict):
            return await _build_portion(services, person, kind)
        rows, more = await _read_rows(services, person, kind, before=_parse_number(find_pressed_row()))
        body = Patch()
        body[0]["props"]["children"].extend(rows)
        body[1] = more
        return body


def _check_reader(services: Services) -> None:
    if not may_read(services):
        raise MalformedRequestError(_("Not found."))


def may_read(services: Services) -> bool:
    return get_acting_role() == ADMIN or not services.store.database.separates_owners


def show(services: Services, _: PageLocation) -> Properties:
    """Hide the item from those who may not read the log, and where nobody signs in: it would tell of one person alone."""
    has_sign_in = services.store.database.separates_owners or services.sessions is not None
    return {Ids.BUTTON: {"hidden": not (has_sign_in and may_read(services))}}


DIALOG = ReadDialog(Ids.DIALOG, TITLE, Ids.BUTTON, read, build_filters, states=[State(each, "value") for each in FILTERS])
PANEL = Panel(register=register, read_dialogs=[DIALOG], app_buttons=buttons, show=show)
