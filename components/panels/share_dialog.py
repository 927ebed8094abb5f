"""The dialog of a conversation's people and links: who is let in, and under which links strangers read.

It is opened for the conversation by the menu, and for a checkpoint by its card (assets/modules/dialogs/sharing.mjs).
"""

import secrets
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dash import Dash, Input, Output, State, ctx, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from dash_bootstrap_components import Checkbox, Form, Label, Select
from dash_bootstrap_components import Input as Field
from dash_bootstrap_components import Textarea as TextArea
from pydantic import Field as Limits
from typing_extensions import TypedDict

from checkpoints.interchange.redaction import Redaction
from checkpoints.people.members import MEMBER_ROLES, Members
from checkpoints.people.shares import NewShare, Shares
from checkpoints.values.limits import MAX_LABEL_CHARS, MAX_MEMBER_NAME_CHARS
from checkpoints.values.model import ThreadRole
from components import link_field, page_state, share_lists
from components.dialog import (
    ReadDialog,
    changed_output,
    find_pressed_row,
    mark_change,
    report_in,
    rows_of,
)
from components.members import MemberRequests
from components.page_state import PageLocation
from components.panel import Panel
from components.people import READER, get_acting_role
from components.properties import Properties, find_triggered_value, set_properties
from components.routes.shared_page import SHARED_PATH
from components.services import Services
from components.shapes import check_shape
from components.widgets import build_menu_item
from server.addresses import build_address
from words import N_, _, ngettext

TITLE = N_("Share this conversation")
DAYS = (1, 7, 30, 90)


class Ids(StrEnum):
    BUTTON = "share"
    DIALOG = "share-dialog"
    LET_IN = "share-let-in"
    LET_IN_FORM = "share-let-in-form"
    NAME = "share-name"
    ROLE = "share-role"
    MEMBERS = "share-members"
    SCOPE = "share-scope"
    FORM = "share-form"
    RESULTS = "share-results"
    FILES = "share-files"
    SHOWS_NAME = "share-shows-name"
    OWN_NAME = "share-own-name"
    WORDS = "share-words"
    DAYS = "share-days"
    LINK = "share-link"
    # The token of the link to be made next.
    NEXT = "share-next"


GUARDED: Any = {"prevent_initial_call": True, "on_error": partial(report_in, Ids.DIALOG)}
Text = Annotated[str, Limits(max_length=MAX_LABEL_CHARS)]


class _Checkpoint(TypedDict):
    id: Text
    name: str


class _Opened(TypedDict):
    # The dialog was opened for this checkpoint, or for the conversation.
    about: _Checkpoint | None


def buttons() -> list[Component]:
    return [build_menu_item("share", _("Share…"), Ids.BUTTON, title=_("People and links of this conversation"), hidden=True)]


def show(services: Services, location: PageLocation) -> Properties:
    """Hide the item from readers, unless they are members and could leave the conversation."""
    is_hidden = location.thread_id is None or (
        get_acting_role() == READER and Members(services.store).find_role(location.thread_id) not in MEMBER_ROLES
    )
    return {Ids.BUTTON: {"hidden": is_hidden}, Ids.OWN_NAME: {"hidden": not services.store.database.separates_owners}}


def build_fields() -> list[Component]:
    """Build the forms. The style sheet hides each until a reading has filled the part above it."""
    people = [html.Div(id=Ids.LET_IN), _build_let_in(), html.Ul(id=Ids.MEMBERS)]
    made = link_field.build_link_field(Ids.LINK, _("The link is shown only now."))
    links = [html.Div(id=Ids.SCOPE), _build_form(), made, dcc.Store(id=Ids.NEXT)]
    return [html.Section(people, className="share"), html.Section(links, className="share")]


def _build_let_in() -> Component:
    fields = [
        Label(_("Name"), html_for=Ids.NAME),
        Field(id=Ids.NAME, maxlength=MAX_MEMBER_NAME_CHARS, required=True, autocomplete="off"),
        Label(_("What they may do"), html_for=Ids.ROLE, className="visually-hidden"),
        Select(share_lists.list_roles(), ThreadRole.EDITOR, id=Ids.ROLE),
        _build_submit(_("Let in")),
    ]
    form: Component = Form(fields, id=Ids.LET_IN_FORM, className="share-make")
    return form


