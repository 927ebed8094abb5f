"""The people of a server, for its admins: links for new ones, roles, new passwords, and erasure.

To everybody else they are not there. A provider of sign-ins gives the roles itself: then there are no links.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from pydantic import Field
from typing_extensions import TypedDict

from checkpoints.rows.account_rows import MAX_PERSON_NAME_CHARS, InvalidAccountError, Role
from checkpoints.values.sentence import sentence
from components import link_field
from components.dialog import ReadDialog, changed_output, find_pressed_row, mark_change, report_in, rows_of
from components.page_state import PageLocation
from components.panel import Panel
from components.people import ADMIN, get_acting_role
from components.properties import Properties, find_triggered_value, set_properties
from components.services import Services
from components.shapes import MalformedRequestError, check_shape
from components.sign_in import get_request
from components.widgets import build_menu_item
from extensions.people import people_lists
from extensions.people.server_people import get_people
from words import N_, _

if TYPE_CHECKING:
    from extensions.people.admin import PeopleAdmin

TITLE = N_("People")
PASSWORD_LINK_DAYS = 1


class Ids(StrEnum):
    BUTTON = "people"
    DIALOG = "people-dialog"
    ERASED = "people-erased"
    LIST = "people-list"
    INVITE = "people-invite"
    FORM = "people-form"
    ROLE = "people-role"
    DAYS = "people-days"
    LINK = "people-link"
    # This dialog lies above the other one.
    ERASURE = "person-erasure"
    ERASE = "person-erasure-erase"


GUARDED: Any = {"prevent_initial_call": True, "on_error": partial(report_in, Ids.DIALOG)}
ERASED_PERSON = State(f"{Ids.ERASURE}-opened", "data")
RoleName = Literal["admin", "member", "reader"]
Name = Annotated[str, Field(max_length=MAX_PERSON_NAME_CHARS)]


class _Opened(TypedDict):
    # The person whose erasure the dialog is about.
    about: Name


def build_item() -> Component:
    return build_menu_item("people", _(TITLE), Ids.BUTTON, hidden=True)


def show(services: Services, _: PageLocation) -> Properties:
    return {Ids.BUTTON: {"hidden": services.people is None or get_acting_role() != ADMIN}}


def _require_people(services: Services, *, with_passwords: bool = True) -> "PeopleAdmin":
    people = get_people(services)
    if people is None or get_acting_role() != ADMIN or (with_passwords and not people.has_passwords):
        raise MalformedRequestError(_("Not found."))
    return people


def build_fields() -> list[Component]:
    """Build the list and the form of a new link. The style sheet hides the form until the part above it is filled."""
    status: Any = {"role": "status"}
    form = people_lists.build_form(Ids.FORM, Ids.ROLE, Ids.DAYS)
    link = link_field.build_link_field(Ids.LINK, _("Give this link to one person. It works once, and is shown only now."))
    parts = [html.Ul(id=Ids.LIST), html.Div(id=Ids.INVITE), form, link]
    return [html.P(id=Ids.ERASED, className="quiet", **status), html.Section(parts, className="share")]


async def read(services: Services, _thread_id: str | None) -> Sequence[Any]:
    people = _require_people(services, with_passwords=False)
    lines = people_lists.build_people(await people.list_people(), has_passwords=people.has_passwords)
    erased: Any = [] if ctx.triggered_id == f"{Ids.DIALOG}-opened" else no_update
    if not people.has_passwords:
        about = _("People are added when they first sign in. Their groups at the provider give their role, at each sign-in.")
        return html.P(about, className="quiet"), lines, [], erased
    links = people_lists.build_links(await people.list_links())
    return links, lines, [html.H3(_("Invite somebody"))], erased


def build_erase() -> list[Component]:
    once: Any = {"data-once": ""}
    return [html.Button(_("Erase for good"), id=Ids.ERASE, className="btn btn-danger", disabled=True, **once)]


async def read_erasure(services: Services, _thread_id: str | None, opened: Any, typed: Sequence[Any]) -> Any:
    """Count what is erased, unless that is shown already: a second reading would empty the field below it."""
    people = _require_people(services, with_passwords=False)
    if typed:
        return no_update
    name = check_shape(_Opened, opened, "opened")["about"]
    return people_lists.build_erasure(await people.count_things(name), name)


def register(app: Dash, services: Services) -> None:
    link_field.register(app, Ids.LINK, Ids.DIALOG)
    _register_links(app, services)
    _register_role(app, services)
    _register_erasure(app, services)


def _register_links(app: Dash, services: Services) -> None:
    changed, renewed = changed_output(Ids.DIALOG), Output(Ids.LINK, "value", allow_duplicate=True)
    chosen = [State(each, "value") for each in (Ids.ROLE, Ids.DAYS)]

    @app.callback(changed, Output(Ids.LINK, "value"), Input(Ids.FORM, "n_submit"), *chosen, **GUARDED)
    async def invite(_: Any, role: RoleName, days: Annotated[str, Field(pattern=r"^\d{1,4}$")]) -> tuple[float, str]:
        link = await _require_people(services).make_link(get_request(), Role(role), int(days))
        return mark_change(), link

    @app.callback(changed, renewed, Input(rows_of(people_lists.PASSWORD), "n_clicks"), **GUARDED)
    async def renew_password(_: Any) -> tuple[float, str]:
        people = _require_people(services)
        link = await people.make_link(get_request(), Role.MEMBER, PASSWORD_LINK_DAYS, find_pressed_row())
        return mark_change(), link

    @app.callback(changed, Input(rows_of(people_lists.END), "n_clicks"), **GUARDED)
    async def end_link(_: Any) -> float:
        """End a link. The text of one that was made before goes."""
        await _require_people(services).end_link(get_request(), find_pressed_row())
        set_properties(Ids.LINK, {"value": ""})
        return mark_change()


def _register_role(app: Dash, services: Services) -> None:
    options = GUARDED | {"on_error": _refuse_role}

    @app.callback(changed_output(Ids.DIALOG), Input(rows_of(people_lists.ROLE), "value"), **options)
    async def change_role(_: Any) -> float:
        """Change a role. The row of a field is its person after the role that it showed first."""
        people = _require_people(services)
        former, _colon, person = find_pressed_row().partition(":")
        role = check_shape(RoleName, find_triggered_value(), "role")
        if role == former:
            raise PreventUpdate
        await people.change_role(get_request(), person, Role(role))
        return mark_change()


def _refuse_role(error: Exception) -> None:
    """Report a refusal, and read the dialog again: the field shows the role that was refused."""
    report_in(Ids.DIALOG, error)
    set_properties(f"{Ids.DIALOG}-changed", {"data": mark_change()})


def _register_erasure(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "isUnconfirmed"),
        Output(Ids.ERASE, "disabled"),
        Input(rows_of(people_lists.NAME), "value"),
        ERASED_PERSON,
        prevent_initial_call=True,
    )

    @app.callback(
        changed_output(Ids.DIALOG),
        Output(Ids.ERASURE, "is_open", allow_duplicate=True),
        Output(Ids.ERASED, "children", allow_duplicate=True),
        Input(Ids.ERASE, "n_clicks"),
        ERASED_PERSON,
        State(rows_of(people_lists.NAME), "value"),
        prevent_initial_call=True,
        on_error=_refuse_erasure,
    )
    async def erase(__: Any, opened: _Opened, typed: list[Name]) -> tuple[float, bool, str]:
        people, name = _require_people(services, with_passwords=False), opened["about"]
        if typed != [name]:
            raise InvalidAccountError(sentence("Write the person's name to confirm."))
        await people.erase(get_request(), name)
        set_properties(f"{Ids.DIALOG}-problem", {"hidden": True})
        set_properties(Ids.LINK, {"value": ""})
        return mark_change(), False, _("{name} is erased.", name=name)


def _refuse_erasure(error: Exception) -> None:
    """Report why nobody is erased, also in the dialog below: the upper one may have been closed meanwhile."""
    report_in(Ids.ERASURE, error)
    report_in(Ids.DIALOG, error)


DIALOG = ReadDialog(Ids.DIALOG, TITLE, Ids.BUTTON, read, fields=build_fields, parts=[Ids.LIST, Ids.INVITE, Ids.ERASED])
ERASURE = ReadDialog(
    Ids.ERASURE,
    N_("Erase a person"),
    rows_of(people_lists.ERASE),
    read_erasure,
    buttons=build_erase,
    close=N_("Cancel"),
    states=[ERASED_PERSON, State(rows_of(people_lists.NAME), "value")],
)
PANEL = Panel(register=register, read_dialogs=[DIALOG, ERASURE], show=show, person_buttons=lambda: [build_item()])
