"""Links for strangers to read a conversation as it is now, or the path to a checkpoint as it was.

A link has 256 random bits, stored as a hash, and an end. Its readers act for its owner, read-only.
"""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from ..interchange.redaction import Redaction
from ..rows import audit_rows, checkpoint_rows, thread_rows
from ..rows.thread_rows import from_time, to_time
from ..storage import schema
from ..storage.database import retry_contended
from ..storage.ownership import EVERYBODY, act_for, require_owner
from ..store import Store, new_id
from ..values.audit_entry import AuditKind
from ..values.errors import CheckpointNotFoundError, InvalidShareError, ShareNotFoundError
from ..values.limits import MAX_SHARE_DAYS, MAX_SHARES_OF_THREAD
from ..values.model import Checkpoint, Thread
from ..values.sentence import sentence

_share = schema.share.c


@dataclass(frozen=True, slots=True)
class Share:
    """A link. Without a checkpoint it shows the conversation as it is now."""

    id: str
    thread_id: str
    checkpoint_id: str | None
    redaction: Redaction | None
    shows_name: bool
    created_at: datetime
    expires_at: datetime
    opened: int


@dataclass(frozen=True, slots=True)
class NewShare:
    """The scope of a new link, and its days."""

    thread_id: str
    checkpoint_id: str | None = None
    days: int = 7
    redaction: Redaction | None = None
    shows_name: bool = False


@dataclass(frozen=True, slots=True)
class SharedThing:
    """The target of a link: the conversation, and the checkpoint if the link has one."""

    share: Share
    thread: Thread
    checkpoint: Checkpoint | None


