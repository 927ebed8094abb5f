"""The pages for strangers. Few are made at once, beside the exports of the page, and the latest are kept."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from checkpoints.interchange.document_redaction import Redact
from checkpoints.values.progress import ignore_progress
from components.shared_reads import SharedReads
from components.workers.redacted_exports import RedactedExports

# The limit counts all kept pages. A larger page is made again each time.
MAX_KEPT_BYTES = 32_000_000


class SharedPages:
    """The shared pages of an app, by keys that change with their contents."""

    def __init__(self) -> None:
        # Strangers must not delay the page's exports, so these are separate.
        self._exports = RedactedExports()
        self._reads: SharedReads[bytes] = SharedReads()
        # The most recently used page comes last.
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    async def read(self, key: str, make: Callable[[Redact], str]) -> bytes:
        """Return a kept page, or make it once for all concurrent callers. They get the same bytes.

        Raises `TooManyExportsError`.
        """
        return await self._reads.share(key, partial(self._find_or_make, key, make))

    def close(self) -> None:
        self._exports.close()

    async def _find_or_make(self, key: str, make: Callable[[Redact], str]) -> bytes:
        page = self._kept.pop(key, None)
        if page is None:
            page = await self._exports.make(lambda redact: make(redact).encode(), ignore_progress)
        self._kept[key] = page
        while sum(map(len, self._kept.values())) > MAX_KEPT_BYTES:
            self._kept.popitem(last=False)
        return page
