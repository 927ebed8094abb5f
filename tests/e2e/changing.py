"""What no click makes in a short time: a conversation is changed in its store, and the page shows it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from checkpoints import Database, Store
from tests.e2e.waymark import Page


@contextmanager
def changed_behind(page: Page) -> Iterator[tuple[Store, str]]:
    """Stop the server, change the conversation of the page in its store, and show it again."""
    page.expect_lost_server()
    thread_id = page.tab.url.rsplit("/", 1)[1]
    page.server.stop()
    with closing(Database.open_file(page.server.folder / "data" / "waymark.db")) as database:
        yield Store(database), thread_id
    page.server.start()
    page.reload()
