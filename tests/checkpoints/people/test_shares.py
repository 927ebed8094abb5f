"""Links under which strangers read: what each shows, until when, and what is written about them."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import Checkpoint, CheckpointNotFoundError, Store, ThreadNotFoundError, act_for
from checkpoints.interchange.redaction import Redaction
from checkpoints.people.audit_log import AuditLog
from checkpoints.people.shares import NewShare, Shares
from checkpoints.rows import checkpoint_rows
from checkpoints.rows.account_rows import Role
from checkpoints.storage import schema
from checkpoints.upkeep import erasure
from checkpoints.values.audit_entry import AuditKind
from checkpoints.values.errors import InvalidShareError, ReadOnlyError, ShareNotFoundError
from checkpoints.values.limits import MAX_SHARE_DAYS, MAX_SHARES_OF_THREAD
from extensions.people.accounts import Accounts
from tests.checkpoints.conversations import talked
from tests.conftest import Clock
from tests.extensions.people.test_accounts import add, fill_at_rest


@pytest.fixture
def shares(store: Store) -> Shares:
    return Shares(store)


def test_a_link_shows_the_conversation_or_a_checkpoint_and_counts(store: Store, shares: Shares) -> None:
    thread_id = talked(store, "a", "b")
    saved = store.save(thread_id, name="Here").result
    redaction = Redaction(True, ("sk-*",), True)
    shares.make_link("whole", NewShare(thread_id))
    made = shares.make_link("one", NewShare(thread_id, saved, 1, redaction, shows_name=True))
    assert shares.open_link("whole").checkpoint is None
    found = shares.open_link("one")
    assert (found.thread.id, found.checkpoint and found.checkpoint.id, found.share) == (thread_id, saved, made)
    shares.open_link("one")
    listed = shares.list_links(thread_id)
    assert sorted((each.opened, each.redaction, name) for each, name in listed) == [(1, None, None), (2, redaction, "Here")]
    entries = AuditLog(store).list_entries(10)
    opened = [each.detail["link"] for each in entries if each.kind is AuditKind.SHARE_OPENED]
    assert sorted(opened) == sorted(each.id for each, _ in listed)  # each once
    assert [each.detail["checkpoint"] for each in entries if each.kind is AuditKind.SHARE] == [saved, None]


def test_a_token_is_kept_as_a_hash_alone(store: Store, shares: Shares) -> None:
    shares.make_link("a token", NewShare(talked(store, "a")))
    with store.database.begin_read() as connection:
        rows = [str(row) for table in (schema.share, schema.audit_entry) for row in connection.execute(table.select())]
    assert len(rows) == 2
    assert "a token" not in str(rows)


def test_a_link_that_is_wrong_ended_revoked_or_of_something_deleted_opens_nothing(
    store: Store, shares: Shares, clock: Clock
) -> None:
    thread_id = talked(store, "a", "b")
    saved = store.save(thread_id).result
    revoked = shares.make_link("revoked", NewShare(thread_id))
    shares.make_link("ended", NewShare(thread_id, days=1))
    shares.make_link("of a checkpoint", NewShare(thread_id, saved, 30))
    shares.make_link("whole", NewShare(thread_id, days=30))
    shares.revoke_link(thread_id, revoked.id)
    clock.turn(timedelta(days=1))
    store.delete_checkpoint(thread_id, saved)
    for token in ("", "wrong", "revoked", "ended", "of a checkpoint"):
        with pytest.raises(ShareNotFoundError):
            shares.open_link(token)
    assert len(shares.list_links(thread_id)) == 2
    store.undo(thread_id)
    shares.open_link("of a checkpoint")
    store.delete_thread(thread_id)
    with pytest.raises(ShareNotFoundError):
        shares.open_link("whole")
    with pytest.raises(ShareNotFoundError):
        shares.revoke_link(talked(store, "c"), revoked.id)


def test_a_checkpoint_that_a_restore_removed_is_still_shown(store: Store, shares: Shares) -> None:
    thread_id = talked(store, "a", "b")
    first = store.save(thread_id).result
    store.append(thread_id, [])
    shares.make_link("x", NewShare(thread_id, first))
    store.clear(thread_id)
    assert store.list_checkpoints(thread_id) == []
    found = shares.open_link("x").checkpoint
    assert found
    assert found.id == first


def test_a_link_to_a_checkpoint_reads_no_other_one(store: Store, shares: Shares, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id, read, build = talked(store, "a"), list[str](), checkpoint_rows._row_to_checkpoint
    saved = [store.save(thread_id, name=f"Here {number}").result for number in range(20)]

    def build_recorded(row: Any, *given: Any) -> Checkpoint:
        read.append(row.id)
        return build(row, *given)

    monkeypatch.setattr(checkpoint_rows, "_row_to_checkpoint", build_recorded)
    shares.make_link("x", NewShare(thread_id, saved[7]))
    shares.open_link("x")
    assert read == [saved[7]] * 2


def test_links_are_limited(store: Store, shares: Shares) -> None:
    thread_id = talked(store, "a")
    for days in (0, MAX_SHARE_DAYS + 1):
        with pytest.raises(InvalidShareError, match="365"):
            shares.make_link("x", NewShare(thread_id, days=days))
    for number in range(MAX_SHARES_OF_THREAD):
        shares.make_link(f"link {number}", NewShare(thread_id))
    with pytest.raises(InvalidShareError, match="50"):
        shares.make_link("x", NewShare(thread_id))
    with pytest.raises(CheckpointNotFoundError):
        shares.make_link("x", NewShare(talked(store, "b"), "no such checkpoint"))


def test_links_are_the_owners_alone_and_a_stranger_opens_them(store: Store, shares: Shares) -> None:
    store.database.separate_owners()
    ann = fill_at_rest(store, "ann")
    with act_for("ann"):
        made = shares.make_link("x", NewShare(ann.thread, ann.checkpoint))
    with act_for("bob"):
        for change in (
            lambda: shares.make_link("y", NewShare(ann.thread)),
            lambda: shares.revoke_link(ann.thread, made.id),
            lambda: shares.list_links(ann.thread),
        ):
            with pytest.raises(ThreadNotFoundError):
                change()
        assert shares.open_link("x").thread.id == ann.thread
    with act_for("ann", only_reads=True), pytest.raises(ReadOnlyError):
        shares.make_link("y", NewShare(ann.thread))
    assert shares.open_link("x").thread.owner == "ann"  # nobody


def test_the_links_of_who_becomes_a_reader_end(store: Store, shares: Shares) -> None:
    accounts = Accounts(store)
    store.database.separate_owners()
    add(accounts, "ann", Role.ADMIN)
    add(accounts, "bob")
    for name in ("ann", "bob"):
        with act_for(name):
            shares.make_link(name, NewShare(talked(store, "a")))
    accounts.change_role("bob", Role.READER)
    assert shares.open_link("ann")
    with pytest.raises(ShareNotFoundError):
        shares.open_link("bob")
    [entry] = AuditLog(store).list_entries(1, kind=AuditKind.ROLE)
    assert (entry.about, entry.detail["ended_links"]) == ("bob", 1)


def test_an_erased_conversation_takes_its_links_along(store: Store, shares: Shares) -> None:
    thread_id = talked(store, "a")
    shares.make_link("x", NewShare(thread_id))
    erasure.erase(store.database, thread_id)
    with pytest.raises(ShareNotFoundError):
        shares.open_link("x")


@pytest.mark.parametrize("damaged", ["{", "null", "[]", '{"tool_results": true}', '{"tool_results": true, "patterns": 1}'])
def test_a_link_whose_redaction_cannot_be_read_shows_nothing(store: Store, shares: Shares, damaged: str) -> None:
    thread_id = talked(store, "a")
    shares.make_link("x", NewShare(thread_id, redaction=Redaction(True)))
    if store.database.kind == "postgresql" and damaged == "{":
        return  # PostgreSQL takes no such text
    with store.database.begin_write() as connection:
        connection.execute(sa.text("UPDATE share SET redaction = :damaged"), {"damaged": damaged})
    with pytest.raises(ShareNotFoundError):
        shares.open_link("x")
    assert shares.list_links(thread_id) == []
