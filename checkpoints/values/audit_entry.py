"""Audit log entries and their kinds. `components.views.audit_sentences` writes the sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

# The prefix of the text that replaces an erased person's name. Names contain no comma.
ERASED_PREFIX = "erased,"
# Stored instead of a person's name.
THE_COMMAND_LINE = "the command line"


class AuditKind(StrEnum):
    SIGN_IN = "sign-in"
    # Logged once a minute at most.
    SIGN_IN_REFUSED = "sign-in-refused"
    SHARE = "share"
    SHARE_REVOKED = "share-revoked"
    # Logged for the first opening only.
    SHARE_OPENED = "share-opened"
    # A person was let into a conversation.
    MEMBER = "member"
    MEMBER_ROLE = "member-role"
    MEMBER_REMOVED = "member-removed"
    EXPORT = "export"
    # Conversations, or unreachable content, were erased.
    ERASE = "erase"
    PERSON_ERASED = "person-erased"
    INVITATION = "invitation"
    INVITATION_REVOKED = "invitation-revoked"
    # A new account.
    ACCOUNT = "account"
    PASSWORD = "password"  # noqa: S105  (a kind)
    ROLE = "role"
    # A conversation's settings.
    SETTINGS = "settings"
    # A model was connected in the page.
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An audit log entry. `about` names the other person concerned. An empty name means unknown."""

    number: int
    time: datetime
    person: str
    kind: AuditKind
    about: str
    detail: Mapping[str, Any]
    address: str
