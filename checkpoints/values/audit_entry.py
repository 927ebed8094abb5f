"""The entries of the audit log, and their kinds. No sentences: components.views.audit_sentences makes those."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

ERASED_PREFIX = "erased,"  # of what replaces the name of a person who was erased; no name has a comma
THE_COMMAND_LINE = "the command line"  # in the place of a person's name


class AuditKind(StrEnum):
    SIGN_IN = "sign-in"
    SIGN_IN_REFUSED = "sign-in-refused"  # the first of each minute
    SHARE = "share"
    SHARE_REVOKED = "share-revoked"
    SHARE_OPENED = "share-opened"  # for the first time
    MEMBER = "member"  # let into a conversation
    MEMBER_ROLE = "member-role"
    MEMBER_REMOVED = "member-removed"
    EXPORT = "export"
    ERASE = "erase"  # of conversations, or of what nothing reaches
    PERSON_ERASED = "person-erased"
    INVITATION = "invitation"
    INVITATION_REVOKED = "invitation-revoked"
    ACCOUNT = "account"  # a new one
    PASSWORD = "password"  # noqa: S105  (a kind)
    ROLE = "role"
    SETTINGS = "settings"  # of a conversation
    MODEL = "model"  # connected in the page


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry. `about` is another person whom it concerns; an empty name is nobody that is known."""

    number: int
    time: datetime
    person: str
    kind: AuditKind
    about: str
    detail: Mapping[str, Any]
    address: str
