"""Entries of the audit log as sentences: one for every kind, as it is written by what it tells of."""

from datetime import UTC, datetime
from typing import Any

import pytest

from checkpoints import LOCAL_OWNER
from checkpoints.values.audit_entry import ERASED_PREFIX, THE_COMMAND_LINE, AuditEntry, AuditKind
from components.views.audit_sentences import KIND_LABELS, describe_entry, describe_person

TIME = datetime(2026, 11, 24, 1, 2, 3, tzinfo=UTC)
LINK = {"thread": "t1", "checkpoint": None, "link": "l1", "days": 7, "redacted": False}
EXPORT = {"thread": "t1", "format": "html", "redacted": False}
SENTENCES: list[tuple[AuditKind, dict[str, Any], str, str]] = [
    (AuditKind.SIGN_IN, {}, "", "Signed in"),
    (AuditKind.SIGN_IN_REFUSED, {}, "bob", "A wrong password for bob"),
    (AuditKind.SIGN_IN_REFUSED, {}, "", "A name that nobody has"),
    (AuditKind.SIGN_IN_REFUSED, {"provider": True}, "", "A sign-in at the provider was refused"),
    (AuditKind.SHARE, LINK, "", "Made a link to the conversation t1, for 7 days"),
    (
        *(AuditKind.SHARE, LINK | {"checkpoint": "c1", "days": 1, "redacted": True}, ""),
        "Made a link to a checkpoint of the conversation t1, for 1 day, with parts left out",
    ),
    (AuditKind.SHARE_REVOKED, {"thread": "t1", "link": "l1"}, "", "Revoked a link to the conversation t1"),
    (AuditKind.SHARE_OPENED, {"thread": "t1", "link": "l1"}, "bob", "A link of bob was opened for the first time"),
    (AuditKind.SHARE_OPENED, {"thread": "t1", "link": "l1"}, LOCAL_OWNER, "A link was opened for the first time"),
    (AuditKind.MEMBER, {"thread": "t1", "role": "editor"}, "bob", "Let bob into the conversation t1: may change it"),
    (
        *(AuditKind.MEMBER_ROLE, {"thread": "t1", "role": "reader"}, "bob"),
        "Changed the role of bob in the conversation t1: may read it",
    ),
    (AuditKind.MEMBER_REMOVED, {"thread": "t1", "left": False}, "bob", "Removed bob from the conversation t1"),
    (AuditKind.MEMBER_REMOVED, {"thread": "t1", "left": True}, "ann", "Left the conversation t1"),
    (AuditKind.EXPORT, EXPORT, "", "Exported the conversation t1 as html"),
    (AuditKind.EXPORT, EXPORT | {"redacted": True}, "", "Exported the conversation t1 as html, with parts left out"),
    (AuditKind.EXPORT, {"threads": 1_000, "format": "waymark"}, "", "Exported 1,000 conversations"),
    (AuditKind.ERASE, {"thread": "t1", "messages": 2}, "", "Erased a conversation with 2 messages"),
    (AuditKind.ERASE, {"thread": None, "messages": 1}, "", "Erased 1 message that nothing reached"),
    (
        *(AuditKind.PERSON_ERASED, {"threads": 2, "messages": 9}, f"{ERASED_PREFIX}3f2a"),
        "Erased a person with 2 conversations",
    ),
    (AuditKind.INVITATION, {"role": "reader"}, "", "Made a link for a new person: Reader"),
    (AuditKind.INVITATION, {"role": "reader"}, "bob", "Made a link for a new password of bob"),
    (AuditKind.INVITATION, {"readmits": True}, "", "Let an erased person sign in at the provider again"),
    (AuditKind.INVITATION_REVOKED, {"link": "l1"}, "", "Revoked an invitation"),
    (AuditKind.ACCOUNT, {"role": "admin"}, "", "Joined: Admin"),
    (AuditKind.PASSWORD, {}, "", "Chose a new password"),
    (AuditKind.ROLE, {"role": "member", "former": "admin"}, "bob", "Gave bob the role: Member"),
    (
        AuditKind.SETTINGS,
        {"thread": "t1", "keys": ["model", "top_p"]},
        "",
        "Changed settings of the conversation t1: model, top_p",
    ),
    (AuditKind.MODEL, {"provider": "openai", "model": "openai:x"}, "", "Connected the model openai:x"),
]


@pytest.mark.parametrize(("kind", "detail", "about", "text"), SENTENCES)
def test_an_entry_is_a_sentence(kind: AuditKind, detail: dict[str, Any], about: str, text: str) -> None:
    shown = describe_entry(AuditEntry(1, TIME, "ann", kind, about, detail, "10.0.0.1"))
    assert shown == {"number": 1, "time": TIME.isoformat(), "who": "ann", "text": text, "address": "10.0.0.1"}


def test_a_conversation_is_named_by_its_title_where_that_is_known() -> None:
    entry = AuditEntry(1, TIME, "ann", AuditKind.SHARE_REVOKED, "", {"thread": "t1", "link": "l1"}, "10.0.0.1")
    assert describe_entry(entry, {"t1": "Herons"})["text"] == "Revoked a link to the conversation “Herons”"
    assert describe_entry(entry, {"t2": "Herons"})["text"] == "Revoked a link to the conversation t1"


def test_every_kind_has_a_sentence_and_a_label() -> None:
    assert {kind for kind, *_ in SENTENCES} == set(AuditKind) == set(KIND_LABELS)


def test_people_are_named_or_said_to_be_erased() -> None:
    found = [describe_person(name) for name in ("ann", "", LOCAL_OWNER, THE_COMMAND_LINE, f"{ERASED_PREFIX}3f2a")]
    assert found == ["ann", "", "You", "the command line", "an erased person (3f2a)"]
