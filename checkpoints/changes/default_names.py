"""Default checkpoint names: “Checkpoint 1”, “Checkpoint 2” and so on, each used once in a thread."""

import sqlalchemy as sa

from ..rows import checkpoint_rows

# Names in a query. The first name is usually free, but an import takes thousands.
_MIN_BATCH_SIZE, _MAX_BATCH_SIZE = 4, 200


class DefaultNames:
    """The default names never used by a checkpoint of a thread, in ascending order."""

    def __init__(self, connection: sa.Connection, thread_id: str, first: int) -> None:
        self._connection = connection
        self._thread_id = thread_id
        # For numbers below this end, `_taken` holds the names in use.
        self._next = self._end_of_known = first
        self._batch_size = _MIN_BATCH_SIZE
        self._taken: set[str] = set()

    def take_next(self, least: int) -> str:
        """Return the first free name with a number of at least `least`, after all names returned before."""
        self._next = max(self._next, least)
        while True:
            if self._next >= self._end_of_known:
                self._read_batch()
            name = _make_name(self._next)
            self._next += 1
            if name not in self._taken:
                return name

    def _read_batch(self) -> None:
        self._end_of_known = self._next + self._batch_size
        self._batch_size = min(4 * self._batch_size, _MAX_BATCH_SIZE)
        names = map(_make_name, range(self._next, self._end_of_known))
        self._taken |= checkpoint_rows.select_taken_names(self._connection, self._thread_id, names)


def _make_name(number: int) -> str:
    return f"Checkpoint {number}"
