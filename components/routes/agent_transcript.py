"""The transcripts of sub-agents. The page requests a transcript when the user opens it, which keeps page and stream small.

Like the conversation, a transcript comes in portions, the newest messages first.
"""

from collections.abc import Sequence
from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.context.subagent_memory import recall_path
from checkpoints import Message, Store
from checkpoints.values.limits import MAX_READ_VALUES, count_values
from components.services import Services
from components.views import message_view

# The agent's messages count without tool results. Each "Show earlier" adds as many.
PORTION_MESSAGES = 50
MAX_PORTION_MESSAGES = 5_000
_SIZE_PORTION = 200


class TranscriptView(TypedDict):
    messages: list[message_view.MessageView]
    # There are messages before these.
    earlier: bool


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/agents/{agent}")
    async def get_transcript(
        thread_id: str, agent: str, question: str | None = None, count: int = PORTION_MESSAGES
    ) -> Response:
        """Return the end of an agent's memory as of the head, or of its work on a single question."""
        count = min(max(1, count), MAX_PORTION_MESSAGES)
        return JSONResponse(
            await services.read_snapshot(_read_agent_transcript, services, thread_id, agent, question, count)
        )


def _read_agent_transcript(
    services: Services, thread_id: str, agent: str, question: str | None, count: int
) -> TranscriptView:
    store, run = services.store, services.runs.get_latest_run(thread_id)
    if question is None:
        shown, has_earlier = read_memory(store, thread_id, agent, count)
    else:
        shown, has_earlier = read_work(store, thread_id, agent, question, count)
    extras = message_view.MessageExtras(
        run_state=run.state if run else None,
        prices=services.prices,
        to_html=services.renderer.page(),
        portions=count // PORTION_MESSAGES,
    )
    return {"messages": message_view.describe_messages(shown, extras, agent=agent), "earlier": has_earlier}


def read_memory(store: Store, thread_id: str, agent: str, count: int) -> tuple[list[Message], bool]:
    """Return the last messages of an agent's memory, with other agents' messages between them, and whether there are more.

    Read only the end of the path, back to the question that a move there returns to, and no more values than a view may
    have.
    """
    path: list[Message] = []
    last, values_left = 4 * count, _limit_values(count)
    while True:
        wanted, before = last - len(path), path[0].depth if path else None
        earlier = store.list_messages(thread_id, last=wanted, before=before, max_values=values_left)
        values_left -= sum(count_values(message.body, values_left) for message in earlier)
        path = [*earlier, *path]
        shown, has_earlier = cut_transcript(recall_path(path, agent), agent, count)
        if path and path[0].depth > 0 and (len(earlier) < wanted or values_left <= 0):
            return shown, True
        if not path or path[0].depth == 0 or (has_earlier and _begins_with_question(path, agent, shown[0])):
            return shown, has_earlier
        last *= 4


def _begins_with_question(path: Sequence[Message], agent: str, first: Message) -> bool:
    """Return whether a question to the agent precedes a message of its memory: then all from there on is right."""
    for message in path:
        if message.agent == agent and message.type == "human":
            return True
        if message.id == first.id:
            return False
    return False


def read_work(store: Store, thread_id: str, agent: str, question_id: str, count: int) -> tuple[list[Message], bool]:
    """Return the last messages of the path from a question to an agent up to its next, and whether it has earlier ones."""
    first, length = store.get_message(thread_id, question_id).depth, store.count_messages(thread_id)
    end = _find_next_question(store, thread_id, agent, first, length)
    if first >= end:
        return [], False
    path = store.list_messages(thread_id, last=end - first, before=end, max_values=_limit_values(count))
    shown, has_earlier = cut_transcript(path, agent, count)
    return shown, has_earlier or len(path) < end - first


def _find_next_question(store: Store, thread_id: str, agent: str, after: int, length: int) -> int:
    """Return the depth of the agent's next question, or the length of the path. Parses no message."""
    for start in range(after + 1, length, _SIZE_PORTION):
        end = min(length, start + _SIZE_PORTION)
        sizes = store.list_message_sizes(thread_id, last=end - start, before=end)
        if (found := next((s.depth for s in sizes if s.agent == agent and s.type == "human"), None)) is not None:
            return found
    return length


def _limit_values(count: int) -> int:
    """Limit the values of a transcript. Each “Show earlier” adds as many."""
    return MAX_READ_VALUES * max(1, count // PORTION_MESSAGES)


def cut_transcript(path: Sequence[Message], agent: str, count: int) -> tuple[list[Message], bool]:
    """Cut a path to the last `count` messages of an agent. Return it, and whether messages were cut off."""
    begins = [place for place, message in enumerate(path) if message.agent == agent and message.type != "tool"]
    has_earlier = len(begins) > count
    return list(path[begins[-count] :] if has_earlier else path), has_earlier