def _build_form() -> Component:
    """Build the form of a new link."""
    label = [_("Words to redact"), " ", html.Span(_("optional, one per line"), className="quiet")]
    note = _(
        "* matches the rest of a word. With words, attached files are left out as well. "
        "The export dialog lists what redaction cannot find."
    )
    days = [{"label": ngettext("{count} day", "{count} days", each), "value": str(each)} for each in DAYS]
    fields = [
        Checkbox(id=Ids.RESULTS, label=_("Leave out tool results"), value=True),
        Checkbox(id=Ids.FILES, label=_("Leave out attached files"), value=False),
        html.Div(Checkbox(id=Ids.SHOWS_NAME, label=_("Show my name"), value=False), id=Ids.OWN_NAME, hidden=True),
        Label(label, html_for=Ids.WORDS),
        TextArea(id=Ids.WORDS, rows=2, placeholder="sk-*"),
        html.P(note, className="quiet"),
    ]
    made = [
        Label(_("The link works for"), html_for=Ids.DAYS),
        Select(days, "7", id=Ids.DAYS),
        _build_submit(_("Make a link")),
    ]
    form: Component = Form([*fields, html.Div(made, className="share-make")], id=Ids.FORM)
    return form


def _build_submit(text: str) -> Component:
    once: Any = {"data-once": ""}
    return html.Button(text, type="submit", className="btn btn-primary", **once)


async def read(services: Services, thread_id: str | None, opened: Any, href: Any, token: Any) -> Sequence[Any]:
    """Return the content of the parts. Members see the people, and a checkpoint is shared by links alone.

    The token of the next link stays until that is made, or the dialog is opened again. So a press whose answer was lost
    makes the same link when it is repeated.
    """
    checkpoint = check_shape(_Opened, opened, "opened")["about"]
    address = check_shape(str, href, "href")
    people = await services.read_snapshot(MemberRequests(services).describe, thread_id or "")
    is_owner = people.role is ThreadRole.OWNER
    title = _("Share {name}", name=checkpoint["name"]) if checkpoint else _(TITLE)
    set_properties(f"{Ids.DIALOG}-title", {"children": title if is_owner else _("People in this conversation")})
    has_people = people.is_shared and checkpoint is None
    let_in = share_lists.build_let_in() if is_owner and has_people else []
    members = share_lists.build_people(people) if has_people else []
    if not is_owner:
        return [], [], let_in, members
    if not token or ctx.triggered_id == f"{Ids.DIALOG}-opened":
        set_properties(Ids.NEXT, {"data": _create_token()})
    links = await services.read_snapshot(Shares(services.store).list_links, thread_id or "")
    host = urlsplit(address).hostname
    scope = share_lists.build_scope(host, is_checkpoint=checkpoint is not None, is_below_people=has_people)
    return share_lists.build_links(links), scope, let_in, members


def _create_token() -> str:
    return secrets.token_urlsafe(32)


def register(app: Dash, services: Services) -> None:
    link_field.register(app, Ids.LINK, Ids.DIALOG)
    _register_make_link(app, services)
    _register_revoke_link(app, services)
    _register_let_in(app, MemberRequests(services))
    _register_members(app, MemberRequests(services))


def _register_make_link(app: Dash, services: Services) -> None:
    @app.callback(
        changed_output(Ids.DIALOG),
        Output(Ids.LINK, "value"),
        Output(Ids.NEXT, "data"),
        Input(Ids.FORM, "n_submit"),
        State(f"{Ids.DIALOG}-opened", "data"),
        State(page_state.Ids.URL, "pathname"),
        State(page_state.Ids.URL, "href"),
        State(Ids.NEXT, "data"),
        *(State(each, "value") for each in (Ids.RESULTS, Ids.FILES, Ids.SHOWS_NAME, Ids.WORDS, Ids.DAYS)),
        **GUARDED,
    )
    async def make_link(
        _: Any,
        opened: _Opened,
        pathname: str,
        href: str,
        token: Annotated[str, Limits(pattern=r"^[\w-]{43}$")],
        results: bool,
        files: bool,
        shows_name: bool,
        words: str | None,
        days: Annotated[str, Limits(pattern=r"^\d{1,4}$")],
    ) -> tuple[float, str, str]:
        lines = tuple(line.strip() for line in (words or "").splitlines() if line.strip())
        redaction = Redaction(results, lines, files) if lines or results or files else None
        checkpoint = opened["about"] and opened["about"]["id"]
        new = NewShare(_name_thread(pathname), checkpoint, int(days), redaction, shows_name)
        await services.run_blocking(Shares(services.store).make_link, token, new)
        place = urlsplit(href)
        link = f"{place.scheme}://{place.netloc}{build_address(SHARED_PATH)}?token={token}"
        return mark_change(), link, _create_token()


