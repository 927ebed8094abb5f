"""The figures of some messages in one line: answers, tokens, cost, models, tools, time."""

from collections.abc import Iterator, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from agent.context.prices import Usage
from agent.models.providers import shorten_spec
from components.views.comparison_view import FiguresView, ModelFigures
from components.views.figures import describe_usage, format_dollars, format_duration, format_number, name_models
from words import _, ngettext


def build_figures_line(figures: FiguresView | None, lead: Component | None = None) -> Component | None:
    """Build the line. `lead` begins it, in the place of the number of answers."""
    parts: list[Any] = [lead] if lead is not None else []
    if figures is not None:
        title = describe_usage(Usage(*(figures[name] for name in ("input", "cached", "output", "reasoning"))))
        parts += [html.Span(text) for text in _list_answers(figures)] if lead is None else []
        parts += [html.Span(text, title=title) for text in _list_tokens(figures)]
        parts += [html.Span(text) for text in _list_others(figures)]
    return html.P(parts, className="figures-line") if parts else None


def _list_answers(figures: FiguresView) -> Iterator[str]:
    if figures["answers"] > 1:
        yield count_answers(figures["answers"])


def _list_tokens(figures: FiguresView) -> Iterator[str]:
    if figures["input"] + figures["output"] > 0:
        yield _("{input} in", input=format_number(figures["input"]))
        yield _("{output} out", output=format_number(figures["output"]))


def _list_others(figures: FiguresView) -> Iterator[str]:
    if figures["cost"] is not None:
        cost, unpriced = format_dollars(figures["cost"]), figures["unpriced"]
        answers = count_answers(unpriced)
        yield _("{cost} (without {answers} of unknown price)", cost=cost, answers=answers) if unpriced else cost
    yield from _list_models(figures)
    calls = [f"{each['name']} ×{each['count']}" if each["count"] > 1 else each["name"] for each in figures["tools"]]
    if calls:
        yield ", ".join(calls)
    if figures["duration_ms"] > 0:
        yield format_duration(figures["duration_ms"])


def _list_models(figures: FiguresView) -> Iterator[str]:
    models = figures["models"]
    if len(models) < 2:
        yield from filter(None, (shorten_spec(each["spec"]) for each in models))
    else:
        yield from describe_models(models)


def describe_models(models: Sequence[ModelFigures]) -> Iterator[str]:
    """Name several models, with the answers and the cost of each: “gpt-5: 3 answers, $0.01”."""
    for each, name in zip(models, name_models([each["spec"] for each in models]), strict=True):
        price = "" if each["cost"] is None else f", {format_dollars(each['cost'])}"
        yield f"{name or _('Unknown model')}: {count_answers(each['answers'])}{price}"


def count_answers(count: int) -> str:
    return ngettext("{count} answer", "{count} answers", count, count=format_number(count))
