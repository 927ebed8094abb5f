"""The messages that a summary, the note of a move or the last restore took off the path, read-only.

A copy of the conversation may not have them.
"""

from collections.abc import Callable

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints import Message, MessageNotFoundError, Store
from checkpoints.tree_reader import read_removed_part
from checkpoints.values.errors import NothingRemovedError
from components.services import Services
from components.views import message_view
from components.views.notes import find_note_mark

# Only the last replaced messages are shown.
MAX_REPLACED_MESSAGES = 200


def read_replaced_messages(store: Store, thread_id: str, message_id: str) -> tuple[list[Message], int, str]:
    """Return the last messages replaced by a note, the number of all of them, and the conversation's head before it.

    Raises `MessageNotFoundError` if they are not in this conversation.
    """
    mark = find_note_mark(store.get_message(thread_id, message_id).intact)
    if mark is None or mark.last is None or mark.head is None:
        raise MessageNotFoundError(message_id)
    store.get_message(thread_id, mark.head)
    length = min(mark.removed, store.get_message(thread_id, mark.last).depth + 1)
    found = store.list_messages_to(thread_id, mark.last, last=min(length, MAX_REPLACED_MESSAGES))
    return found, length, mark.head


def read_removed_messages(store: Store, thread_id: str) -> tuple[list[Message], int, str]:
    """Return the same for the last restore. Raises `NothingRemovedError` if its messages are not shown as removed."""
    part = read_removed_part(store, thread_id, 0)
    if part is None:
        raise NothingRemovedError
    found = store.list_messages_to(thread_id, part.end_id, last=min(part.count, MAX_REPLACED_MESSAGES))
    return found, part.count, part.end_id


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/summaries/{message_id}")
    async def get_full_text(thread_id: str, message_id: str) -> Response:
        return await _answer(services, read_replaced_messages, thread_id, message_id)

    @server.get("/api/threads/{thread_id:thread}/removed")
    async def get_removed_messages(thread_id: str) -> Response:
        return await _answer(services, read_removed_messages, thread_id)


async def _answer(services: Services, read: Callable[..., tuple[list[Message], int, str]], *place: str) -> Response:
    found, removed, head = await services.read_snapshot(read, services.store, *place)
    extras = message_view.MessageExtras(to_html=services.renderer.page())
    shown = await services.run_blocking(message_view.describe_messages, found, extras)
    return JSONResponse({"head": head, "removed": removed, "is_cut": removed > len(found), "messages": shown})
