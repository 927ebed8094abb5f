"""Undo and redo of every step of a conversation whose graph is somebody's own: each time, all is as it was then."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import Any

from playwright.sync_api import expect

from checkpoints import Database, Store
from tests.e2e.waymark import SHOWN, Page
from tests.extensions.graphs.stacks import read_all_identities


@contextmanager
def copied_store(page: Page) -> Iterator[tuple[Store, str]]:
    """A copy of the server's store, and the id of the conversation of the page: the server holds its own."""
    copy = page.server.folder / "copy.db"
    with (
        closing(sqlite3.connect(page.server.folder / "data" / "waymark.db")) as own,
        closing(sqlite3.connect(copy)) as other,
    ):
        own.backup(other)
    with closing(Database.open_file(copy)) as database:
        yield Store(database), page.tab.url.rsplit("/", 1)[1]


def read_channels(page: Page) -> dict[str, Any]:
    """The hash of each channel where the conversation of the page stands, those of subgraphs included."""
    with copied_store(page) as (store, thread_id):
        return read_all_identities(store, thread_id)


class Steps:
    """What was seen after each step."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._seen: list[tuple[list[str], dict[str, Any]]] = []

    def note(self) -> None:
        """Note the messages and the channels once the panels have followed."""
        page = self._page
        with copied_store(page) as (store, thread_id):
            count = len(store.list_messages(thread_id))
        expect(page.tab.locator(".topbar")).to_contain_text(f"{count} messages")
        self._seen.append((page.tab.locator(f"{SHOWN} > .prose").all_text_contents(), read_channels(page)))

    def undo_and_redo_all(self) -> None:
        """Undo each step and do it again. The channels are equal hash for hash."""
        channels = [each for _, each in self._seen]
        assert all(one != other for one, other in pairwise(channels))
        for name, wanted in (("Undo last change", self._seen[-2::-1]), ("Redo", self._seen[1:])):
            for texts, then in wanted:
                self._page.tab.get_by_role("button", name=name, exact=True).click()
                expect(self._page.tab.locator(f"{SHOWN} > .prose")).to_have_text(texts)
                assert read_channels(self._page) == then
