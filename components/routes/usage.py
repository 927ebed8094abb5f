"""The tokens and the cost of a conversation up to a place, by model. The page requests them."""

from dataclasses import replace
from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.context.path_figures import PathFigures, measure_figures
from agent.context.prices import Prices, Usage, count_usage
from checkpoints import BranchNotFoundError, CheckpointNotFoundError, Runs, Store
from components.places import find_place_end
from components.services import Services
from components.views import figures_line
from components.views.comparison_view import describe_models
from components.views.figures import describe_usage, format_dollars
from words import _


class PartView(TypedDict):
    text: str
    # It is the whole name of a model.
    title: str | None


class UsageView(TypedDict):
    # It is one or more sentences.
    text: str
    # They are all answers together and, of several models, each. There are none without an answer that told its usage.
    parts: list[PartView]


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/usage")
    async def get_usage(thread_id: str, place: str = "") -> Response:
        """Return the usage of a conversation up to a place, in the notation of comparisons.

        The title counts for the current position only, because it belongs to no message.
        """
        figures = await services.read_snapshot(sum_figures, services.store, thread_id, place, services.prices)
        title = Usage()
        if not place:
            title = await services.read_snapshot(read_title_usage, services.runs, thread_id, services.prices)
        return JSONResponse(describe_thread_usage(figures, title))


def describe_thread_usage(figures: PathFigures, title: Usage) -> UsageView:
    usage, models = figures.usage + title, describe_models(figures)
    if not usage.answers:
        return {"text": _("No answer here has reported its usage."), "parts": []}
    texts = list(figures_line.describe_models(models)) if len(models) > 1 else []
    used, cost = describe_usage(usage), f", {format_dollars(usage.cost)}" if usage.priced else ""
    answers = figures_line.count_answers(usage.answers - usage.priced)
    is_partly_priced = 0 < usage.priced < usage.answers
    unpriced = _(" (without {answers} of unknown price)", answers=answers) if is_partly_priced else ""
    of_models = f" {'; '.join(texts)}." if texts else ""
    parts: list[PartView] = [{"text": _("So far {usage}", usage=f"{used}{cost}"), "title": None}]
    parts += [{"text": text, "title": each["spec"]} for text, each in zip(texts, models, strict=False)]
    text = _("So far: {used}{cost}{unpriced}.{models}", used=used, cost=cost, unpriced=unpriced, models=of_models)
    return {"text": text, "parts": parts}


def read_title_usage(runs: Runs, thread_id: str, prices: Prices) -> Usage:
    """Return the usage of the call for the conversation's title. It does not count as an answer."""
    found = runs.find_title(thread_id)
    if found is None or not found.detail.usage:
        return Usage()
    return replace(count_usage(found.detail.usage, found.detail.model, prices), answers=0, priced=0)


def sum_figures(store: Store, thread_id: str, place: str, prices: Prices) -> PathFigures:
    """Sum the figures of the messages up to a place. A deleted branch or checkpoint has no figures.

    Raises `NotFoundError`.
    """
    try:
        end = find_place_end(store, thread_id, place)
    except (BranchNotFoundError, CheckpointNotFoundError):
        end = None
    return measure_figures(store.list_messages_to(thread_id, end) if end else [], prices)