class Shares:
    """The links in a store's database. All methods but `open_link` act for the conversation's owner."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @retry_contended
    def make_link(self, token: str, link: NewShare) -> Share:
        """Make a link with this token. It replaces one that an earlier request with the same token has made.

        Raises `InvalidShareError`, and `NotFoundError` for an unknown place.
        """
        if not 1 <= link.days <= MAX_SHARE_DAYS:
            raise InvalidShareError(sentence("A link works for 1 to {days} days.", days=MAX_SHARE_DAYS))
        now = self._store.now()
        with self._store.database.begin_write("share") as connection:
            _require_own_thread(connection, link.thread_id)
            if link.checkpoint_id is not None:
                checkpoint_rows.select_live_checkpoint(connection, link.thread_id, link.checkpoint_id)
            of_thread = _share.thread_id == link.thread_id
            connection.execute(sa.delete(schema.share).where(of_thread, _share.expires_at <= from_time(now)))
            repeated = sa.delete(schema.share).where(of_thread, _share.token_hash == _hash(token)).returning(_share.id)
            if replaced := connection.scalar(repeated):
                of_replaced = {"thread": link.thread_id, "link": replaced}
                audit_rows.insert_entry(connection, now, AuditKind.SHARE_REVOKED, of_replaced)
            count = connection.scalar(sa.select(sa.func.count()).select_from(schema.share).where(of_thread)) or 0
            if count >= MAX_SHARES_OF_THREAD:
                raise InvalidShareError(
                    sentence("There are {limit} links already. End one first.", limit=MAX_SHARES_OF_THREAD)
                )
            made = Share(
                *(new_id(), link.thread_id, link.checkpoint_id, link.redaction, link.shows_name),
                *(now, now + timedelta(days=link.days), 0),
            )
            connection.execute(sa.insert(schema.share).values(token_hash=_hash(token), **_to_row(made)))
            detail = {"thread": made.thread_id, "checkpoint": made.checkpoint_id, "link": made.id, "days": link.days}
            redacted = {"redacted": made.redaction is not None}
            audit_rows.insert_entry(connection, now, AuditKind.SHARE, detail | redacted)
        return made

    def list_links(self, thread_id: str) -> list[tuple[Share, str | None]]:
        """List a conversation's valid links, newest first, each with the name of its checkpoint."""
        named = sa.select(schema.share, schema.checkpoint.c.name).outerjoin(
            schema.checkpoint, schema.checkpoint.c.id == _share.checkpoint_id
        )
        query = named.where(_share.thread_id == thread_id, self._is_valid())
        with self._store.database.begin_read() as connection:
            _require_own_thread(connection, thread_id)
            rows = connection.execute(query.order_by(_share.created_at.desc(), _share.id))
            return [(share, row.name) for row in rows if (share := _to_share(row))]

    @retry_contended
    def revoke_link(self, thread_id: str, share_id: str) -> None:
        """End a link. Raises `ShareNotFoundError`."""
        with self._store.database.begin_write() as connection:
            _require_own_thread(connection, thread_id)
            own = sa.and_(_share.id == share_id, _share.thread_id == thread_id)
            if not connection.execute(sa.delete(schema.share).where(own)).rowcount:
                raise ShareNotFoundError(share_id)
            now = self._store.now()
            audit_rows.insert_entry(connection, now, AuditKind.SHARE_REVOKED, {"thread": thread_id, "link": share_id})

    @act_for(EVERYBODY)
    @retry_contended
    def open_link(self, token: str) -> SharedThing:
        """Return what a link shows, and count the opening. A wrong token writes nothing.

        Raises `ShareNotFoundError` if the link is wrong, expired or revoked, or its target is deleted.
        """
        with self._store.database.begin_read() as connection:
            found = self._find_thing(connection, token)
        share = found.share
        with self._store.database.begin_write() as connection:
            counting = sa.update(schema.share).where(_share.id == share.id).values(opened=_share.opened + 1)
            opened = connection.scalar(counting.returning(_share.opened))
            if opened is None:
                raise ShareNotFoundError("")
            if opened == 1:
                now, about = self._store.now(), found.thread.owner
                named = {"thread": share.thread_id, "link": share.id}
                audit_rows.insert_entry(connection, now, AuditKind.SHARE_OPENED, named, person="", about=about)
        return found

    def _find_thing(self, connection: sa.Connection, token: str) -> SharedThing:
        query = sa.select(schema.share, schema.thread.c.deleted_at).join(schema.thread)
        row = connection.execute(query.where(_share.token_hash == _hash(token), self._is_valid())).one_or_none()
        share = _to_share(row) if row is not None and row.deleted_at is None else None
        if share is None:
            raise ShareNotFoundError("")
        try:
            checkpoint = share.checkpoint_id and checkpoint_rows.select_live_checkpoint(
                connection, share.thread_id, share.checkpoint_id
            )
        except CheckpointNotFoundError:
            raise ShareNotFoundError("") from None
        return SharedThing(share, thread_rows.select_thread(connection, share.thread_id), checkpoint or None)

    def _is_valid(self) -> sa.ColumnElement[bool]:
        return _share.expires_at > from_time(self._store.now())


def _require_own_thread(connection: sa.Connection, thread_id: str) -> None:
    """Raise `ThreadNotFoundError`, or `OwnerOnlyError` for a member, since a link admits strangers."""
    thread_rows.select_thread(connection, thread_id)
    require_owner(connection, thread_id)


def _to_row(share: Share) -> dict[str, object]:
    times = {"created_at": from_time(share.created_at), "expires_at": from_time(share.expires_at)}
    named = {"id": share.id, "thread_id": share.thread_id, "checkpoint_id": share.checkpoint_id, "opened": share.opened}
    redaction = asdict(share.redaction or Redaction())
    return {**named, "redaction": redaction, "shows_name": share.shows_name, **times}


def _to_share(row: sa.Row[tuple[object, ...]]) -> Share | None:
    """Parse a row. An unreadable redaction gives None, as if the link had ended, because it must not show everything."""
    try:
        parts = row.redaction["tool_results"], tuple(row.redaction["patterns"]), row.redaction["files"]
    except (KeyError, TypeError):
        return None
    redaction = Redaction(*parts) if any(parts) else None
    times = to_time(row.created_at), to_time(row.expires_at)
    return Share(row.id, row.thread_id, row.checkpoint_id, redaction, row.shows_name, *times, row.opened)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
