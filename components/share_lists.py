"""The lists in the dialogs of a conversation's people and links, and of the people of a server."""

import re
from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component
from dash_bootstrap_components import Select

from checkpoints import get_acting_owner
from checkpoints.people.shares import Share
from checkpoints.rows.member_rows import Member
from checkpoints.values.model import ThreadRole
from components.dialog import build_row_button, build_row_label, write_row_id
from components.members import ConversationPeople
from components.views.audit_sentences import describe_person
from components.widgets import Time
from words import N_, _, ngettext

ROLES = {ThreadRole.EDITOR: N_("may change it"), ThreadRole.READER: N_("may read it")}
_LOOPBACK = re.compile(r"localhost|127\.[\d.]+|::1")


def list_roles() -> list[dict[str, str]]:
    return [{"label": _(text), "value": role} for role, text in ROLES.items()]


def build_scope(host: str | None, *, is_checkpoint: bool, is_below_people: bool) -> list[Component]:
    """Say what a link shows, and whether it works elsewhere than on the computer of this host."""
    heading = [html.H3(_("Links"))] if is_below_people else []
    about = (
        _("Anyone with a link can read the messages up to this checkpoint, without an account.")
        if is_checkpoint
        else _(
            "Anyone with a link can read this branch of the conversation, as it is when they open it, without an account."
        )
    )
    note = _("This Waymark runs on this computer only, so links open only here.")
    return [*heading, html.P(about), *([html.P(note, className="quiet")] if _LOOPBACK.fullmatch(host or "") else [])]


def build_let_in() -> list[Component]:
    about = _(
        "People whom you let in see this conversation in their list, with all that is written in it. "
        "Each answer counts for who asks."
    )
    return [html.H3(_("People")), html.P(about)]


def build_links(links: Sequence[tuple[Share, str | None]]) -> list[Component]:
    """Build the list of the links. Their redacted words are shown to nobody."""
    if not links:
        return []
    lines = html.Ul([_build_link(share, name) for share, name in links])
    return [html.Section([html.H3(_("Links to this conversation")), lines], className="share")]


def _build_link(share: Share, name: str | None) -> Component:
    """Build the line of a link. The second at which it was made tells it from others, also in its button's name."""
    purpose = _("Checkpoint {name}", name=name or "–") if share.checkpoint_id else _("The conversation")
    made = _put_time(_("made {time}", time="\0"), share.created_at.isoformat(), name="seconds")
    name_id = f"share-link-{share.id}"
    named = html.Span([purpose, " · ", *made], id=name_id)
    facts: list[list[Any]] = [
        _put_time(_("ends {time}", time="\0"), share.expires_at.isoformat()),
        [ngettext("opened {count} time", "opened {count} times", share.opened)],
        *([[_("parts left out")]] if share.redaction else []),
        *([[_("with your name")]] if share.shows_name else []),
    ]
    joined = [part for fact in facts for part in (" · ", *fact)][1:]
    # The name of the button has the time as the browser writes it.
    label: Any = {"aria-labelledby": f"{write_row_id('share-revoke', share.id)} {name_id}"}
    revoke = build_row_button(_("Revoke"), "share-revoke", share.id, **label)
    return build_line("share-link", named, joined, [revoke])


def _put_time(sentence: str, moment: str, **options: Any) -> list[Any]:
    before, _mark, after = sentence.partition("\0")
    return [part for part in (before, Time(data=moment, **options), after) if part != ""]


def build_people(people: ConversationPeople) -> list[Component]:
    if people.role is ThreadRole.OWNER:
        return [_build_own_member(each) for each in people.members]
    lines = [_build_member(each) for each in people.members]
    about = html.Li(_("{name} has let you into this conversation.", name=people.owner), className="share-about")
    return [about, build_line("member", people.owner, [_("owner")]), *lines]


def _build_member(member: Member) -> Component:
    is_own = member.person == get_acting_owner()
    leave = [build_row_button(_("Leave"), "member-leave", "own")] if is_own else []
    return build_line("member", describe_person(member.person), [_(ROLES[member.role])], leave)


def _build_own_member(member: Member) -> Component:
    """Build the line of a member for the owner, who changes the role and removes them."""
    person, name = member.person, describe_person(member.person)
    role = build_role_field("member-role", list_roles(), member.role, person, _("What {name} may do", name=name))
    remove = build_row_button(_("Remove"), "member-remove", person, _("Remove {name}", name=name))
    return build_line("member", name, [], [role, remove])


def build_role_field(kind: str, roles: list[dict[str, str]], role: str, person: str, label: str) -> Component:
    """Build the field for the role of a person. Its row is the person after the role that it shows first."""
    row = f"{role}:{person}"
    # The name is that of the same field in the next reading: see assets/modules/page/lost-focus.mjs.
    field = Select(roles, role, id={"type": kind, "row": row}, name=f"role:{person}")
    return html.Span([build_row_label(label, kind, row, "visually-hidden"), field])


def build_line(kind: str, name: Any, about: Sequence[Any], buttons: Sequence[Component] = ()) -> Component:
    """Build a row with a name, what is said about it, and buttons."""
    named: Any = {"data-testid": kind}
    quiet = [html.P(list(about), className="quiet")] if about else []
    return html.Li([html.Div([html.P(name, dir="auto"), *quiet], className="share-text"), *buttons], **named)
