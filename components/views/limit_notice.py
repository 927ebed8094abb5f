"""The line under the composer with a person's nearly reached limits."""

from checkpoints import Store, Thread
from checkpoints.person_limits import NOTICE_SHARE, PersonLimits, PersonUse
from words import _


def describe_limits(store: Store, thread: Thread | None) -> str | None:
    """Describe the nearly reached limits, including the room of a thread's owner; None if none is near."""
    owner, now = store.database.name_owner(), store.now()
    notices = _list_notices(store.meter.limits, store.meter.count_use(owner, now))
    if thread is not None and thread.owner != owner and store.meter.is_room_short(thread.owner, now):
        notices.append(_("Little room is left to {name}, who owns this conversation.", name=thread.owner))
    return " ".join(notices) or None


def _list_notices(limits: PersonLimits, use: PersonUse) -> list[str]:
    notices = []
    if (percent := _measure(use.tokens_today, limits.tokens_a_day)) is not None:
        notices.append(_("{percent} % of your tokens for today are used. They begin anew at 00:00 UTC.", percent=percent))
    if (percent := _measure(use.storage_bytes, limits.storage_bytes)) is not None:
        notices.append(_("{percent} % of the room for your conversations is used.", percent=percent))
    if limits.runs is not None and limits.runs > 1 and _measure(use.runs, limits.runs) is not None:
        notices.append(_("{count} of your {limit} answers at once are being written.", count=use.runs, limit=limits.runs))
    return notices


def _measure(used: int, limit: int | None) -> int | None:
    """Return the used part of a limit in percent; None while it is no news."""
    return None if limit is None or used < NOTICE_SHARE * limit else min(100, used * 100 // limit)
