"""Usage of people over days: the tokens by model, and the stored bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..rows import usage_rows
from ..rows.thread_rows import from_time
from ..rows.usage_rows import DAY, UsageRow
from ..storage.ownership import EVERYBODY, act_for
from ..store import Store
from ..values.errors import TakesTooLongError

USAGE_DAYS = 30
# Measuring the stored bytes stops after this time.
MAX_MEASURE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PeopleUsage:
    """The usage of people in the last 30 days.

    `today` is the rows' last day. `threads` counts listed conversations by owner. `storage` is in bytes by owner, or
    None if measuring takes too long.
    """

    today: int
    rows: Sequence[UsageRow]
    threads: Mapping[str, int]
    storage: Mapping[str, int] | None


def read_own_usage(store: Store) -> PeopleUsage:
    return _read_usage(store, store.database.name_owner())


@act_for(EVERYBODY)
def read_usage_of_all(store: Store) -> PeopleUsage:
    """Read everybody's usage. The caller has checked who asks."""
    return _read_usage(store, None)


def _read_usage(store: Store, owner: str | None) -> PeopleUsage:
    today = from_time(store.now()) // DAY
    with store.database.begin_read() as connection:
        rows = usage_rows.select_usage(connection, today - USAGE_DAYS + 1, owner)
        threads = usage_rows.count_threads(connection, owner)
    try:
        with store.database.begin_read(seconds=MAX_MEASURE_SECONDS) as connection:
            storage = usage_rows.measure_storage(connection, owner)
    except TakesTooLongError:
        return PeopleUsage(today, rows, threads, None)
    return PeopleUsage(today, rows, threads, storage)
