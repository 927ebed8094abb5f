"""The requests of the page to the panels, which a test can hold back or lose."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from playwright.sync_api import Route

from tests.e2e.waymark import Page

READING = re.compile("/api/panels|/runs/[^/]+/turn")
SENDING = re.compile("/api/actions/composer-panel")


@contextmanager
def panels_held_back(page: Page) -> Iterator[None]:
    """The stream shows an answer before the panels have read that there was one."""
    held: list[Route] = []
    with _holding(page, READING, held):
        yield  # and what was held goes on


def panels_lost(page: Page) -> AbstractContextManager[None]:
    """No reading of the panels comes back."""
    return _routed(page, READING, lambda route: route.abort())


@contextmanager
def sends_unanswered(page: Page) -> Iterator[None]:
    """A message that is sent gets no reply, and is lost at the end."""
    held: list[Route] = []
    with _holding(page, SENDING, held):
        with page.tab.expect_request(SENDING):  # a message may wait for the reply to the one before it
            yield
        while not held:
            page.tab.wait_for_timeout(10)  # lets the request be routed
        for route in held:
            route.abort()


def _holding(page: Page, requests: re.Pattern[str], held: list[Route]) -> AbstractContextManager[None]:
    def hold(route: Route) -> None:
        held.append(route)

    return _routed(page, requests, hold)


@contextmanager
def _routed(page: Page, requests: re.Pattern[str], handle: Callable[[Route], None]) -> Iterator[None]:
    page.tab.route(requests, handle)
    yield
    page.tab.unroute(requests)