def _register_revoke_link(app: Dash, services: Services) -> None:
    @app.callback(
        changed_output(Ids.DIALOG),
        Input(rows_of("share-revoke"), "n_clicks"),
        State(page_state.Ids.URL, "pathname"),
        **GUARDED,
    )
    async def revoke_link(_: Any, pathname: str) -> float:
        """End a link. The text of one that was made before goes."""
        await services.run_blocking(Shares(services.store).revoke_link, _name_thread(pathname), find_pressed_row())
        set_properties(Ids.LINK, {"value": ""})
        return mark_change()


def _register_let_in(app: Dash, members: MemberRequests) -> None:
    @app.callback(
        changed_output(Ids.DIALOG),
        Output(Ids.NAME, "value"),
        Input(Ids.LET_IN_FORM, "n_submit"),
        State(page_state.Ids.URL, "pathname"),
        State(Ids.NAME, "value"),
        State(Ids.ROLE, "value"),
        **GUARDED,
    )
    async def let_in(_: Any, pathname: str, name: Text, role: Literal["editor", "reader"]) -> tuple[float, str]:
        await members.add(_name_thread(pathname), name, ThreadRole(role))
        return mark_change(), ""


def _register_members(app: Dash, members: MemberRequests) -> None:
    changed, address = changed_output(Ids.DIALOG), State(page_state.Ids.URL, "pathname")
    closed = Output(Ids.DIALOG, "is_open", allow_duplicate=True)

    @app.callback(changed, Input(rows_of("member-role"), "value"), address, **GUARDED | {"on_error": _refuse_role})
    async def change_role(_: Any, pathname: str) -> float:
        """Change a role. The row of a field is its person after the role that it showed first."""
        former, _colon, person = find_pressed_row().partition(":")
        role = check_shape(Literal["editor", "reader"], find_triggered_value(), "role")
        if role == former:
            raise PreventUpdate
        await members.change_role(_name_thread(pathname), person, ThreadRole(role))
        return mark_change()

    @app.callback(changed, Input(rows_of("member-remove"), "n_clicks"), address, **GUARDED)
    async def remove(_: Any, pathname: str) -> float:
        await members.remove(_name_thread(pathname), find_pressed_row())
        return mark_change()

    @app.callback(closed, Input(rows_of("member-leave"), "n_clicks"), address, **GUARDED)
    async def leave(_: Any, pathname: str) -> bool:
        find_pressed_row()
        await members.leave(_name_thread(pathname))
        return False


def _refuse_role(error: Exception) -> None:
    """Report a refusal, and read the dialog again: the field shows the role that was refused."""
    report_in(Ids.DIALOG, error)
    set_properties(f"{Ids.DIALOG}-changed", {"data": mark_change()})


def _name_thread(pathname: str) -> str:
    # No conversation has an empty id, and its refusal is a sentence.
    return page_state.parse_thread_id(pathname) or ""


DIALOG = ReadDialog(
    Ids.DIALOG,
    TITLE,
    Ids.BUTTON,
    read,
    fields=build_fields,
    parts=[Ids.SCOPE, Ids.LET_IN, Ids.MEMBERS],
    states=[State(f"{Ids.DIALOG}-opened", "data"), State(page_state.Ids.URL, "href"), State(Ids.NEXT, "data")],
)
PANEL = Panel(register=register, read_dialogs=[DIALOG], buttons=buttons, show=show)
