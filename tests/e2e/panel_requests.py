"""The requests of the page to the panels, which a test can hold back or lose."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from playwright.sync_api import Route

from tests.e2e.waymark import Page

REQUESTS = re.compile("_dash-update-component")
READING = "transcript.data"
SENDING = '"type":"send"'


@contextmanager
def panels_held_back(page: Page) -> Iterator[None]:
    """The stream shows an answer before the panels have read that there was one."""
    held: list[Route] = []
    with _routed(page, READING, held.append):
        yield  # and what was held goes on


def panels_lost(page: Page) -> AbstractContextManager[None]:
    """No reading of the panels comes back."""
    return _routed(page, READING, Route.abort)


@contextmanager
def sends_unanswered(page: Page) -> Iterator[None]:
    """A message that is sent gets no reply, and is lost at the end."""
    held: list[Route] = []
    with _routed(page, SENDING, held.append):
        yield
        for route in held:
            route.abort()


@contextmanager
def _routed(page: Page, kind: str, handle: Callable[[Route], None]) -> Iterator[None]:
    page.tab.route(REQUESTS, lambda route: handle(route) if kind in str(route.request.post_data) else route.continue_())
    yield
    page.tab.unroute(REQUESTS)
