"""The page's own requests: the actions of a list, and the reading of all panels. Their replies set properties of components.

They are not Dash callbacks: Dash's renderer takes tens of milliseconds before it sends a callback, and as long again to
apply its reply.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Required, Self

from dash.exceptions import PreventUpdate
from fastapi import FastAPI, Request
from starlette.responses import Response
from typing_extensions import TypedDict

from checkpoints import StateError, StoreBusyError, StoreUnavailableError
from components import page_state
from components.actions import Action, ActionList, Answer, run_action
from components.panels import outage, toast
from components.properties import Properties, collect_properties, set_properties
from components.replies import to_json
from components.services import Services
from components.shapes import MalformedRequestError, parse_body
from components.views.message_window import MessageWindow
from words import _

ReadPanels = Callable[[Services, page_state.PageLocation], Properties]
_log = logging.getLogger(__name__)


class _Body(TypedDict, total=False):
    pathname: Required[str]
    update: page_state.PageUpdate | None
    window: MessageWindow | None
    action: Any
    list_seen: str | None
    list_only: bool


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of a page, and the page's state."""

    action: Any
    # The thread that the page's address names.
    thread_id: str | None
    last_update: page_state.PageUpdate
    window: MessageWindow | None
    # `PageLocation` describes both fields.
    list_seen: datetime | None
    list_only: bool

    @classmethod
    async def read(cls, request: Request) -> Self:
        """Raises `MalformedRequestError`."""
        fields = parse_body(_Body, await request.body())
        thread_id, update = page_state.parse_thread_id(fields["pathname"]), fields.get("update")
        list_seen = _parse_time(fields.get("list_seen"))
        return cls(
            action=fields.get("action"),
            thread_id=thread_id,
            last_update=update or page_state.PageUpdate(),
            window=fields.get("window"),
            list_seen=list_seen,
            list_only=fields.get("list_only", False),
        )


def _parse_time(text: str | None) -> datetime | None:
    """Parse a time from one of our replies. Raises `MalformedRequestError`."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise MalformedRequestError("list_seen") from None


def add_routes(server: FastAPI, services: Services, lists: Mapping[str, ActionList], read_panels: ReadPanels) -> None:
    @server.post("/api/actions/{list_id}")
    async def handle_action(list_id: str, request: Request) -> Response:
        """Run an action of a list. In the reply, its page update comes last, followed by the panels under `panels`."""
        page = await PageRequest.read(request)
        actions = lists.get(list_id)
        if actions is None:
            raise MalformedRequestError("list")
        action = Action.parse(page.action, page.thread_id, last_update=page.last_update, window=page.window)

        async def run_and_read() -> Properties:
            answer = await run_action(services, actions, action)
            update, shown = answer.update, {}
            if update is not None and "go" not in update and answer.window is None:
                # The action is done, so no error may fail its reply: the page then reads the panels itself.
                with suppress(Exception):
                    shown = {"panels": await read_page(replace(page, last_update=update))}
            return {**_list_properties(actions, answer), **shown}

        return await _answer(services, run_and_read)

    @server.post("/api/panels")
    async def show_panels(request: Request) -> Response:
        """Read every panel, or only the list of conversations, from the same snapshot."""
        page = await PageRequest.read(request)
        return await _answer(services, lambda: read_page(page))

    async def read_page(page: PageRequest) -> Properties:
        location = page_state.PageLocation(page.thread_id, page.last_update, page.window, page.list_seen, page.list_only)
        return await services.read_snapshot(read_panels, services, location)


def report_error(error: Exception) -> None:
    """Log an unexpected error of a request or a callback, and show the user a sentence. Dash alone would show nothing."""
    is_outage = isinstance(error, StoreUnavailableError) and not isinstance(error, StoreBusyError)
    if is_outage:
        # The log has the outage already (see `Database`), and the page shows a banner.
        return
    if isinstance(error, MalformedRequestError):
        # The route answers a malformed request.
        raise error
    if isinstance(error, StateError):
        # A `StateError` is an expected refusal with a sentence for the user.
        toast.show_toast(str(error))
        return
    reference = secrets.token_hex(4)
    _log.error("a request of the page failed [%s]", reference, exc_info=error)
    toast.show_toast(_("Something went wrong (reference {reference}). Try again, or reload the page.", reference=reference))


async def _answer(services: Services, work: Callable[[], Awaitable[Properties]]) -> Response:
    """Run the work. Answer with the properties set by it, then those returned by it."""
    with collect_properties() as properties:
        try:
            for identifier, values in (await work()).items():
                set_properties(identifier, values)
        except PreventUpdate:
            pass
        except Exception as error:  # noqa: BLE001  (of any kind: it becomes a sentence)
            report_error(error)
        finally:
            outage.report_outage(services.store.database)
    return Response(_write_reply(properties), media_type="application/json")


def _write_reply(properties: Properties) -> bytes:
    """Serialize a reply. If JSON cannot represent it, reply with a sentence about the error instead."""
    try:
        return to_json(properties)
    except (TypeError, ValueError) as error:
        with collect_properties() as reported:
            report_error(error)
        return to_json(reported)


def _list_properties(actions: ActionList, answer: Answer) -> Properties:
    return {
        identifier: {name: value}
        for identifier, name, value in (
            (actions.list_id, "reply", answer.reply),
            (actions.window_id, "data", answer.window),
            (page_state.Ids.UPDATE, "data", answer.update),
        )
        if identifier is not None and value is not None
    }
