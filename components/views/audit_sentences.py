"""Sentences for the entries of the audit log, by their kinds and details."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypedDict

from checkpoints import LOCAL_OWNER
from checkpoints.values.audit_entry import ERASED_PREFIX, THE_COMMAND_LINE, AuditEntry, AuditKind
from words import N_, _, ngettext

KIND_LABELS: Final = {
    AuditKind.SIGN_IN: N_("Sign-ins"),
    AuditKind.SIGN_IN_REFUSED: N_("Refused sign-ins"),
    AuditKind.SHARE: N_("Links made"),
    AuditKind.SHARE_REVOKED: N_("Links revoked"),
    AuditKind.SHARE_OPENED: N_("Links opened"),
    AuditKind.MEMBER: N_("People let into conversations"),
    AuditKind.MEMBER_ROLE: N_("Roles in conversations"),
    AuditKind.MEMBER_REMOVED: N_("People removed from conversations"),
    AuditKind.EXPORT: N_("Exports"),
    AuditKind.ERASE: N_("Erasures"),
    AuditKind.PERSON_ERASED: N_("People erased"),
    AuditKind.INVITATION: N_("Invitations"),
    AuditKind.INVITATION_REVOKED: N_("Invitations revoked"),
    AuditKind.ACCOUNT: N_("New people"),
    AuditKind.PASSWORD: N_("New passwords"),
    AuditKind.ROLE: N_("Roles"),
    AuditKind.SETTINGS: N_("Settings of conversations"),
    AuditKind.MODEL: N_("Models connected"),
}
NO_TITLES: Final[Mapping[str, str]] = {}
_MEMBER_ROLES: Final = {"editor": N_("may change it"), "reader": N_("may read it")}
_ROLES: Final = {"admin": N_("Admin"), "member": N_("Member"), "reader": N_("Reader")}


class ShownEntry(TypedDict):
    number: int
    time: str
    who: str
    text: str
    address: str


def describe_entry(entry: AuditEntry, titles: Mapping[str, str] = NO_TITLES) -> ShownEntry:
    """Describe an entry. Conversations without a title in `titles` are named by their ids."""
    title = titles.get(str(entry.detail.get("thread", "")))
    detail = {**entry.detail, "thread": _("“{name}”", name=title)} if title else entry.detail
    about = "" if entry.about == LOCAL_OWNER else describe_person(entry.about)
    return {
        "number": entry.number,
        "time": entry.time.isoformat(),
        "who": describe_person(entry.person),
        "text": _WRITERS[entry.kind](detail, about),
        "address": entry.address,
    }


def describe_person(name: str) -> str:
    """Return the words for a person's name; empty for an unknown person."""
    if name.startswith(ERASED_PREFIX):
        return _("an erased person ({number})", number=name.removeprefix(ERASED_PREFIX))
    if name == THE_COMMAND_LINE:
        return _("the command line")
    return _("You") if name == LOCAL_OWNER else name


def _describe_share(detail: Mapping[str, Any], _about: str) -> str:
    template = (
        ngettext(
            "Made a link to a checkpoint of the conversation {thread}, for {count} day",
            "Made a link to a checkpoint of the conversation {thread}, for {count} days",
            detail["days"],
            thread=detail["thread"],
        )
        if detail["checkpoint"]
        else ngettext(
            "Made a link to the conversation {thread}, for {count} day",
            "Made a link to the conversation {thread}, for {count} days",
            detail["days"],
            thread=detail["thread"],
        )
    )
    return _("{text}, with parts left out", text=template) if detail["redacted"] else template


def _describe_export(detail: Mapping[str, Any], _about: str) -> str:
    if "threads" in detail:
        return ngettext("Exported {count:,} conversation", "Exported {count:,} conversations", detail["threads"])
    values = {"thread": detail["thread"], "format": detail["format"]}
    if detail["redacted"]:
        return _("Exported the conversation {thread} as {format}, with parts left out", **values)
    return _("Exported the conversation {thread} as {format}", **values)


