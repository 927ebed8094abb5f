"""The growth of a conversation in tokens, for the plot in the history.

It reads the whole conversation, so the page requests it only while the plot is open.
"""

from collections.abc import Sequence
from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.preparation.inputs import RunInputs
from checkpoints import Store
from components.services import Services
from components.views import notes
from components.views.figures import count_messages, count_tokens, format_number
from words import _

# The line has at most this many points. More could not be seen.
MAX_POINTS = 300
# Only the largest drops are drawn and described.
MAX_DROPS = 5


class PointView(TypedDict):
    # The conversation has this many messages up to this point.
    messages: int
    # The context has this many tokens at this point.
    tokens: int


class DropView(TypedDict):
    """The point where a summary, or the note of a move, replaced messages, with the tokens before and after."""

    messages: int
    before: int
    after: int
    # It is a sentence.
    text: str


class _Words(TypedDict):
    # It is the plot in words.
    text: str
    # They are the words at the end of the line.
    end: str


class GrowthView(_Words):
    points: list[PointView]
    drops: list[DropView]
    # It is the highest point in tokens, including points before a drop.
    most: int


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/growth")
    async def get_growth(thread_id: str) -> Response:
        return JSONResponse(await services.read_snapshot(measure_growth, services.store, services.runner.inputs, thread_id))


def measure_growth(store: Store, inputs: RunInputs, thread_id: str) -> GrowthView:
    path = store.list_messages(thread_id)
    sizes = inputs.measure_growth(thread_id, path)
    step = -(-len(sizes) // MAX_POINTS) or 1
    counts = sorted({*range(1, len(sizes) + 1, step), len(sizes)} - {0})
    drops: list[DropView] = []
    for index, message in enumerate(path):
        if (removal := notes.describe_note_removal(message)) is not None:
            before = sizes[index] - removal["after"] + removal["before"]
            drops.append(_describe_drop(index + 1, max(0, before), sizes[index]))
    largest = sorted(drops, key=lambda drop: drop["after"] - drop["before"])[:MAX_DROPS]
    drops = [drop for drop in drops if drop in largest]
    points: list[PointView] = [{"messages": count, "tokens": sizes[count - 1]} for count in counts]
    most = max([*sizes, *(drop["before"] for drop in drops)], default=0)
    return {"points": points, "drops": drops, "most": most, **_describe_growth(sizes, drops)}


def _describe_drop(messages: int, before: int, after: int) -> DropView:
    text = _(
        "At message {messages}, about {before} were reduced to {after}.",
        messages=format_number(messages),
        before=count_tokens(before),
        after=format_number(after),
    )
    return {"messages": messages, "before": before, "after": after, "text": text}


def _describe_growth(sizes: Sequence[int], drops: Sequence[DropView]) -> _Words:
    if not sizes:
        return {"text": _("No messages yet."), "end": ""}
    tokens = count_tokens(sizes[-1])
    whole = _("The conversation uses about {tokens} after {messages}.", tokens=tokens, messages=count_messages(len(sizes)))
    end = _("message {messages}: {tokens} now", messages=format_number(len(sizes)), tokens=tokens)
    return {"text": " ".join([whole, *(drop["text"] for drop in drops)]), "end": end}
