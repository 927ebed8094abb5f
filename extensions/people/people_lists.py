"""The parts of the dialogs of a server's people: the people, the links that still work, and what an erasure erases."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component
from dash_bootstrap_components import Form, Label, Select
from dash_bootstrap_components import Input as Field

from checkpoints import get_acting_owner
from checkpoints.rows.account_rows import MAX_PERSON_NAME_CHARS, Account, Role
from checkpoints.upkeep.person_erasure import PersonErasure
from checkpoints.values.audit_entry import THE_COMMAND_LINE
from components.dialog import build_row_button
from components.share_lists import build_line, build_role_field
from components.widgets import Time
from words import N_, _, arrange, ngettext

if TYPE_CHECKING:
    from extensions.people.accounts import Invitation

ROLES = {Role.ADMIN: N_("Admin"), Role.MEMBER: N_("Member"), Role.READER: N_("Reader")}
DAYS = (1, 7, 30)
# The kinds of fields and buttons in rows.
ROLE, PASSWORD, ERASE, END, NAME = "person-role", "person-password", "person-erase", "person-link-end", "person-named"


def _list_roles() -> list[dict[str, str]]:
    return [{"label": _(name), "value": role} for role, name in ROLES.items()]


def build_form(identifier: str, role: str, days: str) -> Component:
    """Build the form of a new link, with its own id and those of its fields."""
    choices = [{"label": ngettext("{count} day", "{count} days", each), "value": str(each)} for each in DAYS]
    once: Any = {"data-once": ""}
    fields = [
        html.Div([Label(_("As"), html_for=role), Select(_list_roles(), Role.MEMBER, id=role)]),
        html.Div([Label(_("The link works for"), html_for=days), Select(choices, "7", id=days)]),
        html.Button(_("Make a link"), type="submit", className="btn btn-primary", **once),
    ]
    note = html.P(_("Readers can open their conversations, but change nothing."), className="quiet")
    form: Component = Form([html.Div(fields, className="share-make"), note], id=identifier)
    return form


def build_people(people: Sequence[tuple[Account, int]], *, has_passwords: bool) -> list[Component]:
    """Build the lines of the people. Those whom a provider knows are only shown, and erased."""
    return [_build_person(*each, has_passwords=has_passwords) for each in people]


def _build_person(account: Account, browsers: int, *, has_passwords: bool) -> Component:
    name = account.name
    shown = [name, html.Strong(_(" · You"))] if name == get_acting_owner() else [name]
    signed_in = ngettext("{count} browser signed in", "{count} browsers signed in", browsers)
    buttons: list[Component] = [html.Span(_(ROLES[account.role]), className="quiet")]
    if has_passwords:
        label = _("A link for a new password of {name}", name=name)
        role = build_role_field(ROLE, _list_roles(), account.role, name, _("Role of {name}", name=name))
        buttons = [role, build_row_button(_("New password"), PASSWORD, name, label)]
    erase = build_row_button(_("Erase…"), ERASE, name, _("Erase {name}", name=name), once=False)
    together = html.Div([*buttons, erase], className="share-buttons")
    return build_line("person", shown, [signed_in if browsers else _("not signed in")], [together])


def build_links(links: Sequence["Invitation"]) -> list[Component]:
    if not links:
        return []
    lines = html.Ul([_build_link(each) for each in links])
    return [html.Section([html.H3(_("Links that still work")), lines], className="share")]


def _build_link(link: "Invitation") -> Component:
    if link.person is None:
        purpose = _("For a new person: {role}", role=_(ROLES[link.role]))
    else:
        purpose = _("For a new password of {name}", name=link.person)
    maker = _("the command line") if link.made_by == THE_COMMAND_LINE else link.made_by
    about = _("made by {name}, until {time}") if maker else _("until {time}")
    placed: dict[str, Any] = {"name": maker, "time": Time(data=link.expires_at.isoformat())}
    revoke = build_row_button(_("Revoke"), END, link.id, _("Revoke: {purpose}", purpose=purpose))
    return build_line("person-link", purpose, arrange(about, **placed), [revoke])


def build_erasure(found: PersonErasure, name: str) -> list[Component]:
    """Say how much is erased, and ask for the name."""
    about = _(
        "Answers in progress are stopped, and their browsers are signed out. "
        "Backups and exports made earlier are not touched."
    )
    field = Field(id={"type": NAME, "row": "own"}, autocomplete="off", maxlength=MAX_PERSON_NAME_CHARS)
    return [
        html.P(_("This erases {name} and all that is theirs, for good:", name=name)),
        html.Ul([html.Li(each) for each in _describe_things(found)]),
        html.P(about),
        html.Label([_("Write the name to confirm"), field], className="w-100"),
    ]


def _describe_things(found: PersonErasure) -> list[str]:
    """Describe the things of a person, counted: "3 conversations", "12 messages"."""
    threads = found.threads
    parts = [
        (len(threads.threads), ngettext("{count} conversation", "{count} conversations", len(threads.threads))),
        (threads.messages, ngettext("{count:,} message", "{count:,} messages", threads.messages)),
        (threads.checkpoints, ngettext("{count:,} checkpoint", "{count:,} checkpoints", threads.checkpoints)),
        (threads.files, ngettext("{count:,} attached file", "{count:,} attached files", threads.files)),
        (found.tags, ngettext("{count} tag", "{count} tags", found.tags)),
        (found.prompts, ngettext("{count} saved prompt", "{count} saved prompts", found.prompts)),
    ]
    return [text for number, text in parts if number] or [_("nothing yet")]