def _describe_erasure(detail: Mapping[str, Any], _about: str) -> str:
    if detail["thread"]:
        return ngettext(
            "Erased a conversation with {count:,} message",
            "Erased a conversation with {count:,} messages",
            detail["messages"],
        )
    return ngettext(
        "Erased {count:,} message that nothing reached", "Erased {count:,} messages that nothing reached", detail["messages"]
    )


def _describe_erased_person(detail: Mapping[str, Any], _about: str) -> str:
    return ngettext(
        "Erased a person with {count} conversation", "Erased a person with {count} conversations", detail["threads"]
    )


def _describe_invitation(detail: Mapping[str, Any], about: str) -> str:
    if "readmits" in detail:
        return _("Let an erased person sign in at the provider again")
    if about:
        return _("Made a link for a new password of {name}", name=about)
    return _("Made a link for a new person: {role}", role=_name_role(detail["role"]))


def _describe_refusal(detail: Mapping[str, Any], about: str) -> str:
    if detail.get("provider"):
        return _("A sign-in at the provider was refused")
    return _("A wrong password for {name}", name=about) if about else _("A name that nobody has")


def _describe_settings(detail: Mapping[str, Any], _about: str) -> str:
    keys = ", ".join(detail["keys"])
    return _("Changed settings of the conversation {thread}: {keys}", thread=detail["thread"], keys=keys)


def _describe_member(detail: Mapping[str, Any], about: str) -> str:
    values = {"name": about, "thread": detail["thread"], "role": _(_MEMBER_ROLES.get(detail["role"], detail["role"]))}
    return _("Let {name} into the conversation {thread}: {role}", **values)


def _describe_member_role(detail: Mapping[str, Any], about: str) -> str:
    values = {"name": about, "thread": detail["thread"], "role": _(_MEMBER_ROLES.get(detail["role"], detail["role"]))}
    return _("Changed the role of {name} in the conversation {thread}: {role}", **values)


def _describe_removed_member(detail: Mapping[str, Any], about: str) -> str:
    if detail["left"]:
        return _("Left the conversation {thread}", thread=detail["thread"])
    return _("Removed {name} from the conversation {thread}", name=about, thread=detail["thread"])


def _name_role(role: str) -> str:
    return _(_ROLES.get(role, role))


_WRITERS: Final[Mapping[AuditKind, Callable[[Mapping[str, Any], str], str]]] = {
    AuditKind.SIGN_IN: lambda *_of: _("Signed in"),
    AuditKind.SIGN_IN_REFUSED: _describe_refusal,
    AuditKind.SHARE: _describe_share,
    AuditKind.SHARE_REVOKED: lambda of, _about: _("Revoked a link to the conversation {thread}", thread=of["thread"]),
    AuditKind.SHARE_OPENED: lambda _of, about: (
        _("A link of {name} was opened for the first time", name=about)
        if about
        else _("A link was opened for the first time")
    ),
    AuditKind.MEMBER: _describe_member,
    AuditKind.MEMBER_ROLE: _describe_member_role,
    AuditKind.MEMBER_REMOVED: _describe_removed_member,
    AuditKind.EXPORT: _describe_export,
    AuditKind.ERASE: _describe_erasure,
    AuditKind.PERSON_ERASED: _describe_erased_person,
    AuditKind.INVITATION: _describe_invitation,
    AuditKind.INVITATION_REVOKED: lambda *_of: _("Revoked an invitation"),
    AuditKind.ACCOUNT: lambda of, _about: _("Joined: {role}", role=_name_role(of["role"])),
    AuditKind.PASSWORD: lambda *_of: _("Chose a new password"),
    AuditKind.ROLE: lambda of, about: _("Gave {name} the role: {role}", name=about, role=_name_role(of["role"])),
    AuditKind.SETTINGS: _describe_settings,
    AuditKind.MODEL: lambda of, _about: _("Connected the model {model}", model=of["model"]),
}
